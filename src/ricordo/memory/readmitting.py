"""Readers of ours that were retired, and come back."""

import logging

from ricordo.ports import Outbox

_log = logging.getLogger(__name__)


async def readmitted(outbox: Outbox, name: str) -> bool:
    """Let a reader of ours come back, if it was retired; whether it was. What it missed is told."""
    missed = await outbox.readmit(name)
    if missed is not None:
        told = "%s was retired and is back; %d events are gone that it never had"
        _log.warning(told, name, missed)
    return missed is not None
