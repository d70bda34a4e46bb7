"""Origins, as they are stored beside memories and relations."""

import json
from typing import Any

from ricordo.columns.times import micros, moment
from ricordo.model import Origin

COLUMNS = "at, agent, thread_id, display_id, run_id, author, message_ids, quote"
"""The columns that hold an origin, in the order of `origin_values`."""


def origin_values(origin: Origin) -> tuple[Any, ...]:
    """An origin as column values."""
    return (
        micros(origin.at),
        origin.agent,
        origin.thread_id,
        origin.display_id,
        origin.run_id,
        origin.author,
        json.dumps(origin.message_ids) if origin.message_ids else None,
        origin.quote,
    )


def origin_from(values: tuple[Any, ...]) -> Origin:
    """An origin from its column values."""
    at, agent, thread_id, display_id, run_id, author, message_ids, quote = values
    return Origin(
        at=moment(at),
        agent=agent,
        thread_id=thread_id,
        display_id=display_id,
        run_id=run_id,
        author=author,
        message_ids=tuple(json.loads(message_ids)) if message_ids else (),
        quote=quote,
    )
