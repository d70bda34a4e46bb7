"""The Microsoft Agent Framework's own clients as ports: embedding and extraction."""

from ricordo.adapters.framework.embedding import FrameworkEmbedder
from ricordo.adapters.framework.extractor import FrameworkExtractor

__all__ = ["FrameworkEmbedder", "FrameworkExtractor"]
