"""One list of checks, asked at the same time; each has a time limit and ends in one finding."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from contextvars import copy_context
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeVar

from django.db import connections

logger = logging.getLogger("lumina.selfcheck")

Level = Literal["ok", "warning", "failure"]
Result = TypeVar("Result")

_SEVERITY: tuple[Level, ...] = ("failure", "warning", "ok")
_SHORTEST_SECRET = 4  # anything shorter occurs in ordinary words


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found, in a sentence; `fix` is the command or the setting that helps."""

    level: Level
    sentence: str
    fix: str = ""
    subject: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def ok(sentence: str, fix: str = "") -> Finding:
    return Finding("ok", sentence, fix)


def warning(sentence: str, fix: str) -> Finding:
    return Finding("warning", sentence, fix)


def failure(sentence: str, fix: str) -> Finding:
    return Finding("failure", sentence, fix)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """`fix` is for when there is no answer within `seconds`, or an unforeseen fault."""

    subject: str
    ask: Callable[[], Awaitable[Finding]]
    seconds: float
    fix: str


async def run_checks(checks: Sequence[Check], *, secrets: Iterable[str] = ()) -> list[Finding]:
    """A finding for each check, in the same order; takes as long as the slowest, never longer
    than its limit. None of `secrets` is in a text."""
    hidden = sorted({one for one in secrets if len(one) >= _SHORTEST_SECRET}, key=len, reverse=True)
    found = await asyncio.gather(*map(_asked, checks))
    return [_without(finding, hidden) for finding in found]


def verdict(found: Sequence[Finding]) -> str:
    """All findings in one sentence."""
    failures = sum(finding.level == "failure" for finding in found)
    warnings = sum(finding.level == "warning" for finding in found)
    if not failures and not warnings:
        return "Everything works."
    counts = [_counted(failures, "failure"), _counted(warnings, "warning")]
    return f"{' and '.join(filter(None, counts))}."


def worst_first(found: Sequence[Finding]) -> list[Finding]:
    return sorted(found, key=lambda finding: _SEVERITY.index(finding.level))


def _counted(n: int, word: str) -> str:
    return f"{n} {word}{'' if n == 1 else 's'}" if n else ""


async def _asked(check: Check) -> Finding:
    try:
        async with asyncio.timeout(check.seconds):
            finding = await check.ask()
    except TimeoutError:
        finding = failure(f"No answer within {check.seconds:g} seconds.", check.fix)
    except Exception as error:  # an edge of the program: a broken part is what is looked for here
        logger.warning("The check of %s failed: %s", check.subject, type(error).__name__)
        finding = failure(f"It cannot be used ({type(error).__name__}).", check.fix)
    return replace(finding, subject=check.subject)


def _without(finding: Finding, secrets: Sequence[str]) -> Finding:
    sentence, fix = finding.sentence, finding.fix
    for secret in secrets:
        sentence, fix = sentence.replace(secret, "•••"), fix.replace(secret, "•••")
    return replace(finding, sentence=sentence, fix=fix)


async def in_thread(work: Callable[[], Result]) -> Result:
    """Runs blocking work in a thread of its own, which keeps nobody waiting when it hangs."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Result] = loop.create_future()

    def deliver(put: Callable[[Any], None], value: Any) -> None:
        connections.close_all()
        with suppress(RuntimeError):  # nobody waits any more, the loop is closed
            loop.call_soon_threadsafe(lambda: None if done.done() else put(value))

    def run() -> None:
        try:
            result = work()
        except Exception as error:
            deliver(done.set_exception, error)
        else:
            deliver(done.set_result, result)

    here = copy_context()  # the request's id goes along
    threading.Thread(target=here.run, args=(run,), name="self-check", daemon=True).start()
    return await done
