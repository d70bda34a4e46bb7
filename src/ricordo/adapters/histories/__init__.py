"""The framework's own stores of conversations, opened by address and emptied of a person."""

from ricordo.adapters.histories.cosmos import open_cosmos
from ricordo.adapters.histories.files import FileConversations, open_files
from ricordo.adapters.histories.opened import Opened
from ricordo.adapters.histories.server import open_redis

__all__ = ["FileConversations", "Opened", "open_cosmos", "open_files", "open_redis"]
