"""Whether a place in growing Markdown is inside code, where tags are text."""

from __future__ import annotations

import re

_TOKENS = re.compile(r"\n|`+|~+|[ \t]+|[^\n`~ \t]+")


class CodeContext:
    """Reads Markdown in pieces of any size; every cutting gives the same state.

    Fences follow CommonMark. An inline span ends with its line at the latest: a stray back-tick
    must not turn the rest of an answer into code.
    """

    def __init__(self) -> None:
        self._is_line_blank = True
        self._run = ""  # back-ticks or tildes whose end has not been seen
        self._fence = ""  # the run that opened the fence we are in
        self._in_info = False  # behind that run, on its line
        self._may_close = False  # a closing run was read and nothing but space behind it
        self._inline = 0  # length of the run that opened the inline span we are in

    @property
    def at_line_start(self) -> bool:
        return self._is_line_blank and not self._run

    @property
    def is_in_plain_line(self) -> bool:
        """Whether more of the line, without back-ticks and tildes, changes nothing here."""
        return not (self._is_line_blank or self._run or self._may_close)

    def is_inside(self) -> bool:
        """To be asked only where no further back-tick follows."""
        self._settle()
        return bool(self._fence or self._inline)

    def read(self, text: str) -> None:
        for token in _TOKENS.findall(text):
            if token[0] in "`~":
                if self._run[:1] != token[0]:
                    self._settle()
                self._run += token
                continue
            self._settle()
            if token == "\n":
                self._end_line()
            elif not token.isspace():
                self._is_line_blank = self._may_close = False

    def _end_line(self) -> None:
        if self._may_close:
            self._fence = ""
        self._inline = 0
        self._in_info = self._may_close = False
        self._is_line_blank = True

    def _settle(self) -> None:
        """Give the run that has ended its meaning."""
        run, self._run = self._run, ""
        if not run:
            return
        is_first, self._is_line_blank = self._is_line_blank, False
        if self._fence:
            self._settle_in_fence(run, is_first)
        elif is_first and len(run) >= 3:
            self._fence, self._in_info = run, True
        elif run[0] == "`" and self._inline in {0, len(run)}:
            self._inline = len(run) - self._inline

    def _settle_in_fence(self, run: str, is_first: bool) -> None:
        self._may_close = is_first and run.startswith(self._fence)
        if self._in_info and run[0] == self._fence[0] == "`":
            # No fence after all, as its first line holds back-ticks: an inline span.
            self._inline = 0 if len(run) == len(self._fence) else len(self._fence)
            self._fence, self._in_info = "", False
