"""Making one summary from its messages: by the model if there is one, else quoted.

A failure is told, and changes nothing else. After the last try that failed, what the model should
have written is quoted, so that a span does not stay without a summary for ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from memory.engine.extracting import Weights, extracted, extractive_summary
from memory.engine.sentences import sentences
from memory.engine.summaries import Item, Summary, limit_tokens
from memory.engine.summary_reading import Read, combined_summary, read_summary
from memory.engine.tokens import estimate_tokens
from memory.engine.transcript import Chunk, chunked, instructions
from memory.engine.values import Message
from memory.ports import MessageReader
from memory.private import screen
from memory.summary_ports import Means, Summariser, SummaryFailed, SummaryLimits, is_own
from memory.summary_store import Job, Made

_BATCH = 50
# A span this short is quoted: a model would write no less than it reads.
_WORTH_A_MODEL = 120
_LEAST_ANSWER, _LEAST_CHUNK = 140, 300
_NOTHING = "The model's summary held nothing that the conversation says."


def made(job: Job, means: Means, limits: SummaryLimits) -> Made:
    """The summary that a claimed row asks for. Raises SummaryFailed."""
    messages = list(_originals(job, means.reader))
    long_enough = sum(estimate_tokens(one.text) for one in messages) > _WORTH_A_MODEL
    summariser = means.summariser() if long_enough else None
    if summariser is not None:
        try:
            return _written(messages, summariser, limits, job.tries)
        except SummaryFailed as failure:
            if not job.is_last_try:
                raise
            error = f"{failure} After {job.tries} tries it is quoted instead."
            return _quoted(messages, limits, error)
    return _quoted(messages, limits)


def _originals(job: Job, reader: MessageReader) -> Iterator[Message]:
    """The span's messages; of what was read, the address alone."""
    for start in range(0, len(job.message_ids), _BATCH):
        batch = job.message_ids[start : start + _BATCH]
        found = {one.pk: one for one in reader.read(batch)}
        for message_id in batch:
            one = found.get(message_id)
            if one is not None and is_own(one, job.owner_id, job.conversation_id):
                for part in one.parts:
                    yield replace(part, text="") if part.role == "tool" else part


def _screened(text: str) -> str:
    """The text without passwords, keys and other people's numbers: a line that has one keeps its
    other sentences."""
    if _may_keep(text):
        return text
    if not screen(text).text:  # a key over several lines spoils all of them
        return ""
    kept = []
    for line in text.split("\n"):
        told = [line] if _may_keep(line) else [one for one in sentences(line) if _may_keep(one)]
        kept += [" ".join(told)] if told else []
    return "\n".join(kept)


def _may_keep(text: str) -> bool:
    return screen(text, said=text).left_out == ()


def _quoted(messages: Sequence[Message], limits: SummaryLimits, error: str = "") -> Made:
    summary = extractive_summary(messages, limits.tokens, estimate_tokens, _may_keep)
    return _dated(messages, summary, error=error)


def _written(
    messages: Sequence[Message], summariser: Summariser, limits: SummaryLimits, tries: int
) -> Made:
    messages = [replace(one, text=_screened(one.text)) for one in messages]
    # A chunk may be too long for what the server really takes: each try reads shorter ones.
    size = max(_LEAST_CHUNK, limits.chunk_tokens // tries)
    chunks = chunked(messages, size, estimate_tokens)
    limit = limit_tokens(
        len(messages), sum(estimate_tokens(one.text) for one in messages), limits.tokens
    )
    per_chunk = max(_LEAST_ANSWER, 3 * limit // (2 * len(chunks)))
    answers = summariser.answers(
        instructions(per_chunk), [one.text for one in chunks], max_tokens=limits.answer_tokens
    )
    reads = _read(messages, chunks, answers)
    summary = combined_summary(messages, reads, limits.tokens, estimate_tokens, _may_keep)
    return _dated(messages, summary, model_name=summariser.name)


def _read(
    messages: Sequence[Message], chunks: Sequence[Chunk], answers: Sequence[str]
) -> list[Read]:
    """What the answers hold. A chunk of which the model wrote nothing true is quoted, as long as
    it wrote something of another."""
    weights = Weights.of(messages)
    reads = [
        read_summary(answer, chunk, weights) for chunk, answer in zip(chunks, answers, strict=True)
    ]
    if not any(read.items for read in reads):
        raise SummaryFailed(_NOTHING)
    return [
        read if read.items else replace(read, items=_quotes(chunk))
        for read, chunk in zip(reads, chunks, strict=True)
    ]


def _quotes(chunk: Chunk) -> tuple[Item, ...]:
    return tuple(
        replace(item, place=(chunk.numbers[item.place[0]], item.place[1]))
        for item in extracted(chunk.messages)
    )


def _dated(
    messages: Sequence[Message], summary: Summary, *, model_name: str = "", error: str = ""
) -> Made:
    said = [one.at for one in messages if one.at]
    return Made(
        summary=summary,
        first_at=min(said, default=None),
        last_at=max(said, default=None),
        model_name=model_name,
        error=error,
    )
