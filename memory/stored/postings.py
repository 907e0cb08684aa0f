"""Postings by block and term. New ones are put behind those that are there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from django.db import connection

from memory.index_models import Posting

_TABLE = Posting._meta.db_table
_JOINED = {
    "sqlite": f"CAST({_TABLE}.data || excluded.data AS BLOB)",
    "postgresql": f"{_TABLE}.data || excluded.data",
}
_READ = ("block_id", "term", "data")
_ROWS_A_STATEMENT = 300


def append_postings(block_id: int, data: Mapping[str, bytes]) -> None:
    """Add to the postings of a block, by term, in as few statements as the database takes."""
    terms = sorted(data)  # one order for all writers
    joined = _JOINED[connection.vendor]
    with connection.cursor() as cursor:
        for start in range(0, len(terms), _ROWS_A_STATEMENT):
            some = terms[start : start + _ROWS_A_STATEMENT]
            values = ", ".join(["(%s, %s, %s)"] * len(some))
            cursor.execute(
                f"INSERT INTO {_TABLE} (block_id, term, data) VALUES {values} "  # noqa: S608 (a name of ours)
                f"ON CONFLICT (block_id, term) DO UPDATE SET data = {joined}",
                [value for term in some for value in (block_id, term, data[term])],
            )


def read_postings(blocks: Iterable[int], terms: Iterable[str]) -> list[tuple[int, str, bytes]]:
    """Block, term and postings, in one query."""
    rows = Posting.objects.filter(block_id__in=list(blocks), term__in=list(terms))
    return [(block, term, bytes(data)) for block, term, data in rows.values_list(*_READ)]
