"""LoCoMo (Maharana et al., ACL 2024): is a question's evidence still in the packed context?

The file is given by its path; it is licensed for research and is never shipped. A question has
evidence turns; ids that are malformed are mended where they name turns, else dropped. Categories 1
to 4 are asked (5 is adversarial: its questions have no true answer).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memory.bench.probes import Case, Probe
from memory.engine.values import Message

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}


def load_locomo(path: Path) -> list[Case]:
    """One case a conversation, in the order of the file."""
    return [
        _case(number, item)
        for number, item in enumerate(json.loads(path.read_text(encoding="utf-8")), 1)
    ]


def _case(number: int, item: Mapping[str, Any]) -> Case:
    messages = tuple(_messages(item["conversation"]))
    known = {str(message.id) for message in messages}
    probes = []
    for asked in item["qa"]:
        evidence = _evidence(asked.get("evidence", []), known)
        if evidence and asked["category"] in CATEGORIES:
            kind = CATEGORIES[asked["category"]]
            probes.append(Probe(str(asked["question"]), kind, evidence=evidence))
    return Case(f"conversation {number}", messages, tuple(probes))


def _messages(conversation: Mapping[str, Any]) -> Iterator[Message]:
    first = conversation["speaker_a"]
    numbers = sorted(
        int(match[1]) for key in conversation if (match := re.fullmatch(r"session_(\d+)", key))
    )
    for number in numbers:
        at = _time(conversation[f"session_{number}_date_time"])
        for turn in conversation[f"session_{number}"]:
            caption = turn.get("blip_caption")
            text = turn["text"] + (f" [image: {caption}]" if caption else "")
            role = "user" if turn["speaker"] == first else "assistant"
            yield Message(turn["dia_id"], role, text, at, turn["speaker"])  # type: ignore[arg-type]


def _time(text: str) -> datetime:
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


def _evidence(raw: list[str], known: set[str]) -> tuple[str, ...]:
    ids = [f"D{int(s)}:{int(t)}" for text in raw for s, t in re.findall(r"D(\d+):(\d+)", text)]
    return tuple(dict.fromkeys(name for name in ids if name in known))
