"""How views outside name things: by hashes of the ledger's own keyed hashes, in hex digits."""

import hashlib

from ricordo.model.scope import Partition

_DIGITS = 32


def part_key(scope_key: str, partition: Partition) -> str:
    """The key of a partition, of the keyed hash of its scope."""
    return _digest(scope_key, partition.kind.value, partition.agent or "")


def point_version(part: str, vector: bytes) -> str:
    """Changes with the vector; begins as the partition's key does, so that parts can be told."""
    return f"{part[:16]}{hashlib.sha256(vector).hexdigest()[:16]}"


def is_of_part(version: str, part: str) -> bool:
    """Whether a version is one of a point of that partition."""
    return version[:16] == part[:16]


def entry_version(*content: object) -> str:
    """Changes with any of the content."""
    return _digest(*map(repr, content))


def name_seed(tenant: str, key: str) -> str:
    """What is sealed for a normalised name: equal in all scopes of a tenant, and in no other."""
    return f"{tenant}\0{key}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:_DIGITS]
