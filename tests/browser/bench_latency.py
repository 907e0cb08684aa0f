"""The time between a model's first token and the first character that a person sees of it.

A scripted model notes the clock right before it writes its first token to Lumina and goes on with
a token every 20 ms, as a quick local model does. The page notes its clock when the answer first
holds text, and again after the frame in which that text is painted. Model, server and browser run
on one machine, so the clocks are one. What is measured is all that lies between: the HTTP client,
the loop, the filter of the output, the write to the store, the socket, the page, and waiting for
the next frame (up to 17 ms at 60 frames a second).

    scripts/bench_latency [--runs 20]

Prints milliseconds, median and 95th percentile, for text in the page and for text painted.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

from tests.browser.conftest import sign_in
from tests.browser.stage import ChatPage
from tests.browser.standing import standing_browser, standing_stage

WARM_UP_RUNS = 3
TOKENS = [f"{word} " for word in ["Ice", "floats", "as", "it", "is", "less", "dense."]]
# A message that is posted within a frame is handled after that frame was painted.
WATCH = """() => {
  const now = () => performance.timeOrigin + performance.now();
  window.seen = null;
  const observer = new MutationObserver(() => {
    if (!document.querySelector(".turn:last-child .answer")?.textContent.trim()) return;
    observer.disconnect();
    const inPage = now();
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => (window.seen = [inPage, now()]);
      channel.port2.postMessage(0);
    });
  });
  observer.observe(document.body, { childList: true, characterData: true, subtree: true });
}"""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench_latency", description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    n_runs = parser.parse_args(arguments).runs
    with standing_stage() as (server, model), standing_browser() as browser:
        page = browser.new_page()
        sign_in(page, server)
        chat = ChatPage(page, server.url)
        measured = [_measure(chat, model) for _ in range(WARM_UP_RUNS + n_runs)][WARM_UP_RUNS:]
    for name, times in zip(("in the page", "painted"), zip(*measured, strict=True), strict=True):
        sys.stdout.write(f"{name}: {_summary(times)}\n")
    return 0


def _measure(chat: ChatPage, model: Any) -> tuple[float, float]:
    """Milliseconds from the first token to text in the page, and to text painted."""
    written: list[float] = []

    def first_token() -> Iterator[Mapping[str, Any]]:
        yield {"pause": 0.3}  # the page has shown the turn and is still
        written.append(time.time() * 1_000)
        yield {"text": TOKENS, "every": 0.02}

    model.play({"when": ".", "reply": lambda body: first_token()})
    chat.open("/")
    chat.page.locator("lumina-conversation[data-connected]").wait_for()
    chat.page.evaluate(WATCH)
    chat.ask("Why does ice float?").wait_for()
    in_page, painted = chat.page.evaluate("window.seen")
    return in_page - written[0], painted - written[0]


def _summary(times: tuple[float, ...]) -> str:
    ordered = sorted(times)
    p95 = ordered[math.ceil(0.95 * len(ordered)) - 1]
    return (
        f"median {statistics.median(ordered):.0f} ms, 95th percentile {p95:.0f} ms "
        f"({len(ordered)} runs, {ordered[0]:.0f} to {ordered[-1]:.0f} ms)"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
