"""How events are named and written on a message bus: subjects, types, data; no vendor in it.

What leaves here tells what happened by ids and origins. It holds no memory's text, and no person's
id: people are named by the ledger's keyed hash, so that nobody can read from a subject or a message
who is remembered, and everything about one person still has one name.
"""

from ricordo.wire.asking import (
    ASK_VERSION,
    AUTHORIZATION,
    DEADLINE,
    AskData,
    answerable,
    ask_pattern,
    ask_subject,
    read_ask,
    read_ask_subject,
    read_deadline,
    write_answer,
    write_error,
)
from ricordo.wire.data import data_of, event_from, people, time_read, time_written
from ricordo.wire.fitting import LEAST, LEFT_OUT, ROOM, room_in
from ricordo.wire.naming import (
    VERSION,
    Name,
    event_subject,
    kind_of,
    name_of,
    person_events,
    schema_of,
    source_of,
    subject_key,
    tenant_events,
    type_of,
)
from ricordo.wire.permissions import Permissions, consumer_of, permissions_of, shared, written
from ricordo.wire.tokens import COMMON, token, value_of
from ricordo.wire.working import (
    SignData,
    check_version,
    dead_subject,
    read_object,
    read_sign,
    work_pattern,
    work_subject,
    write_dead,
    write_sign,
)

__all__ = [
    "ASK_VERSION",
    "AUTHORIZATION",
    "COMMON",
    "DEADLINE",
    "LEAST",
    "LEFT_OUT",
    "ROOM",
    "VERSION",
    "AskData",
    "Name",
    "Permissions",
    "SignData",
    "answerable",
    "ask_pattern",
    "ask_subject",
    "check_version",
    "consumer_of",
    "data_of",
    "dead_subject",
    "event_from",
    "event_subject",
    "kind_of",
    "name_of",
    "people",
    "permissions_of",
    "person_events",
    "read_ask",
    "read_ask_subject",
    "read_deadline",
    "read_object",
    "read_sign",
    "room_in",
    "schema_of",
    "shared",
    "source_of",
    "subject_key",
    "tenant_events",
    "time_read",
    "time_written",
    "token",
    "type_of",
    "value_of",
    "work_pattern",
    "work_subject",
    "write_answer",
    "write_dead",
    "write_error",
    "write_sign",
    "written",
]
