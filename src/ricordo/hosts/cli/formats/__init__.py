"""Files that can be imported, each read into the same items."""

from ricordo.hosts.cli.formats.items import Context, Item, Line
from ricordo.hosts.cli.formats.opening import Format, Opened, open_file

__all__ = ["Context", "Format", "Item", "Line", "Opened", "open_file"]
