"""Tokens, and requests as any client of NATS makes them: no code of ours."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import jwt
import nats

from ricordo import Ricordo, Settings
from ricordo.wiring.answering import answering
from tests.support.workers import PATIENCE, worker_settings

SECRET = "a secret of the tests, long enough"
ISSUER, AUDIENCE = "https://login.example.org", "ricordo"


def answer_settings(url: str | None, *, prefix: str = "ricordo", **more: object) -> Settings:
    values: dict[str, object] = {
        "token_secret": SECRET,
        "token_issuer": ISSUER,
        "token_audience": AUDIENCE,
        "recall_deadline": PATIENCE,
    }
    return worker_settings(url, prefix=prefix, **(values | more))


def claims(user: str = "alice", tenant: str = "acme", **more: Any) -> dict[str, Any]:
    """What a token says; a claim of None is left out."""
    said = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "exp": int(time.time()) + 2 * 86_400,
        "sub": user,
        "tenant": tenant,
    }
    return {name: value for name, value in (said | more).items() if value is not None}


def token(
    user: str = "alice",
    tenant: str = "acme",
    *,
    key: Any = SECRET,
    algorithm: str = "HS256",
    headers: dict[str, Any] | None = None,
    **more: Any,
) -> str:
    return jwt.encode(claims(user, tenant, **more), key, algorithm=algorithm, headers=headers)


class Asker:
    """Another program, with a connection of its own."""

    def __init__(self, client: Any, prefix: str) -> None:
        self.client = client
        self.prefix = prefix

    async def __call__(
        self,
        what: str,
        body: Any = None,
        *,
        tenant: str = "acme",
        bearer: str | None = None,
        headers: dict[str, str] | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """The answer to a request."""
        payload = {"version": 1, "body": {} if body is None else body} | more
        return await self.raw(
            f"{self.prefix}.{tenant}.ask.{what}",
            json.dumps(payload).encode(),
            headers={"Authorization": f"Bearer {bearer or token()}"} | (headers or {}),
        )

    async def raw(
        self, subject: str, payload: bytes, *, headers: dict[str, str] | None = None
    ) -> dict[str, Any]:
        """The answer to whatever is sent."""
        answer = await self.client.request(subject, payload, timeout=PATIENCE, headers=headers)
        return json.loads(answer.data)


@asynccontextmanager
async def asking(settings: Settings) -> AsyncIterator[Asker]:
    client = await nats.connect(settings.nats_url, inbox_prefix="_INBOX")
    try:
        yield Asker(client, settings.nats_prefix)
    finally:
        await client.close()


@asynccontextmanager
async def answered(memory: Ricordo, settings: Settings) -> AsyncIterator[Any]:
    """The service that answers, as the wiring makes it, until the end of the block."""
    async with answering(memory, settings) as service:
        task = asyncio.create_task(service.run())
        try:
            async with asyncio.timeout(PATIENCE):
                while service._requests._serving is None:
                    assert not task.done()
                    await asyncio.sleep(0.01)
                client: Any = await service._requests._connection.client()
                await client.flush()  # the server knows of the subscription
            yield service
            await service.wind_down(within=PATIENCE)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
