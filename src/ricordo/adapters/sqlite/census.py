"""Counts what a ledger holds, for those who operate it."""

import sqlite3
from pathlib import Path

from ricordo.model import Cell, Census, Kind, Own, Status, Storage


def census(connection: sqlite3.Connection, *, number: int | None, log: Path) -> Census:
    """What is held of the scope of that number, or of all.

    Args:
        log: the write-ahead log's path.
    """
    where = "" if number is None else "where scope_id = :number"
    values = {"number": number}
    partitions, largest = connection.execute(
        f"select count(nullif(size, 0)), coalesce(max(size), 0) from partitions {where}", values
    ).fetchone()
    (events,) = connection.execute(f"select count(*) from outbox {where}", values).fetchone()
    return Census(
        cells=tuple(
            Cell(of=of, kind=Kind(kind), status=Status(status), count=count)
            for of, kind, status, count in connection.execute(
                "select s.kind, m.kind, m.status, count(*) from memories m "
                f"join scopes s on s.id = m.scope_id {where} "
                "group by s.kind, m.kind, m.status order by s.kind desc, m.kind desc, m.status",
                values,
            )
        ),
        partitions=partitions,
        largest=largest,
        events=events,
        behind={} if number is not None else _behind(connection),
        storage=None if number is not None else _storage(connection, log),
        own=None if number is None else _own(connection, number),
    )


def _own(connection: sqlite3.Connection, number: int) -> Own:
    [texts], [index] = (
        connection.execute(
            f"select coalesce(sum({of}), 0) from {place} where scope_id = ?", [number]
        )
        for of, place in (
            ("length(cast(text as blob))", "memories"),
            ("length(vector) + length(terms) + length(counts)", "memory_index"),
        )
    )
    return Own(texts=texts[0], index=index[0])


def _behind(connection: sqlite3.Connection) -> dict[str, int]:
    return dict(
        connection.execute(
            "select c.name, (select count(*) from outbox o where o.position > c.position) "
            "from consumers c where c.retired_at is null order by c.name"
        )
    )


def _storage(connection: sqlite3.Connection, log: Path) -> Storage:
    pages, free, size = (
        connection.execute(f"pragma {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    try:
        logged = log.stat().st_size
    except FileNotFoundError:
        logged = 0
    return Storage(file=pages * size, log=logged, free=free * size)
