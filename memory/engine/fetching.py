"""What a history is told before it is asked.

A history in memory has everything at hand and does nothing. One that lies elsewhere fetches here
what the next steps will read, at once and in few pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

_PIECE = 256
"""Rows looked at before the next are asked for: most budgets are full by then."""


class AtHand:
    def read_terms(self, terms: Iterable[str]) -> None:
        """These terms are about to be looked up."""

    def before_ranking(self, terms: Iterable[str]) -> None:
        """All lines are about to be ranked for these terms."""

    def read_entries(self, numbers: Sequence[int]) -> None:
        """The messages of these numbers are about to be read whole."""

    def read_ahead(self, rows: NDArray[np.int64], left: int) -> int:
        """How many of these rows, best first, are at hand now, where `left` tokens may be filled
        with them: at least one of any."""
        return min(len(rows), _PIECE)

    def read_tokens(self, rows: NDArray[np.int64]) -> None:
        """The token vectors of these rows are about to be compared with the question's."""

    def before_reasons(self, rows: Sequence[int]) -> None:
        """These rows are packed: `times` of them comes next."""
