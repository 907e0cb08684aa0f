"""Paths as lists of blocks: which rows of the index belong to one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from memory.index_models import Mark

Chain = dict[int, int]
"""The blocks of a path in order, each with the number of its parts that belong to the path."""


def chain_of(links: Iterable[Sequence[int]]) -> Chain:
    return {link[0]: link[1] for link in links}


def path_to(mark: Mark) -> Chain:
    """The whole path that ends with a message."""
    return {**chain_of(mark.block.chain), mark.block_id: mark.end}


def holds(chain: Chain, block: int, position: int) -> bool:
    return position < chain.get(block, 0)


def on_path(rows: Iterable[Any], chain: Chain) -> list[Any]:
    """Of rows with a block and a position those that belong to the path."""
    return [row for row in rows if holds(chain, row.block_id, row.position)]


def place_of(block: Any, position: Any) -> Any:
    """Block and position in one number, or arrays of both. A block has far fewer parts than it
    leaves room for."""
    return block << 16 | position
