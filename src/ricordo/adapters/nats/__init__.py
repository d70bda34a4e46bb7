"""Events over NATS JetStream; needs the extra ``ricordo[nats]``."""

try:
    import cloudevents as _cloudevents
    import nats as _nats
except ImportError as error:
    raise ImportError(
        "nats-py and cloudevents are not installed; install the extra with: "
        "pip install 'ricordo[nats]'"
    ) from error

from ricordo.adapters.nats.access import Access
from ricordo.adapters.nats.connection import NatsConnection
from ricordo.adapters.nats.dead import DeadLetters
from ricordo.adapters.nats.envelope import Envelope, read_event, write_event
from ricordo.adapters.nats.exchange import NatsExchange, Wanted
from ricordo.adapters.nats.plan import Change, ConsumerPlan, StreamPlan, carry_out
from ricordo.adapters.nats.requests import NatsRequests
from ricordo.adapters.nats.signs import WORKERS, NatsSigns
from ricordo.adapters.nats.stream import NatsEvents

del _cloudevents, _nats

__all__ = [
    "WORKERS",
    "Access",
    "Change",
    "ConsumerPlan",
    "DeadLetters",
    "Envelope",
    "NatsConnection",
    "NatsEvents",
    "NatsExchange",
    "NatsRequests",
    "NatsSigns",
    "StreamPlan",
    "Wanted",
    "carry_out",
    "read_event",
    "write_event",
]
