"""The ledger on PostgreSQL: one server for many processes, rows guarded by scope in the server."""

try:
    import psycopg as _psycopg
    import psycopg_pool as _psycopg_pool
except ImportError as error:
    raise ImportError(
        "a memory on PostgreSQL needs psycopg: pip install 'ricordo[postgres]'"
    ) from error

from ricordo.adapters.postgres.ledger import Opening, PostgresLedger

__all__ = ["Opening", "PostgresLedger"]

del _psycopg, _psycopg_pool
