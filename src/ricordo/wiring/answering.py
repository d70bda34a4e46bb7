"""Requests over NATS, from settings: where they come from, and how their tokens are known."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from ricordo.errors import Invalid
from ricordo.hosts.bus import Answering, Service
from ricordo.memory.engine import Ricordo
from ricordo.ports import Verifier
from ricordo.settings import Settings
from ricordo.wiring.messaging import make_connection, make_dead_letters


@asynccontextmanager
async def answering(memory: Ricordo, settings: Settings) -> AsyncGenerator[Service]:
    """What answers requests about a memory, as the settings say; closed at the end.

    Raises:
        Invalid: the settings do not say where requests come from, or how tokens are known.
        ImportError: the extra ``nats`` is not installed.
    """
    from ricordo.adapters.nats import NatsRequests

    verifier = await make_verifier(settings)
    connection = make_connection(settings, name="ricordo answer")
    requests = NatsRequests(
        connection,
        prefix=settings.nats_prefix,
        dead=make_dead_letters(settings, connection, memory.services.measures),
        at_once=settings.answer_concurrency,
    )
    answers = Answering(
        memory,
        verifier,
        usual=min(settings.answer_seconds, 5.0),
        longest=settings.answer_seconds,
    )
    try:
        yield Service(memory, requests, answers)
    finally:
        await requests.close()


async def make_verifier(settings: Settings) -> Verifier:
    """What knows tokens, as the settings say.

    Raises:
        Invalid: they do not say it, or name a key that cannot be used.
    """
    from ricordo.adapters.jwt import Claims, JwtVerifier, KeySet, OneKey

    issuer, audience = settings.token_issuer, settings.token_audience
    if issuer is None or audience is None:
        raise Invalid("requests need tokens of a known origin; set token_issuer, token_audience")
    if settings.token_algorithm == "HS256":  # noqa: S105  an algorithm's name
        if settings.token_secret is None:
            raise Invalid("HS256 needs a secret; set token_secret, or another token_algorithm")
        keys = OneKey.secret(settings.token_secret.get_secret_value())
    elif settings.token_keys is None:
        raise Invalid(f"{settings.token_algorithm} needs public keys; set token_keys")
    else:
        keys = await KeySet.open(settings.token_keys, algorithm=settings.token_algorithm)
    claims = Claims(
        tenant=settings.token_tenant_claim,
        user=settings.token_user_claim,
        grants=settings.token_grants_claim,
    )
    return JwtVerifier(
        keys,
        algorithm=settings.token_algorithm,
        issuer=issuer,
        audience=audience,
        claims=claims,
    )
