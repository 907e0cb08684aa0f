"""The picture of the README: the real page over the sample library, with a scripted model.

The search, the sources and their passages are real, only the model's words are written here: so
the picture is the same wherever it is made. The model refers to sources by their titles, and gets
the numbers from the search's result, as a model does.

    scripts/screenshot [docs/screenshot.png]
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from scripts.lib.steps import ROOT
from tests.browser.conftest import sign_in
from tests.browser.stage import ChatPage, searches
from tests.browser.standing import standing_browser, standing_stage
from tests.servers.model_server import Turn, call

SIZE = {"width": 1280, "height": 860}
QUESTIONS = ("Why does ice float?", "How many moons does Saturn have?", "What is sourdough?")
QUESTION = "How is the kilogram defined today, and what was wrong with the old way?"
NEW, OLD = "The new definition of the kilogram", "The kilogram and its metal cylinder"
ANSWER = """\
Since 20 May 2019 the kilogram has been defined by **a fixed value of the Planck constant**[{new}]:

$$h = 6.62607015 \\times 10^{{-34}}\\ \\mathrm{{kg\\,m^2\\,s^{{-1}}}}$$

Before that it was the mass of one metal cylinder, kept in a vault near Paris[{old}]. An object \
changes with dirt, cleaning and wear: within a century its copies had drifted away from it by \
about 50 micrograms, and nobody could say which of them had changed[{old}].

| | Until 2019 | Since 2019 |
|---|---|---|
| Defined by | a cylinder of platinum and iridium [{old}] | the Planck constant [{new}] |
| Measured with | a balance, against the copies | a Kibble balance [{new}] |

Nothing changes in the shop: the new value was chosen to match the old one[{new}].

<followups>
How does a Kibble balance work?
Which other units were redefined that day?
</followups>
"""


def main(arguments: list[str]) -> int:
    parser = ArgumentParser(prog="scripts/screenshot", description="Make the README's picture.")
    parser.add_argument("file", nargs="?", type=Path, default=ROOT / "docs" / "screenshot.png")
    target: Path = parser.parse_args(arguments).file
    if target.suffix != ".png":
        parser.error(f"{target}: the picture is a .png file")
    with standing_stage() as (server, model), standing_browser() as browser:
        server.restart(LUMINA_WEB="off", LUMINA_MODEL="your-model")
        page = browser.new_page(viewport=SIZE, color_scheme="light", reduced_motion="reduce")
        sign_in(page, server)
        chat = ChatPage(page, server.url)
        for question in QUESTIONS:
            model.play(searches(), {"reply": [{"text": "Yes."}]})
            chat.open().ask(question).wait_for()
        asked = call("search_library", query="definition of the kilogram")
        model.play(Turn(asked, after_tools=False), Turn(_answer, after_tools=True))
        chat.open().ask(QUESTION).wait_for()
        chat.box.blur()
        chat.citation(_number(model.bodies[-1], OLD)).hover()
        expect(page.get_by_role("tooltip")).to_contain_text("International Prototype")
        page.screenshot(path=target)
    sys.stdout.write(f"{target}: {target.stat().st_size / 1_000:.0f} kB\n")
    return 0


def _answer(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield {"text": ANSWER.format(new=_number(body, NEW), old=_number(body, OLD))}


def _number(body: Mapping[str, Any], title: str) -> int:
    """The number of a source in what the search told the model."""
    told = next(one["content"] for one in reversed(body["messages"]) if one["role"] == "tool")
    return next(one["number"] for one in json.loads(told)["sources"] if one["title"] == title)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
