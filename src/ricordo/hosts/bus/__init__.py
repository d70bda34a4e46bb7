"""Requests from other programs over a message bus: observe, recall, document, forget."""

from ricordo.hosts.bus.answering import Answering
from ricordo.hosts.bus.serving import Service

__all__ = ["Answering", "Service"]
