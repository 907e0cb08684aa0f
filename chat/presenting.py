"""From events to what the page puts where, with the partials that also make the whole page.

A put is a short list, so that little travels: ["text", block, text] appends raw text to a growing
block of the answer; ["block", block, html] gives the block its final form; ["blocks", n] removes
all blocks from number n on; ["set", id, html] replaces an element; ["add", id, html] appends to
one; ["now", text] is what the run is doing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.template.loader import render_to_string
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from chat.rendering import AnswerStream, Append, Fragment, answer_html
from chat.steps import Step, Steps

Event = Mapping[str, Any]
Put = list[Any]


def id_prefix(answer_id: int) -> str:
    """Keeps the element ids of several answers on one page apart."""
    return f"m{answer_id}-"


def safe_answer(text: str, sources: Sequence[Any], answer_id: int) -> SafeString:
    """A finished answer's HTML. Rendering has sanitized it, so templates need not escape it."""
    return mark_safe(answer_html(text, sources, prefix=id_prefix(answer_id)))


class TurnPresenter:
    """Follows one run. The same events give the same puts, whoever asks and from where on."""

    def __init__(self, answer_id: int, run_id: int) -> None:
        self._answer_id = answer_id
        self._run_id = run_id
        self._text = ""
        self._step_start = 0
        self._sources: list[_Card] = []
        self._stream = self._new_stream()
        self.steps = Steps()
        self.seq = 0

    def hear(self, event: Event) -> list[Put]:
        """What the page does about the next event. Events come in the order of `seq`."""
        self.seq = event["seq"]
        before = self.steps.now
        puts = self._steps(event)
        kind = event["type"]
        if kind == "step_started":
            self._step_start = len(self._text)
        elif kind == "text_added":
            self._text += event["text"]
            puts += _as_puts(self._stream.feed(event["text"]))
        elif kind == "text_retracted":
            puts += self._rewrite(self._text[: self._step_start])
        elif kind == "text_corrected":
            puts += self._rewrite(event["text"])
        elif kind == "source_found":
            puts += self._card(event)
        elif kind == "run_finished":
            puts += _as_puts(self._stream.close())
        if self.steps.now != before:
            puts.append(["now", self.steps.now])
        return puts

    def html(self) -> SafeString:
        """The answer so far, as a page that is loaded in the middle of it shows it."""
        shown = self._stream.snapshot()
        closed = format_html_join(
            "",
            '<div class="block" data-block="{}">{}</div>',
            ((index, mark_safe(html)) for index, html in enumerate(shown.blocks)),
        )
        if not shown.open_text:
            return closed
        return format_html(
            '{}<div class="block growing" data-block="{}">{}</div>',
            closed,
            len(shown.blocks),
            shown.open_text,
        )

    @property
    def cards(self) -> Sequence[_Card]:
        return self._sources

    def _new_stream(self) -> AnswerStream:
        return AnswerStream(self._sources, prefix=id_prefix(self._answer_id))

    def _rewrite(self, text: str) -> list[Put]:
        """The answer is now this text: everything is taken away and put anew."""
        self._text = text
        self._stream = self._new_stream()
        return [["blocks", 0], *_as_puts(self._stream.feed(text) if text else [])]

    def _card(self, event: Event) -> list[Put]:
        card = _Card(event, self._run_id)
        known = [one.number for one in self._sources]
        if card.number in known:
            self._sources[known.index(card.number)] = card
            return []
        self._sources.append(card)
        self._stream = self._new_stream()
        self._stream.feed(self._text)
        html = render_to_string(
            "chat/_source.html", {"source": card, "prefix": id_prefix(self._answer_id)}
        )
        count = {"answer_id": self._answer_id, "n_found": len(self._sources)}
        return [
            ["add", f"found-{self._answer_id}", html],
            [
                "set",
                f"found-count-{self._answer_id}",
                render_to_string("chat/_found.html", count).strip(),
            ],
        ]

    def _steps(self, event: Event) -> list[Put]:
        known = len(self.steps.items)
        step = self.steps.hear(event)
        if step is None:
            return []
        html = step_html(step, self._answer_id)
        if step.key < known:
            return [["set", f"step-{self._answer_id}-{step.key}", html]]
        return [["add", f"steplist-{self._answer_id}", html]]


class _Card:
    """A source as its card shows it before it is looked up in the store."""

    def __init__(self, event: Event, run_id: int) -> None:
        self.number: int = event["number"]
        self.title: str = event["title"]
        self.url: str = event["url"]
        self.domain: str = event["domain"]
        self.run_id = run_id


def step_html(step: Step, answer_id: int) -> str:
    return render_to_string("chat/_step.html", {"step": step, "answer_id": answer_id})


def _as_puts(fragments: Iterable[Fragment]) -> list[Put]:
    return [
        ["text", one.block, one.text] if isinstance(one, Append) else ["block", one.block, one.html]
        for one in fragments
    ]
