"""A view of vectors in any store that mem0 reaches."""

from ricordo.adapters.mem0.view import Mem0View

__all__ = ["Mem0View"]
