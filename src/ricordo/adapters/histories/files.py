"""Conversations in files, by the framework's `FileHistoryProvider`."""

import asyncio
from pathlib import Path

from agent_framework import FileHistoryProvider

from ricordo.adapters.histories.opened import Opened
from ricordo.errors import Unavailable
from ricordo.model import UserScope, owner_key


def open_files(folder: Path) -> Opened:
    """Conversations below `folder`, one file each. For one process: the files know no lock.

    They belong to the framework's experimental features, which says so once, as a warning.

    Raises:
        Unavailable: the folder cannot be made.
    """
    try:
        provider = FileHistoryProvider(folder)
    except OSError as error:
        raise Unavailable(
            f"the histories' folder {folder} cannot be used ({error.strerror})"
        ) from error
    return Opened(provider=provider, outside=FileConversations(folder))


class FileConversations:
    """Empties the framework's files of a person; each file's name begins with its owner's."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.name = "conversations (files)"
        self.remedy = f"delete the files of the person in {folder}"

    async def erase(self, *, scope: UserScope) -> int:
        """Delete the person's files; how many there were."""
        return await asyncio.to_thread(self._erase, owner_key(scope))

    async def count(self, *, scope: UserScope) -> int:
        """How many files of the person there are."""
        return len(await asyncio.to_thread(self._files, owner_key(scope)))

    def _erase(self, owner: str) -> int:
        found = self._files(owner)
        try:
            for file in found:
                file.unlink(missing_ok=True)
        except OSError as error:
            raise Unavailable(f"a file in {self._folder} cannot be deleted") from error
        return len(found)

    def _files(self, owner: str) -> list[Path]:
        try:
            return sorted(self._folder.glob(f"{owner}.*"))
        except OSError as error:
            raise Unavailable(f"the folder {self._folder} cannot be read") from error
