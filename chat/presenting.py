"""From events to what the page puts where, with the partials that also make the whole page.

A put is a short list, so that little travels: ["text", block, text] appends raw text to a growing
block of the answer; ["block", block, html] gives the block its final form; ["blocks", n] removes
all blocks from number n on; ["set", id, html] replaces an element; ["add", id, html] appends to
one; ["now", text] is what the run is doing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from django.template.loader import render_to_string
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from chat.agent.values import Span
from chat.answer_text import AnswerText
from chat.rendering import AnswerStream, Append, Fragment, Snapshot, answer_blocks, answer_html
from chat.steps import Step, Steps

Event = Mapping[str, Any]
Put = list[Any]


def id_prefix(answer_id: int) -> str:
    """Keeps the element ids of several answers on one page apart."""
    return f"m{answer_id}-"


def safe_answer(
    text: str, sources: Sequence[Any], answer_id: int, *, unsupported: Collection[Span] = ()
) -> SafeString:
    """A finished answer's HTML. Rendering has sanitized it, so templates need not escape it."""
    prefix = id_prefix(answer_id)
    return mark_safe(answer_html(text, sources, prefix=prefix, unsupported=unsupported))


class TurnPresenter:
    """Follows one run. The same events give the same puts, whoever asks and from where on."""

    def __init__(self, answer_id: int, run_id: int) -> None:
        self._answer_id = answer_id
        self._run_id = run_id
        self._answer = AnswerText()
        # The HTML of every block once the text has ended and is checked; None before that.
        self._settled: list[str] | None = None
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
        self._answer.hear(kind, event)
        if kind == "text_added":
            puts += _as_puts(self._stream.feed(event["text"]))
        elif kind in {"text_retracted", "text_corrected"}:
            puts += self._rewrite()
        elif kind in {"sentence_failed", "sentence_replaced", "sentence_unsupported"}:
            puts += self._settle()
        elif kind == "source_found":
            puts += self._card(event)
        elif kind == "run_finished" and self._settled is None:
            puts += _as_puts(self._stream.close())
        if self.steps.now != before:
            puts.append(["now", self.steps.now])
        return puts

    def html(self) -> SafeString:
        """The answer so far, as a page that is loaded in the middle of it shows it."""
        settled = self._settled
        shown = self._stream.snapshot() if settled is None else Snapshot(tuple(settled), "")
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

    def _settle(self) -> list[Put]:
        """The text is whole: blocks take their final form, and later change one by one."""
        before = self._settled
        now = answer_blocks(
            self._answer.text,
            self._sources,
            prefix=id_prefix(self._answer_id),
            unsupported=[mark.span for mark in self._answer.marks],
        )
        known = self._stream.snapshot().blocks if before is None else before
        self._settled = now
        changed = [
            ["block", number, html]
            for number, html in enumerate(now)
            if number >= len(known) or known[number] != html
        ]
        return [*changed, ["blocks", len(now)]] if len(known) > len(now) else changed

    def _rewrite(self) -> list[Put]:
        """The answer is now another text: everything is taken away and put anew."""
        text = self._answer.text
        self._settled = None
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
        self._stream.feed(self._answer.text)
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
