"""The embedded ledger: everything in one SQLite file, with the standard library only."""

from ricordo.adapters.sqlite.ledger import Opening, SqliteLedger

__all__ = ["Opening", "SqliteLedger"]
