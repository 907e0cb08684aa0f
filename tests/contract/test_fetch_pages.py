"""What comes through the door: kinds, charsets, sizes, times, and sentences for what fails."""

from __future__ import annotations

import gzip
import io
import time
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from chat.agent.errors import PageFailed
from chat.agent.values import Page
from chat.providers.fetch import GuardedReader
from chat.providers.fetch.charset import decoded
from tests.servers.web import (
    Route,
    WebServer,
    drip,
    flood,
    gibberish,
    hang_up,
    html_reply,
    reply,
    silence,
    web_server,
)

SENTENCE = "Ice floats because it is less dense than liquid water."
NOON = datetime(2026, 3, 31, 12, tzinfo=UTC)


@pytest.fixture
def site() -> Iterator[WebServer]:
    with web_server() as server:
        yield server


async def read(site: WebServer, route: Route, path: str = "/page", **options: float) -> Page:
    site.routes[path] = route
    reader = GuardedReader(
        allowed_hosts=[f"127.0.0.1:{site.port}"],
        timeout_seconds=options.get("timeout_seconds", 5),
        max_bytes=int(options.get("max_bytes", 200_000)),
        now=lambda: NOON,
    )
    return await reader.read(site.url + path)


def article(body: str, head: str = "<title>Why ice floats</title>") -> str:
    return f"<!doctype html><html lang=en-GB><head>{head}</head><body>{body}</body></html>"


async def test_an_article_is_read_without_its_menus_and_scripts(site: WebServer) -> None:
    menu = "<nav><a href=/>Home</a><a href=/shop>Shop</a></nav><script>var leak = 1</script>"
    text = f"<article><h1>Why ice floats</h1><p>{SENTENCE} {SENTENCE}</p></article>"
    page = await read(site, html_reply(article(f"{menu}{text}<footer>Imprint</footer>")))
    assert SENTENCE in page.text
    assert "leak" not in page.text
    assert "Shop" not in page.text
    assert (page.title, page.language, page.read_at) == ("Why ice floats", "en", NOON)


async def test_a_page_without_an_article_still_gives_its_words(site: WebServer) -> None:
    page = await read(site, html_reply("<div>open 9 to 5</div>"))
    assert "open 9 to 5" in page.text


async def test_a_page_without_a_title_is_called_by_its_domain(site: WebServer) -> None:
    page = await read(site, html_reply(article(f"<p>{SENTENCE}</p>", head="")))
    assert page.title == "127.0.0.1"


@pytest.mark.parametrize(
    ("kind", "body", "title"),
    [
        ("text/plain", SENTENCE, "notes.txt"),
        ("text/markdown; charset=utf-8", f"# On ice\n\n{SENTENCE}", "On ice"),
        ("application/json", f'{{"text": "{SENTENCE}"}}', "notes.txt"),
        ("application/xhtml+xml", article(f"<p>{SENTENCE}</p>"), "Why ice floats"),
        ("", article(f"<p>{SENTENCE}</p>"), "Why ice floats"),
    ],
)
async def test_these_kinds_of_text_are_read(
    site: WebServer, kind: str, body: str, title: str
) -> None:
    page = await read(site, reply(200, body, kind), "/a/notes.txt")
    assert SENTENCE in page.text
    assert page.title == title


@pytest.mark.parametrize("kind", ["image/png", "video/mp4", "application/zip", "text/css"])
async def test_other_kinds_are_refused_by_their_name(site: WebServer, kind: str) -> None:
    with pytest.raises(PageFailed, match=kind):
        await read(site, reply(200, b"whatever", kind))


@pytest.mark.parametrize("kind", ["", "application/octet-stream", "text/plain", "text/html"])
async def test_bytes_that_are_no_text_never_pass_for_text(site: WebServer, kind: str) -> None:
    with pytest.raises(PageFailed):
        await read(site, reply(200, b"\x7fELF\x00\x00\x00\x01\x00" + bytes(range(256)), kind))


def pdf_with(text: str, *, password: str = "") -> bytes:
    writer = PdfWriter()
    page = writer.add_blank_page(400, 400)
    content = DecodedStreamObject()
    content.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode())
    page[NameObject("/Contents")] = writer._add_object(content)
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    fonts = DictionaryObject({NameObject("/F1"): writer._add_object(font)})
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    if password:
        writer.encrypt(password)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


@pytest.mark.parametrize(
    "kind", ["application/pdf", "application/octet-stream", "text/html", "text/plain", ""]
)
async def test_a_pdf_is_read_whatever_it_is_called(site: WebServer, kind: str) -> None:
    page = await read(site, reply(200, pdf_with(SENTENCE), kind), "/papers/ice.pdf")
    assert page.text == SENTENCE
    assert page.title == "ice.pdf"


async def test_a_damaged_pdf_is_a_plain_failure(site: WebServer) -> None:
    for body in (b"%PDF-1.7 and nothing", pdf_with(SENTENCE)[:300]):
        with pytest.raises(PageFailed, match=r"cannot be read|no text"):
            await read(site, reply(200, body, "application/pdf"))


async def test_a_locked_pdf_is_said_to_be_locked(site: WebServer) -> None:
    with pytest.raises(PageFailed, match="locked"):
        await read(site, reply(200, pdf_with(SENTENCE, password="x"), "application/pdf"))


