"""What takes part in choosing lines, and the constants. Every one is a bet: the bench switches
each off in turn and reports what it was worth (`docs/MEMORY.md`, ablations)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """One configuration serves every history; only the bench makes others."""

    before: tuple[float, ...] = (0.42, 0.29, 0.2, 0.14)
    """What a term in the line 1, 2, … before counts for a line; its own counts 1."""
    after: tuple[float, ...] = (0.31, 0.22, 0.15, 0.1)
    """The same for the lines after it."""
    enclosing: float = 0.7
    """What a term in a line or a heading that encloses it counts for a line."""
    heading: float = 1.0
    """What a term in its speaker, date, tool and target counts for a line."""
    named_speaker: float = 0.3
    """Share of the best score that a line gets for the speaker whom the question names."""
    said: float = 0.4
    """Share of the best score that a line gets for being said by the user and not printed by a
    tool, where there is tool output: of both, what was said is far likelier to be asked for."""
    rrf_k: int = 10
    """Below the 60 of the paper: of two rankings that miss different things, the first few of each
    should get in, and a tight budget holds no more than a few."""
    ranked: int = 2200
    """So many lines of each ranking take part in the fusion. Far down a rank in one says nothing:
    without a limit an eighth of a session lost a fact that it kept with one, and with 1500 half of
    one lost what stood behind them in both."""
    encode_output: bool = True
    """Whether what tools printed gets vectors: it takes most of an encoder's time."""
    named_similar: float = 0.1
    """What being said by the speaker whom the question names adds to a similarity."""
    late: int = 400
    """So many of the best lines are ranked again by late interaction."""
    once: bool = True
    """Show identical lines once."""
    supersede: bool = True
    dates: bool = True
    ledger: bool = True
    follow_up: float = 0.5
    """What the terms of the turn before count when a question cannot stand alone."""
    keyword: float = 1.5
    """What a keyword of code that stands for a word of the question (`code_words.py`) counts in the
    line that has it: it tells lines of one kind from those round them."""
    keyword_near: float = 0.4
    """What it counts beside that as any other term does, in the line and round it."""
