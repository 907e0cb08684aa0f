"""What one run may spend: steps, tokens and seconds, looked at before each spend."""

from __future__ import annotations

from dataclasses import dataclass

from chat.agent.ports import Clock
from chat.agent.values import Usage

# The share of a limit after which a run stops gathering and answers.
ANSWER_SHARE = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """`answer_tokens` is the longest that one step may write."""

    max_steps: int = 8
    max_tokens: int = 200_000
    max_seconds: float = 300
    answer_tokens: int = 4_096


@dataclass(frozen=True, slots=True)
class Allowance:
    """`may_use_tools` is False for the last step; `may_run` is False when nothing is left.

    `limit` names what is used up, as a phrase such as "8 steps", or is empty.
    """

    may_run: bool = True
    may_use_tools: bool = True
    limit: str = ""


class Meter:
    """Counts what one run has spent."""

    def __init__(self, limits: Limits, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock
        self._started = clock.monotonic()
        self.usage = Usage()
        self.n_steps = 0

    def allow_step(self, prompt_tokens: int) -> Allowance:
        """Whether the next step may run, whose prompt is about `prompt_tokens` long."""
        limits = self._limits
        seconds = self.seconds_spent()
        tokens = self.usage.total_tokens + prompt_tokens
        if seconds >= limits.max_seconds:
            return Allowance(False, False, self.time_limit)
        if tokens >= limits.max_tokens:
            return Allowance(False, False, f"{limits.max_tokens:,} tokens")
        if self.n_steps + 1 >= limits.max_steps:
            return Allowance(True, False, _counted(limits.max_steps, "step"))
        if seconds >= ANSWER_SHARE * limits.max_seconds:
            return Allowance(True, False, self.time_limit)
        if tokens + prompt_tokens >= ANSWER_SHARE * limits.max_tokens:
            return Allowance(True, False, f"{limits.max_tokens:,} tokens")
        return Allowance()

    def allows_repair(self, prompt_tokens: int) -> bool:
        """Whether one more call with such a prompt may be made after the answer stands."""
        limits = self._limits
        return (
            self.n_steps < limits.max_steps
            and self.seconds_left() > 0
            and self.usage.total_tokens + prompt_tokens < limits.max_tokens
        )

    def add(self, usage: Usage) -> None:
        self.usage += usage
        self.n_steps += 1

    def answer_tokens(self, prompt_tokens: int) -> int:
        """How many tokens the next step may write."""
        left = self._limits.max_tokens - self.usage.total_tokens - prompt_tokens
        return max(1, min(self._limits.answer_tokens, left))

    def seconds_spent(self) -> float:
        return self._clock.monotonic() - self._started

    def seconds_left(self) -> float:
        return max(0.0, self._limits.max_seconds - self.seconds_spent())

    @property
    def time_limit(self) -> str:
        return _counted(int(self._limits.max_seconds), "second")


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
