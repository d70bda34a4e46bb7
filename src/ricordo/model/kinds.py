"""The small closed vocabularies of the model."""

from enum import StrEnum


class Kind(StrEnum):
    """A preference belongs to the agent that learned it; a fact is known to all agents."""

    PREFERENCE = "preference"
    FACT = "fact"


class Status(StrEnum):
    """Where a memory stands; only active memories are recalled."""

    PROPOSED = "proposed"
    """Waits for a person."""
    ACTIVE = "active"
    SUPERSEDED = "superseded"
    """A newer value took its place; found only by questions about the past."""
    REJECTED = "rejected"
    """A person said no; kept so that it is not proposed again, until forgotten."""


class Source(StrEnum):
    """How a memory came to be."""

    INFERRED = "inferred"
    """A model extracted it from a conversation."""
    SAID = "said"
    """A user or their agent stored it outright."""
    DOCUMENTED = "documented"
    """A curator wrote it for an organization."""
    IMPORTED = "imported"
    """It came from a file."""


class Sensitivity(StrEnum):
    """How carefully a memory must be handled."""

    NORMAL = "normal"
    PERSONAL = "personal"
    SPECIAL = "special"
    """Special categories of personal data (GDPR article 9): health, belief, orientation …"""


class Rule(StrEnum):
    """The integrity rules of the graph; each refusal names one."""

    ENDS = "a-ends"
    """Both ends are named in the proposal or known in the scope."""
    NAMES = "b-names"
    """A name is a name: no pronoun, placeholder, blank or oversized text."""
    VOCABULARY = "c-vocabulary"
    """The relation is in the vocabulary, or the vocabulary is open."""
    TYPES = "d-types"
    """The ends' types fit the relation's domain and range."""
    SELF_LOOP = "e-self-loop"
    """No relation from an entity to itself, unless declared reflexive."""
    CARDINALITY = "f-cardinality"
    """A single-valued relation has one current value; a new one closes the old."""
    HIERARCHY = "g-hierarchy"
    """A hierarchical relation has no cycle."""
    SCOPE = "h-scope"
    """A relation stays inside its scope, and a preference has none."""
    EVIDENCE = "i-evidence"
    """A relation has evidence; the same relation again adds an origin, not an edge."""