async def test_a_page_without_text_is_said_to_hold_none(site: WebServer) -> None:
    for body in ("", "<html><body><script>render()</script></body></html>"):
        with pytest.raises(PageFailed, match="no text"):
            await read(site, html_reply(body))


@pytest.mark.parametrize(
    ("encoding", "declared", "meta"),
    [
        ("utf-8", "utf-8", ""),
        ("utf-8", "", ""),
        ("utf-8", "iso-8859-1", ""),
        ("cp1252", "utf-8", ""),
        ("cp1252", "", "<meta charset=windows-1252>"),
        ("utf-16", "", ""),
        ("iso-8859-2", "iso-8859-2", ""),
    ],
)
async def test_the_charset_is_found_out(
    site: WebServer, encoding: str, declared: str, meta: str
) -> None:
    words = "Příliš žluťoučký kůň" if encoding == "iso-8859-2" else "El año pasado heló más aquí"
    body = article(f"<p>{words}. {words} otra vez, señor.</p>", head=meta)
    if encoding == "iso-8859-2":
        body = article(f"<p>{words}</p>")
    kind = f"text/html; charset={declared}" if declared else "text/html"
    page = await read(site, reply(200, body.encode(encoding), kind))
    assert words in page.text


@given(st.binary(max_size=300), st.sampled_from(["", "text/html; charset=utf-8", "x; charset=?"]))
def test_any_bytes_become_a_text_that_can_be_stored(body: bytes, kind: str) -> None:
    text = decoded(body, kind)
    assert "\x00" not in text
    text.encode("utf-8")


@given(st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=80))
def test_utf8_is_never_misread(text: str) -> None:
    if text.isascii() or text.startswith("\ufeff"):
        return
    assert decoded(text.encode(), "text/html; charset=iso-8859-1") == text


async def test_a_compressed_page_is_read(site: WebServer) -> None:
    body = gzip.compress(article(f"<p>{SENTENCE}</p>").encode())
    page = await read(site, reply(200, body, "text/html", content_encoding="gzip"))
    assert SENTENCE in page.text
    assert site.requests[0].headers["accept-encoding"] == "gzip"


async def test_a_compressed_bomb_stops_at_the_limit(site: WebServer) -> None:
    bomb = gzip.compress(b"a" * 50_000_000, compresslevel=9)
    assert len(bomb) < 100_000
    with pytest.raises(PageFailed, match=r"larger than 0\.1 MB"):
        await read(
            site,
            reply(200, bomb, "text/html", content_encoding="gzip"),
            max_bytes=100_000,
        )


@pytest.mark.parametrize(
    ("encoding", "body"),
    [("br", b"\x0b\x02\x80hello\x03"), ("gzip, gzip", b"x"), ("deflate", zlib.compress(b"x"))],
)
async def test_a_compression_that_was_not_asked_for_is_refused(
    site: WebServer, encoding: str, body: bytes
) -> None:
    with pytest.raises(PageFailed, match="compressed"):
        await read(site, reply(200, body, "text/html", content_encoding=encoding))


async def test_damaged_compression_is_a_plain_failure(site: WebServer) -> None:
    with pytest.raises(PageFailed, match="decompress"):
        await read(site, reply(200, b"not gzip", "text/html", content_encoding="gzip"))


async def test_an_endless_page_stops_at_the_limit(site: WebServer) -> None:
    with pytest.raises(PageFailed, match="larger than"):
        await read(site, flood(), max_bytes=100_000)


async def test_an_announced_size_is_believed_at_once(site: WebServer) -> None:
    def boast(exchange) -> None:
        exchange.start(200, content_type="text/html", content_length="999999999")
        silence(exchange)

    started = time.monotonic()
    with pytest.raises(PageFailed, match="larger than"):
        await read(site, boast)
    assert time.monotonic() - started < 2


@pytest.mark.parametrize("route", [silence, drip()], ids=["silent", "dripping"])
async def test_a_slow_page_ends_with_the_time_given(site: WebServer, route: Route) -> None:
    started = time.monotonic()
    with pytest.raises(PageFailed, match=r"within 0\.3 seconds"):
        await read(site, route, timeout_seconds=0.3)
    assert time.monotonic() - started < 2


@pytest.mark.parametrize("route", [hang_up, gibberish])
async def test_a_rude_site_is_a_plain_failure(site: WebServer, route: Route) -> None:
    with pytest.raises(PageFailed, match="broke"):
        await read(site, route)


async def test_nobody_there_is_said_plainly() -> None:
    with web_server() as gone:
        url = gone.url
    with pytest.raises(PageFailed, match="Nobody answers"):
        await GuardedReader(allowed_hosts=["127.0.0.1"]).read(url)


@pytest.mark.parametrize(
    ("status", "words"),
    [(401, "sign-in"), (403, "refuses"), (404, "no page"), (429, "too often"), (503, "503")],
)
async def test_a_refusal_is_told_in_words(site: WebServer, status: int, words: str) -> None:
    with pytest.raises(PageFailed, match=words):
        await read(site, reply(status, article(SENTENCE), "text/html"))
