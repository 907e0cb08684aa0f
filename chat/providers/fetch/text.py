"""What came, made readable: HTML, plain text, Markdown, JSON and PDF to title and text."""

from __future__ import annotations

import io
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import httpx
import trafilatura
from lxml.etree import ParserError
from lxml.html import HTMLParser, document_fromstring
from pypdf import PdfReader
from pypdf.errors import PyPdfError
from w3lib.encoding import read_bom

from chat.agent.errors import PageFailed
from chat.providers.fetch.charset import decoded

_HTML = {"text/html", "application/xhtml+xml"}
_TEXT = {"text/plain", "text/markdown", "text/x-markdown", "application/json"}
_PDF = {"application/pdf", "application/x-pdf"}
_UNSAID = {"", "application/octet-stream", "binary/octet-stream"}
_PDF_MARK = b"%pdf-"
_MAX_PDF_PAGES = 60
_MAX_PDF_SECONDS = 8
_MAX_TITLE_CHARS = 300

logger = logging.getLogger("lumina.fetch")


@dataclass(frozen=True, slots=True)
class Fetched:
    """Bytes as they came, decompressed, with the header's words about them."""

    url: str
    content_type: str
    body: bytes

    @property
    def host(self) -> str:
        return httpx.URL(self.url).host


@dataclass(frozen=True, slots=True)
class Readable:
    title: str
    text: str
    language: str = ""


def refuse_unreadable(content_type: str) -> None:
    """Raises PageFailed when the header alone tells that there is nothing to read."""
    media_type = _media_type(content_type)
    if media_type not in _HTML | _TEXT | _PDF | _UNSAID:
        raise PageFailed(f"The address holds {media_type}, which cannot be read as text.")


def readable(fetched: Fetched) -> Readable:
    """Title and plain text. Slow and synchronous: call it in a thread. Raises PageFailed."""
    try:
        found = _reader_for(fetched)(fetched)
    except PageFailed:
        raise
    except Exception as error:
        # Foreign bytes in foreign parsers: any of them can fail in any way, and none of it is a
        # fault of the run.
        logger.info("page not readable: %s", type(error).__name__)
        raise PageFailed(f"The page of {fetched.host} is damaged and cannot be read.") from error
    if not found.text.strip():
        raise PageFailed(
            f"The page of {fetched.host} holds no text. It may need a browser or be a scan."
        )
    return found


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _reader_for(fetched: Fetched) -> Callable[[Fetched], Readable]:
    media_type = _media_type(fetched.content_type)
    start = fetched.body[:1024].lstrip().lower()
    # Looked at first: servers that call a PDF text or HTML are common.
    if media_type in _PDF or start.startswith(_PDF_MARK):
        return _from_pdf
    if _is_binary(fetched):
        return _from_unknown
    if media_type in _HTML:
        return _from_html
    if media_type in _UNSAID:
        looks_like_html = b"<html" in start or b"<!doctype" in start
        return _from_html if looks_like_html else _from_unknown
    return _from_plain


def _is_binary(fetched: Fetched) -> bool:
    start = fetched.body[:4096]
    wide = read_bom(start)[0] or "utf-16" in fetched.content_type.lower()
    return b"\x00" in start and not wide


def _from_unknown(fetched: Fetched) -> Readable:
    raise PageFailed(f"{fetched.host} does not say what kind of file this is, and it is no text.")


def _from_html(fetched: Fetched) -> Readable:
    html = decoded(fetched.body, fetched.content_type)
    if not html.strip():
        return Readable(fetched.host, "")
    title, language = html_title_and_language(html)
    return Readable(title or fetched.host, html_text(html), language)


def html_text(html: str) -> str:
    """The main text of a page; all of its text when it has no main part."""
    found = trafilatura.extract(_tree(html), include_comments=False)
    return found or trafilatura.html2txt(_tree(html))


def html_title_and_language(html: str) -> tuple[str, str]:
    """Both may be empty. The language is its two or three letters."""
    tree = _tree(html)
    language = str(tree.get("lang") or tree.get("{http://www.w3.org/XML/1998/namespace}lang") or "")
    return _html_title(tree), language.partition("-")[0].strip().lower()[:3]


def _tree(html: str) -> Any:
    # As bytes, because the parser refuses a string that declares its own encoding.
    try:
        return document_fromstring(html.encode(), parser=HTMLParser(encoding="utf-8"))
    except ParserError:
        # Tags alone, none of them closed: a page without content.
        return document_fromstring("<html><body></body></html>")


def _html_title(tree: Any) -> str:
    for path in ("//meta[@property='og:title']/@content", "//title//text()", "//h1//text()"):
        if title := _one_line(" ".join(str(part) for part in tree.xpath(path)[:20])):
            return title
    return ""


def _from_plain(fetched: Fetched) -> Readable:
    text = decoded(fetched.body, fetched.content_type)
    heading = next((line for line in text.splitlines()[:5] if line.startswith("# ")), "")
    return Readable(_one_line(heading.lstrip("# ")) or _file_name(fetched.url), text)


def _from_pdf(fetched: Fetched) -> Readable:
    try:
        pdf = PdfReader(io.BytesIO(fetched.body))
        title = _one_line((pdf.metadata.title if pdf.metadata else "") or "")
        return Readable(title or _file_name(fetched.url), _pdf_text(pdf))
    except PyPdfError as error:
        reason = f"The PDF of {fetched.host} is locked or damaged and cannot be read."
        raise PageFailed(reason) from error


def _pdf_text(pdf: PdfReader) -> str:
    """The text of the first pages, as many as the time allows."""
    give_up_at = time.monotonic() + _MAX_PDF_SECONDS
    pages: list[str] = []
    for page in pdf.pages[:_MAX_PDF_PAGES]:
        pages.append(page.extract_text().replace("\x00", "").strip())
        if time.monotonic() > give_up_at:
            break
    return "\n\n".join(page for page in pages if page)


def _file_name(url: str) -> str:
    parts = httpx.URL(url)
    return _one_line(unquote(parts.path.rstrip("/").rpartition("/")[2])) or parts.host


def _one_line(text: str) -> str:
    return " ".join(text.replace("\x00", "").split())[:_MAX_TITLE_CHARS]
