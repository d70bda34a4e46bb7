"""Arrays that grow at their end while earlier, shorter views stay as they were."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Growing:
    """An array of rows in a buffer that doubles when it is full.

    Growing leaves every earlier `Growing` of the same buffer intact, for its rows are never written
    again. The history must be a line: only the newest may grow, and by one caller at a time.
    """

    __slots__ = ("_buffer", "values")

    def __init__(self, values: NDArray[Any], *, buffer: NDArray[Any] | None = None) -> None:
        self.values = values
        self._buffer = values if buffer is None else buffer

    @property
    def nbytes(self) -> int:
        """Bytes of the whole buffer."""
        return self._buffer.nbytes

    def extended(self, more: NDArray[Any]) -> "Growing":
        """With these rows at its end."""
        if not len(more):
            return self
        size, total = len(self.values), len(self.values) + len(more)
        buffer = self._buffer
        if total > len(buffer):
            buffer = np.empty((max(total, 2 * size), *self.values.shape[1:]), self.values.dtype)
            buffer[:size] = self.values
        buffer[size:total] = more
        return Growing(buffer[:total], buffer=buffer)
