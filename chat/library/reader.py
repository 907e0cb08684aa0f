"""One file of the library to title, language and text: Markdown, plain text and HTML."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from chat.library.language import language_of
from chat.library.markdown import first_heading, front_matter, parsed, plain_text
from chat.providers.fetch.charset import decoded
from chat.providers.fetch.text import html_text, html_title_and_language

MAX_BYTES = 2_000_000
MARKDOWN = frozenset({".md", ".markdown"})
HTML = frozenset({".html", ".htm", ".xhtml"})
PLAIN = frozenset({".txt", ".text"})
_MAX_PATH_CHARS = 500
_MAX_TITLE_CHARS = 300


class Unreadable(Exception):
    """The message is the reason, to follow the file's name."""


@dataclass(frozen=True, slots=True)
class ReadDocument:
    title: str
    language: str
    text: str
    updated_on: date | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Listing:
    """Files that can be tried, by their path inside the folder, and those that cannot."""

    files: dict[str, Path] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)


def list_files(root: Path, *, with_readme: bool = True) -> Listing:
    """Documents under the folder, hidden ones left out. Raises OSError for the folder itself."""
    listing = Listing()
    os.scandir(root).close()
    for folder, names, files in os.walk(root, onerror=lambda error: _note(listing, root, error)):
        names[:] = sorted(name for name in names if not name.startswith("."))
        for name in sorted(files):
            path = Path(folder, name)
            if name.startswith(".") or path.suffix.lower() not in MARKDOWN | HTML | PLAIN:
                continue
            if with_readme or name.lower() != "readme.md":
                _sort_in(listing, root, path)
    return listing


def _sort_in(listing: Listing, root: Path, path: Path) -> None:
    inside = str(path.relative_to(root))
    shown = inside.encode("utf-8", "replace").decode()
    if shown != inside or len(inside) > _MAX_PATH_CHARS:
        listing.skipped[shown[:_MAX_PATH_CHARS]] = "has a name that cannot be stored"
    elif path.is_symlink() and not path.resolve().is_relative_to(root.resolve()):
        listing.skipped[inside] = "is a link to outside the folder"
    else:
        listing.files[inside] = path


def _note(listing: Listing, root: Path, error: OSError) -> None:
    listing.skipped[os.path.relpath(error.filename or root, root)] = "may not be opened"


def read_bytes(path: Path) -> bytes:
    """Raises Unreadable."""
    try:
        if not path.is_file():
            raise Unreadable("is not a file")
        with path.open("rb") as file:
            body = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise Unreadable("may not be read" if error.errno == 13 else "cannot be read") from error
    if len(body) > MAX_BYTES:
        raise Unreadable(f"is larger than {MAX_BYTES / 1_000_000:g} MB")
    return body


def read_document(name: str, body: bytes) -> ReadDocument:
    """`name` is the file's; its ending says how to read it. Raises Unreadable."""
    if b"\x00" in body[:4096] and not body.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Unreadable("is not text")
    text = decoded(body)
    suffix = Path(name).suffix.lower()
    found = _from_html(name, text) if suffix in HTML else _from_text(name, text, suffix)
    if not found.text.strip():
        raise Unreadable("holds no text")
    return found


def _from_html(name: str, html: str) -> ReadDocument:
    if not html.strip():
        raise Unreadable("holds no text")
    title, language = html_title_and_language(html)
    # The extractor ends paragraphs with a single line break.
    text = "\n\n".join(line for line in html_text(html).splitlines() if line.strip())
    return _document(name, text, title=title, language=language)


def _from_text(name: str, text: str, suffix: str) -> ReadDocument:
    if suffix not in MARKDOWN:
        return _document(name, text)
    values, text = front_matter(text)
    tokens = parsed(text)
    return _document(
        name,
        plain_text(tokens),
        title=values.get("title") or first_heading(tokens),
        language=values.get("language", ""),
        updated_on=_date(values.get("updated", "")),
        tags=tuple(tag for tag in values.get("tags", "").split(",") if tag.strip()),
    )


def _document(
    name: str,
    text: str,
    *,
    title: str = "",
    language: str = "",
    updated_on: date | None = None,
    tags: tuple[str, ...] = (),
) -> ReadDocument:
    return ReadDocument(
        title=" ".join((title or _spoken(name)).split())[:_MAX_TITLE_CHARS],
        language=_primary(language) or language_of(text),
        text=text.strip(),
        updated_on=updated_on,
        tags=tags,
    )


def _spoken(name: str) -> str:
    stem = Path(name).stem
    return stem.replace("-", " ").replace("_", " ").strip() or stem


def _primary(language: str) -> str:
    """Of "pt-BR" the "pt"; of what is no language tag nothing."""
    primary = language.strip().lower().replace("_", "-").partition("-")[0]
    return primary if primary.isascii() and primary.isalpha() and 2 <= len(primary) <= 3 else ""


def _date(value: str) -> date | None:
    try:
        return date.fromisoformat(value[:10])
    except ValueError:
        return None
