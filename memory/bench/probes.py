"""A probe: one question, what the packed context must hold, and what it must not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from memory.engine.frames import GONE
from memory.engine.values import Message


@dataclass(frozen=True, slots=True)
class Probe:
    """`needs` are rows that must all be there, `absent` rows of which none may be; compared
    without the white space and the line number round them. `holds` are texts that must occur.
    `evidence` names the messages that answer, for histories measured by message."""

    question: str
    kind: str
    wording: str = "exact"
    needs: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """One history with the questions asked at its end."""

    name: str
    messages: tuple[Message, ...]
    probes: tuple[Probe, ...]
    now: datetime | None = None


_FRAME = re.compile(r"^(?:[-+] )?(?:\d+[ \t]+)?")


def bare_row(row: str) -> str:
    """A row without indentation, a tool's line number or the mark of a change."""
    return _FRAME.sub("", row.strip().removesuffix(GONE)).strip()


def is_kept(probe: Probe, shown: str) -> bool:
    """Whether a packed text answers the probe."""
    rows = {bare_row(row) for row in shown.splitlines()}
    return (
        all(bare_row(row) in rows for row in probe.needs)
        and not any(bare_row(row) in rows for row in probe.absent)
        and all(text in shown for text in probe.holds)
    )
