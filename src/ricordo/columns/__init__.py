"""Values as columns of a relational ledger, and back: what the ledgers on SQL engines share.

Both engines keep the same columns with the same contents, so that a row means the same in each of
them and can move from one to the other.
"""
