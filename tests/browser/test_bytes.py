"""What an answer costs on the wire: as much as its length, not its length times its pieces."""

import logging

import pytest

from tests.browser.stage import ChatPage, answers, searches
from tests.servers.model_server import cut_up

pytestmark = [pytest.mark.browser, pytest.mark.processes]

logger = logging.getLogger(__name__)

SENTENCE = "Ice is less dense than water, and so it floats on top of it"
PIECE_CHARS = 20


def prose(n_chars: int) -> str:
    """Paragraphs of seven sentences, each ending with a citation."""
    paragraph = f"{'. '.join([SENTENCE] * 7)} [1].\n\n"
    return (paragraph * (n_chars // len(paragraph) + 1))[:n_chars]


def received_for(chat: ChatPage, model, n_chars: int) -> tuple[int, int]:
    """Bytes that came over the socket for an answer, and those of its final HTML."""
    frames: list[str | bytes] = []

    def keep(frame: str | bytes) -> None:
        frames.append(frame)

    chat.page.once("websocket", lambda ws: ws.on("framereceived", keep))
    text = prose(n_chars)
    pieces = cut_up(text, n_chars // PIECE_CHARS)
    model.play(searches(), answers({"text": pieces, "every": 0.001}))
    chat.open("/").ask("Why does ice float?").wait_for()
    n_received = sum(len(one.encode() if isinstance(one, str) else one) for one in frames)
    return n_received, len(chat.outcome()["html"].encode())


def test_bytes_grow_with_the_answer_and_stay_near_its_html(open_chat, model):
    short, short_html = received_for(open_chat(), model, 5_000)
    long, long_html = received_for(open_chat(), model, 20_000)
    logger.info("5,000 characters: %s bytes for HTML of %s", short, short_html)
    logger.info("20,000 characters: %s bytes for HTML of %s", long, long_html)
    assert long <= 4 * short * 1.2
    assert long <= 4 * long_html
