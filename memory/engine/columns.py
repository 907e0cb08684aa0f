"""Growing arrays, one row a line: what the ranking needs of all lines at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Column:
    """A numpy array that grows by doubling. `values` is a view of the rows in use."""

    def __init__(self, dtype: type[np.generic], width: int = 0) -> None:
        self._rows: NDArray[Any] = np.zeros((64, width) if width else 64, dtype)
        self.size = 0

    @classmethod
    def of(cls, values: NDArray[Any]) -> Column:
        """A column that holds these rows."""
        column = cls(values.dtype.type)
        column._rows, column.size = values, len(values)
        return column

    def extend(self, rows: Any, count: int) -> None:
        """Append `count` rows: an array or sequence of them, or one value for all."""
        needed = self.size + count
        if needed > len(self._rows):
            bigger = np.zeros(
                (max(needed, 2 * len(self._rows)), *self._rows.shape[1:]), self._rows.dtype
            )
            bigger[: self.size] = self._rows[: self.size]
            self._rows = bigger
        self._rows[self.size : needed] = rows
        self.size = needed

    @property
    def values(self) -> NDArray[Any]:
        return self._rows[: self.size]

    def at(self, row: int) -> Any:
        """One value as Python's own number: far cheaper than by way of `values`."""
        return self._rows.item(row)
