"""Moving the log into the file, and wiping behind."""

import random
import sqlite3
import time
from pathlib import Path

from ricordo.adapters.sqlite.rawfile import RawFile
from ricordo.adapters.sqlite.wiping import logged_pages, wipe

LOG_BYTES = 4 * 1024 * 1024
"""A longer log is moved into the file."""

COMMITS = 64
"""After so many commits a long log is moved again."""


class Sweeper:
    """Does every checkpoint of this process. Used on the writer's thread only.

    Args:
        writer: takes the write lock.
        mover: a second connection that may write.
        file: the ledger's file.
        log: the write-ahead log beside it.
    """

    def __init__(
        self, writer: sqlite3.Connection, mover: sqlite3.Connection, *, file: RawFile, log: Path
    ) -> None:
        self._writer = writer
        self._mover = mover
        self._file = file
        self._log = log
        self._swept = 0
        self._commits = 0
        self._clean: int | None = None

    def in_place(self) -> bool:
        """Whether the file is still where it was opened."""
        return self._file.in_place()

    def committed(self) -> None:
        """Note a commit, and sweep when the log has grown long.

        The log's file keeps its length when it is written anew from its beginning. So, once it is
        long, it is due when it grew further, or after some commits.
        """
        self._commits += 1
        length = self._length()
        if length <= LOG_BYTES or (length <= self._swept and self._commits < COMMITS):
            return
        if self.sweep():
            self._swept, self._commits = length, 0
            if length > 4 * LOG_BYTES and self._cut():
                self._swept = 0

    def sweep(self, *, patience: float = 0) -> bool:
        """Move the log into the file and wipe the pages moved; False if somebody is in the way.

        While we hold the write lock nobody adds to the log; once all of it is in the file, nobody
        else writes to the file either, so that its pages can be wiped.
        """
        if not begin(self._writer, patience=patience):
            return False
        try:
            pages = logged_pages(self._log)
            busy, logged, moved = self._mover.execute("pragma wal_checkpoint(passive)").fetchone()
            if busy or logged != moved:
                return False
            wipe(self._file, pages)
            self._clean = self._version()
            return True
        finally:
            self._writer.execute("rollback")

    def empty(self, *, patience: float) -> bool:
        """Sweep, then cut the log to nothing; False if somebody is in the way."""
        until = time.monotonic() + patience
        while True:
            swept = self._version() == self._clean
            if (swept or self.sweep(patience=until - time.monotonic())) and self._cut():
                return True
            if time.monotonic() > until:
                return False
            time.sleep(0.005)

    def close(self) -> None:
        """Leave as little as possible to the checkpoint that SQLite does by itself at the end."""
        try:
            self.sweep()
        finally:
            self._mover.close()

    def _cut(self) -> bool:
        pages = logged_pages(self._log)
        clean = self._clean
        if self._mover.execute("pragma wal_checkpoint(truncate)").fetchone()[0]:
            return False
        if clean is not None and self._version() == clean:
            return True
        # Another process may have written since the sweep; its pages went along.
        return not pages or (self._length() == 0 and self._again(pages))

    def _again(self, pages: set[int]) -> bool:
        if not begin(self._writer, patience=0):
            return False
        try:
            if self._length() > 0:
                return False
            wipe(self._file, pages)
            return True
        finally:
            self._writer.execute("rollback")

    def _version(self) -> int:
        """A number that changes with every commit, whoever makes it; nothing is moved by others
        without one."""
        return self._mover.execute("pragma data_version").fetchone()[0]

    def _length(self) -> int:
        return self._log.stat().st_size if self._log.exists() else 0


def begin(connection: sqlite3.Connection, *, patience: float) -> bool:
    """Become the writer, within `patience` seconds. SQLite's own waiting backs off so far that it
    may starve, so the connection must not wait by itself."""
    until = time.monotonic() + patience
    while True:
        try:
            connection.execute("begin immediate")
            return True
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
        if time.monotonic() > until:
            return False
        time.sleep(random.uniform(0.0005, 0.002))
