"""Folders in which a test opens memories, all of one engine: a file in each, or a database of each
folder's own on a server, whose addresses lie in the folder (see `tests.support.opening`)."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Self

from tests.support.postgres import Server


class Places:
    """Makes such folders; their databases go back to the server at the end.

    Args:
        root: where the folders are made.
        server: None for files.
    """

    def __init__(self, root: Path, *, server: Server | None) -> None:
        self._root = root
        self._server = server
        self._lent: dict[Path, str] = {}
        self._copied: list[str] = []

    @property
    def engine(self) -> str:
        return "sqlite" if self._server is None else "postgres"

    def new(self, name: str) -> Path:
        """A folder with an empty memory."""
        folder = self._root / name
        folder.mkdir()
        self.prepare(folder)
        return folder

    def prepare(self, folder: Path) -> None:
        """Let an empty memory be opened in a folder that is there."""
        if self._server is not None:
            self._lent[folder] = self._server.ledger()
            self._tell(folder, self._lent[folder])

    def copy(self, source: Path, name: str) -> Path:
        """A folder with all that is in the memory of another one, which nobody has open."""
        folder = self._root / name
        shutil.copytree(source, folder)
        if self._server is not None:
            self._adopt(folder, self._server.copy(self._lent[source]))
        return folder

    def restored(self, source: Path, name: str) -> Path:
        """A folder with what a backup of another one's memory holds, which may be in use: taken and
        put back with the engine's own tools, as docs/deploy.md says."""
        folder = self._root / name
        folder.mkdir()
        if self._server is not None:
            dump = folder / "memories.dump"
            self._server.dump(self._lent[source], dump)
            self._adopt(folder, self._server.restore(dump))
            return folder
        with (
            closing(sqlite3.connect(source / "memory.db")) as used,
            closing(sqlite3.connect(folder / "memory.db")) as backup,
        ):
            used.backup(backup)
        return folder

    def _adopt(self, folder: Path, database: str) -> None:
        self._copied.append(database)
        self._tell(folder, database)

    def _tell(self, folder: Path, database: str) -> None:
        assert self._server is not None
        (folder / "address").write_text(self._server.url(database))
        (folder / "administrator").write_text(self._server.admin(database))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._server is not None:
            for name in self._lent.values():
                self._server.give_back(name)
            for name in self._copied:
                self._server.drop(name)
