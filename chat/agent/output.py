"""What of a model's raw text is the answer.

Thoughts, follow-up questions and tool calls come mixed into the text and cut anywhere. The filter
reads on and holds text back only while it can still be one of them; every cutting of a text gives
the same result. It takes linear time.

Rules
- `<think>`, `<thinking>` and `<reasoning>` blocks are thoughts. A closing tag without an opening
  one means that all before it was thoughts too. An opening tag that is never closed hides what
  follows, unless nothing else was said: then the model forgot the tag. In the middle of a line
  such a tag was only mentioned.
- Inside code these tags are text. `<followups>` is taken everywhere, a fence that held nothing
  else goes with it, and unless it is closed it has no questions.
- JSON at the start of a line, in a fence or in `<tool_call>` tags that calls an offered tool is a
  call, and never shown. All other text is shown as it is, without control characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from chat.agent.code_context import CodeContext
from chat.agent.followups import FOLLOWUPS_MAX, questions_in
from chat.agent.ports import FinishReason
from chat.agent.text_calls import CallBlock, TextCall
from chat.agent.values import ToolCall


@dataclass(frozen=True, slots=True)
class Visible:
    text: str


@dataclass(frozen=True, slots=True)
class Retracted:
    """All that was visible in this step so far was not part of the answer."""


@dataclass(frozen=True, slots=True)
class Thought:
    text: str


@dataclass(frozen=True, slots=True)
class Followups:
    questions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CallInText:
    call: ToolCall


OutputEvent = Visible | Retracted | Thought | Followups | CallInText

_FLAGS = re.IGNORECASE | re.ASCII
_TAG = re.compile(r"<(?P<slash>/?)(?P<name>think|thinking|reasoning|followups|tool_call)>", _FLAGS)
_CLOSE_THOUGHT = re.compile(r"</(?:think|thinking|reasoning)>", _FLAGS)
_OPEN_QUESTIONS = re.compile(r"<followups>", _FLAGS)
_CLOSE_QUESTIONS = re.compile(r"</followups>", _FLAGS)
_END_OF_QUESTIONS = re.compile(r"</(?:followups|think|thinking|reasoning)>", _FLAGS)

_QUESTION_TAGS = ("<followups>", "</followups>")
_CLOSING_THOUGHT_TAGS = ("</think>", "</thinking>", "</reasoning>")
_TAGS = (
    *_QUESTION_TAGS,
    *_CLOSING_THOUGHT_TAGS,
    "<think>",
    "<thinking>",
    "<reasoning>",
    "<tool_call>",
)
_TAG_MAX_CHARS = len("</followups>")

_LINE = re.compile(r"[^<\n]*\n?")
_PLAIN = re.compile(r"[^<\n`~\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_BLANK = re.compile(r"[ \t\n]+")
# The first line of a fence and the space behind it, and what is still the beginning of that.
_FENCE = re.compile(r"(`{3,16}|~{3,16})[ \t]{0,9}[\w+-]{0,20}[ \t]{0,9}\n\s{0,50}(?=\S)")
_FENCE_SO_FAR = re.compile(
    r"(?:`{1,16}|~{1,16}|(?:`{3,16}|~{3,16})[ \t]{0,9}[\w+-]{0,20}[ \t]{0,9}(?:\n\s{0,50})?)\Z"
)
_SPACE = re.compile(r"\s+")

_CONTROL = dict.fromkeys([*range(9), *range(11, 32), *range(127, 160)])
_SURROGATE = re.compile(r"[\ud800-\udfff]")


class OutputFilter:
    """Reads the text of one step. `step` tells the ids of its calls from those of other steps."""

    def __init__(self, tool_names: frozenset[str], *, step: int = 0) -> None:
        self._tool_names, self._step = tool_names, step
        self._events: list[OutputEvent] = []
        self._parts: list[str] = []  # of the Visible or Thought that is being put together
        self._parts_kind: type[Visible] | type[Thought] = Visible
        self._half = ""  # the first half of a surrogate pair
        self._text = ""  # read from `_at` on; what lies before is decided
        self._at = 0
        self._mode: Callable[[], bool] = self._read_text
        self._code = CodeContext()
        self._n_plain = 0  # characters from `_at` on in which no call begins
        self._takes_thoughts = True
        self._is_silent = self._is_blank = True  # nothing, or only space, is visible so far
        self._skips_space = False
        self._hidden: list[str] = []
        self._tag_in_line = ""
        self._questions: list[str] = []
        self._body: list[str] = []
        self._fence = ""  # the beginning of a fence that so far held only questions
        self._fence_mark = ""
        self._calls: list[TextCall] = []
        self._block = CallBlock(tool_names, 0, "")

    def feed(self, delta: str) -> list[OutputEvent]:
        if self._is_in_plain_line() and _PLAIN.fullmatch(delta):
            return [Visible(delta)]
        self._run(self._clean(delta))
        return self._drained()

    def _is_in_plain_line(self) -> bool:
        """Whether text without any special character can be shown as it is, and quickly."""
        is_held = self._half or self._at < len(self._text) or self._is_blank or self._n_plain
        is_text = self._mode == self._read_text and self._code.is_in_plain_line
        return is_text and not is_held

    def close(self, finish_reason: FinishReason) -> list[OutputEvent]:
        """The end of the step's text. Questions and calls come last, when they are sure."""
        self._run("�" if self._half else "")
        self._end_pending()
        if self._mode == self._read_thought and self._is_forgotten_tag(finish_reason):
            self._takes_thoughts, self._mode = False, self._read_text
            self._run("".join([self._tag_in_line, *self._hidden]))
            self._end_pending()
        events = self._drained()
        if self._questions:
            events.append(Followups(tuple(self._questions[:FOLLOWUPS_MAX])))
        for number, call in enumerate(self._calls, 1):
            call_id = f"text_{self._step}_{number}"
            events.append(CallInText(ToolCall(call_id, call.name, call.arguments)))
        return events

    def _is_forgotten_tag(self, finish_reason: FinishReason) -> bool:
        is_all_there_is = self._is_blank and not self._calls
        return finish_reason in {"stop", "unknown"} and bool(is_all_there_is or self._tag_in_line)

    # --- In and out -------------------------------------------------------------------------

    def _clean(self, delta: str) -> str:
        """Without control characters, with surrogate pairs joined across deltas."""
        text = self._half + delta.translate(_CONTROL)
        if not _SURROGATE.search(text):
            return text
        self._half = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""
        text = text[:-1] if self._half else text
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def _run(self, text: str) -> None:
        """Each mode reads on from `_at` and says False when it needs more text to decide."""
        self._text = self._text[self._at :] + text
        self._at = 0
        while self._at < len(self._text) and self._mode():
            pass

    def _say(self, kind: type[Visible] | type[Thought], text: str) -> None:
        if kind is not self._parts_kind:
            self._flush()
            self._parts_kind = kind
        self._parts.append(text)

    def _flush(self) -> None:
        text = "".join(self._parts)
        self._parts = []
        if text:
            self._events.append(self._parts_kind(text))

    def _drained(self) -> list[OutputEvent]:
        self._flush()
        events, self._events = self._events, []
        return events

    def _show(self, end: int) -> bool:
        """Everything up to `end` is text."""
        text = self._text[self._at : end]
        self._go_to(end)
        self._skips_space = False
        self._is_silent = False
        self._is_blank = self._is_blank and not text.strip()
        self._code.read(text)
        self._say(Visible, text)
        return True

    def _go_to(self, end: int) -> None:
        self._n_plain = max(0, self._n_plain - (end - self._at))
        self._at = end

    def _switch(self, mode: Callable[[], bool], end: int) -> bool:
        self._mode = mode
        self._go_to(end)
        return True

    def _may_become(self, tags: tuple[str, ...], at: int) -> bool:
        """Whether the text ends in the beginning of one of the tags."""
        if len(self._text) - at > _TAG_MAX_CHARS:
            return False
        rest = self._text[at:]
        return rest.isascii() and any(tag.startswith(rest.lower()) for tag in tags)

    def _end_without_tag(self, tags: tuple[str, ...]) -> int:
        """Where the text ends, or the beginning of a tag that it ends in."""
        last = self._text.rfind("<", self._at)
        return last if last >= 0 and self._may_become(tags, last) else len(self._text)

    # --- Text and tags ----------------------------------------------------------------------

    def _read_text(self) -> bool:
        char = self._text[self._at]
        if self._skips_space and char in " \t\n":
            return self._switch(self._read_text, self._at + 1)
        if char == "<":
            return self._read_tag()
        if self._code.at_line_start and not self._code.is_inside():
            blank = _BLANK.match(self._text, self._at)
            if blank:
                return self._show(blank.end())
            if char in "`~" and not self._n_plain:
                return self._read_fence()
            if char in "{[" and self._tool_names and not self._n_plain:
                return self._begin_call(self._at, "")
        line = _LINE.match(self._text, self._at)
        return self._show(line.end() if line else self._at + 1)

    def _read_tag(self) -> bool:
        tag = _TAG.match(self._text, self._at)
        if not tag:
            return False if self._may_become(_TAGS, self._at) else self._show(self._at + 1)
        name, is_closing, is_code = tag["name"].lower(), tag["slash"], self._code.is_inside()
        if name == "followups":
            return self._switch(self._read_text if is_closing else self._read_questions, tag.end())
        if name == "tool_call":
            if self._tool_names and not (is_closing or is_code or self._n_plain):
                return self._begin_call(tag.end(), "</tool_call>")
        elif self._takes_thoughts and not is_code:
            return self._retract(tag.end()) if is_closing else self._begin_thought(tag)
        return self._show(tag.end())

    def _read_fence(self) -> bool:
        """A fence is held back until its first character tells what it may hold."""
        fence = _FENCE.match(self._text, self._at)
        if not fence:
            if _FENCE_SO_FAR.match(self._text, self._at):
                return False
        elif found := _OPEN_QUESTIONS.match(self._text, fence.end()):
            self._fence, self._fence_mark = fence[0], fence[1]
            return self._switch(self._read_questions, found.end())
        elif self._may_become(_QUESTION_TAGS[:1], fence.end()):
            return False
        elif self._text[fence.end()] in "{[" and self._tool_names:
            return self._begin_call(fence.end(), fence[1])
        self._n_plain = 1
        return True

    # --- Thoughts ---------------------------------------------------------------------------

    def _begin_thought(self, tag: re.Match[str]) -> bool:
        self._hidden = []
        self._tag_in_line = "" if self._code.at_line_start else tag[0]
        return self._switch(self._read_thought, tag.end())

    def _read_thought(self) -> bool:
        found = _CLOSE_THOUGHT.search(self._text, self._at)
        if found:
            self._hide(found.start())
            self._skips_space = self._is_blank
            return self._switch(self._read_text, found.end())
        return self._hide(self._end_without_tag(_CLOSING_THOUGHT_TAGS))

    def _hide(self, end: int) -> bool:
        text = self._text[self._at : end]
        self._hidden.append(text)
        self._say(Thought, text)
        return self._switch(self._mode, end) and bool(text)

    def _retract(self, end: int) -> bool:
        if not self._is_silent:
            self._flush()
            self._events.append(Retracted())
        self._is_silent = self._is_blank = self._skips_space = True
        self._code = CodeContext()
        self._questions, self._body, self._calls = [], [], []
        return self._switch(self._read_text, end)

    # --- Questions --------------------------------------------------------------------------

    def _read_questions(self) -> bool:
        is_code = bool(self._fence) or self._code.is_inside() or not self._takes_thoughts
        end_tag = _CLOSE_QUESTIONS if is_code else _END_OF_QUESTIONS
        found = end_tag.search(self._text, self._at)
        if found and _CLOSE_THOUGHT.fullmatch(found[0]):
            return self._retract(found.end())
        tags = (*_QUESTION_TAGS[1:], *_CLOSING_THOUGHT_TAGS)
        end = found.start() if found else self._end_without_tag(tags)
        moved = end > self._at
        self._body.append(self._text[self._at : end])
        self._go_to(end)
        if not found:
            return moved
        self._questions += questions_in("".join(self._body))
        self._body = []
        after = self._read_rest_of_fence if self._fence else self._read_text
        return self._switch(after, found.end())

    def _read_rest_of_fence(self) -> bool:
        """Behind questions in a fence: it is dropped if they were all it held."""
        mark = self._fence_mark
        rest = self._text[self._at : self._at + len(mark)]
        if space := _SPACE.match(self._text, self._at):
            return self._switch(self._mode, space.end())
        if rest == mark:
            self._fence = ""
            return self._switch(self._read_text, self._at + len(mark))
        if found := _OPEN_QUESTIONS.match(self._text, self._at):
            return self._switch(self._read_questions, found.end())
        if mark.startswith(rest) or self._may_become(_QUESTION_TAGS[:1], self._at):
            return False
        self._code.read(self._fence)
        self._say(Visible, self._fence)
        self._is_silent = self._is_blank = False
        self._fence = ""
        return self._switch(self._read_text, self._at)

    # --- Calls ------------------------------------------------------------------------------

    def _begin_call(self, body: int, closing: str) -> bool:
        self._block = CallBlock(self._tool_names, body - self._at, closing)
        return self._switch(self._read_call, self._at)

    def _read_call(self) -> bool:
        verdict = self._block.read(self._text, self._at)
        if verdict == "done":
            return self._take_calls(self._block.calls, self._at + self._block.n_read)
        if verdict == "no":
            return self._show_block(self._block.n_read)
        return False

    def _take_calls(self, calls: list[TextCall], end: int) -> bool:
        self._calls += calls
        self._skips_space = self._is_blank
        return self._switch(self._read_text, end)

    def _show_block(self, n_chars: int) -> bool:
        """It is text. No part of it is tried again, so that the time stays linear."""
        self._n_plain = max(1, n_chars)
        return self._switch(self._read_text, self._at)

    # --- The end ----------------------------------------------------------------------------

    def _end_pending(self) -> None:
        """Decide about what was held back, now that nothing follows."""
        if self._mode == self._read_call:
            if calls := self._block.unfinished():
                self._take_calls(calls, len(self._text))
            else:
                self._show_block(len(self._text) - self._at)
                self._run("")
        if self._mode == self._read_thought:
            self._hide(len(self._text))
        is_text = self._mode == self._read_text and self._at < len(self._text)
        if is_text and not self._ends_in_question_tag():
            self._show(len(self._text))
        self._go_to(len(self._text))

    def _ends_in_question_tag(self) -> bool:
        """Cut off within `<followups>`, perhaps in a fence that would have held it."""
        last = self._text.rfind("<", self._at)
        is_long_enough = 0 <= last <= len(self._text) - len("<fol")
        return is_long_enough and self._may_become(_QUESTION_TAGS, last)
