"""Overwriting what deleted rows leave in the unused part of pages.

`secure_delete` zeroes what is deleted where it lies. But when SQLite splits or joins pages it
leaves copies of moved rows in a page's unused gap, and knows nothing of them any more: the text of
a row deleted later can still be read there. So every page that a checkpoint moves into the file has
its gap zeroed afterwards. The cost follows what was changed, not the size of the file.
"""

from collections.abc import Iterable
from pathlib import Path

from ricordo.adapters.sqlite.rawfile import RawFile

_LOG_HEADER = 32
_FRAME_HEADER = 24
_FILE_HEADER = 100
_INTERIOR = (2, 5)
_LEAF = (10, 13)
_AT_ONCE = 1 << 20
_MOST_PAGES = 1 << 24
"""Beyond, a page's first byte no longer tells a tree's page from an overflow page."""


def logged_pages(log: Path) -> set[int]:
    """Numbers of the pages that have a frame in the write-ahead log, used or outdated."""
    pages: set[int] = set()
    if not log.exists():
        return pages
    # No lock lies on the log itself, so it may be opened and closed.
    with log.open("rb", buffering=_AT_ONCE) as file:
        header = file.read(_LOG_HEADER)
        if len(header) < _LOG_HEADER:
            return pages
        step = _FRAME_HEADER + _page_size(int.from_bytes(header[8:12], "big"))
        most = step * max(_AT_ONCE // step, 1)
        while frames := file.read(most):
            frames = frames[: len(frames) // step * step]
            numbers = zip(*(frames[place::step] for place in range(4)), strict=True)
            pages.update((a << 24) | (b << 16) | (c << 8) | d for a, b, c, d in numbers)
    return pages


def wipe(file: RawFile, pages: Iterable[int]) -> int:
    """Zero the gaps of these pages; returns how many held something.

    Nothing may be moving pages into the file meanwhile; see `Sweeper`.
    """
    size = _page_size(int.from_bytes(file.read(16, 2), "big"))
    count = file.size() // size
    if count >= _MOST_PAGES:
        return 0
    wiped = 0
    for number in sorted(page for page in pages if 1 <= page <= count):
        place = (number - 1) * size
        page = file.read(place, size)
        start, end = gap(page, first=number == 1)
        if page[start:end].strip(b"\0"):
            file.write(place + start, bytes(end - start))
            wiped += 1
    if wiped:
        file.sync()
    return wiped


def gap(page: bytes, *, first: bool) -> tuple[int, int]:
    """Where a tree's page holds nothing: between its list of cells and the cells themselves.

    (0, 0) for a page that is not one of a tree.
    """
    header = _FILE_HEADER if first else 0
    sort = page[header]
    if sort not in _INTERIOR + _LEAF:
        return 0, 0
    cells = int.from_bytes(page[header + 3 : header + 5], "big")
    end = int.from_bytes(page[header + 5 : header + 7], "big") or 65536
    start = header + (12 if sort in _INTERIOR else 8) + 2 * cells
    return (start, end) if start <= end <= len(page) else (0, 0)


def _page_size(stored: int) -> int:
    return 65536 if stored == 1 else stored
