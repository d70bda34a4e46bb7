"""What a tenant's subscribers may do at a NATS server: hear their own events, and nothing else."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ricordo.errors import Invalid
from ricordo.wire.asking import ask_subject
from ricordo.wire.naming import tenant_events
from ricordo.wire.tokens import token


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    """Subjects, as a NATS server's configuration has them.

    Args:
        publish: what may be published to; everything else is denied.
        subscribe: what may be subscribed to; everything else is denied.
        inbox: first part of the subjects on which answers come; the client must be told.
    """

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]
    inbox: str


_NAME = re.compile(r"[A-Za-z0-9-]{1,64}")


def consumer_of(tenant: str | None, name: str) -> str:
    """The name of a durable consumer of one tenant's events; of all tenants' for None.

    No two have the same: after the last ``_`` stands the name, which holds none; before it the
    tenant's token, and ``=``, which is no tenant's, for all of them.

    Raises:
        Invalid: of a name that could be taken for another tenant's.
    """
    if not _NAME.fullmatch(name):
        raise Invalid(
            f"consumer {name[:40]!a} may have letters, digits and - only, 64 characters at most"
        )
    return f"{token(tenant)}_{name}"


def permissions_of(
    tenant: str,
    *,
    prefix: str,
    stream: str,
    consumers: Sequence[str] = (),
    asking: bool = False,
) -> Permissions:
    """What the subscribers of one tenant need.

    A tenant may not make consumers of its own: whoever may, chooses what they read. Answers come on
    an inbox of the tenant's own, for on a common one each could listen to the others.

    Args:
        stream: of all events.
        consumers: names under which `ricordo events init --consumer` made them.
        asking: whether they may make requests; as whom, says the token of each request.
    """
    inbox = f"_INBOX_{token(tenant)}"
    publish = [ask_subject(tenant, prefix=prefix, what="*")] if asking else []
    for name in consumers:
        consumer = f"{stream}.{consumer_of(tenant, name)}"
        publish += [
            f"$JS.API.CONSUMER.INFO.{consumer}",
            f"$JS.API.CONSUMER.MSG.NEXT.{consumer}",
            f"$JS.ACK.{consumer}.>",
        ]
    return Permissions(
        publish=tuple(publish),
        subscribe=(tenant_events(tenant, prefix=prefix), f"{inbox}.>"),
        inbox=inbox,
    )


def written(permissions: Permissions) -> str:
    """As a server's configuration has them, for one of its users."""

    def listed(subjects: Sequence[str]) -> str:
        return ", ".join(f'"{subject}"' for subject in subjects)

    # An empty list would allow everything.
    publish = f"allow: [{listed(permissions.publish)}]" if permissions.publish else 'deny: ">"'
    return (
        "permissions: {\n"
        f"  publish: {{ {publish} }}\n"
        f"  subscribe: {{ allow: [{listed(permissions.subscribe)}] }}\n"
        "}"
    )


def shared(permissions: Permissions, *, account: str, own: str) -> str:
    """The same for a tenant with an account of its own: as a server's configuration has accounts.

    Args:
        account: the tenant's, by the name that it has in the configuration.
        own: Ricordo's.
    """
    streams = [subject for subject in permissions.subscribe if not subject.startswith("_INBOX")]
    exports = [f'{{ stream: "{s}", accounts: [{account}] }}' for s in streams]
    imports = [f'{{ stream: {{ account: {own}, subject: "{s}" }} }}' for s in streams]
    for subject in permissions.publish:
        # A consumer answers one request with many messages.
        many = "response: stream, " if ".MSG.NEXT." in subject else ""
        exports.append(f'{{ service: "{subject}", {many}accounts: [{account}] }}')
        imports.append(f'{{ service: {{ account: {own}, subject: "{subject}" }} }}')
    return "\n".join(
        (
            f"# in the account {own}, where Ricordo is",
            "exports: [",
            *(f"  {line}" for line in exports),
            "]",
            f"# in the account {account}, the tenant's",
            "imports: [",
            *(f"  {line}" for line in imports),
            "]",
        )
    )
