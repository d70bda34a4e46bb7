"""The ledger's file itself, open beside SQLite's own handles.

POSIX locks belong to the process: closing any handle of a file drops every lock that the process
has on it, SQLite's too. So all ledgers of this process share one handle per file, and it is closed
when the last of them has closed its connections.
"""

import os
import threading
from dataclasses import dataclass
from pathlib import Path


@dataclass(slots=True)
class _Shared:
    handle: int
    users: int


class RawFiles:
    """The handles of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shared: dict[tuple[int, int], _Shared] = {}

    def hold(self, path: Path) -> "RawFile":
        """Open a file, or make an empty one; before SQLite does. Raises `OSError`."""
        with self._lock:
            if path.exists():
                status = path.stat()
                known = self._shared.get((status.st_dev, status.st_ino))
                if known is not None:
                    known.users += 1
                    return RawFile(self, (status.st_dev, status.st_ino), known.handle, path)
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0) | os.O_CLOEXEC
            # Others on this machine have no business in what is remembered of people.
            handle = os.open(path, flags, 0o600)
            status = os.fstat(handle)
            key = (status.st_dev, status.st_ino)
            self._shared[key] = _Shared(handle, users=1)
            return RawFile(self, key, handle, path)

    def release(self, key: tuple[int, int]) -> None:
        """One user less; the last one closes the handle."""
        with self._lock:
            shared = self._shared[key]
            shared.users -= 1
            if shared.users == 0:
                del self._shared[key]
                os.close(shared.handle)


class RawFile:
    """Reads and writes a file at given places, for one ledger."""

    def __init__(self, files: RawFiles, key: tuple[int, int], handle: int, path: Path) -> None:
        self._files = files
        self._key = key
        self._handle = handle
        self._path = path

    def in_place(self) -> bool:
        """Whether the path still leads to this file; what is written to a deleted one is lost."""
        try:
            status = self._path.stat()
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._key

    def size(self) -> int:
        """Length in bytes."""
        return os.fstat(self._handle).st_size

    def read(self, place: int, length: int) -> bytes:
        """`length` bytes from `place` on, fewer at the end."""
        return os.pread(self._handle, length, place)

    def write(self, place: int, data: bytes) -> None:
        """Overwrite what is at `place`."""
        os.pwrite(self._handle, data, place)

    def sync(self) -> None:
        """Return once what was written is on the disk."""
        os.fsync(self._handle)

    def release(self) -> None:
        """Give the handle back; call it after the connections were closed."""
        self._files.release(self._key)


FILES = RawFiles()
"""This process's; there can be only one, as the locks are the process's."""
