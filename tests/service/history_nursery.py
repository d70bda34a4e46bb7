"""One of several processes that write and read conversations through the hybrid history.

python -m tests.service.history_nursery NAME DURABLE_URL CACHE_URL SECONDS STALENESS

It prints one JSON line per acknowledged message and per reading, with the machine's monotonic time,
and ends by itself.
"""

import asyncio
import json
import random
import sys
import time

from redis import RedisError

from ricordo import Principal
from ricordo.adapters.histories import open_redis
from ricordo.adapters.redis import RedisHistoryCache
from ricordo.hosts.maf import make_history_provider, new_session
from tests.support.conversing import user

PEOPLE = [Principal(tenant=t, user=u) for t, u in (("a", "x"), ("a", "y"), ("b", "x"))]


def tell(**line: object) -> None:
    print(json.dumps(line), flush=True)


async def work(name: str, durable: str, cache: str, seconds: float, staleness: float) -> None:
    chance = random.Random(name)
    async with (
        open_redis(durable) as store,
        RedisHistoryCache.open(cache, deadline=0.1, lease=1, patience=3) as copies,
    ):
        history = make_history_provider(
            shape="hybrid",
            store=store.provider,
            cache=copies,
            groups={"one": ["a1", "a2"], "two": ["b1"]},
            staleness=staleness,
        )
        tell(ready=name)
        end = time.monotonic() + seconds
        await asyncio.gather(
            *(act(f"{name}{n}", history, chance, end=end) for n in range(3)),
        )
        await history.close()


async def act(name: str, history: object, chance: random.Random, *, end: float) -> None:
    number = 0
    while time.monotonic() < end:
        who = chance.randrange(len(PEOPLE))
        agent = chance.choice(["a1", "a2", "b1", "outside"])
        session = new_session("same thread", principal=PEOPLE[who])
        conversation = history.conversation(session, agent=agent)
        place = f"{who}/{conversation.room}"
        if chance.random() < 0.4:
            number += 1
            said = f"{place} {name} {number}"
            try:
                await history.store(conversation, [user(said, message_id=said)], state={})
            except RedisError as error:
                tell(failed=said, why=type(error).__name__)
                continue
            tell(acknowledged=said, place=place, at=time.monotonic())
        else:
            began = time.monotonic()
            try:
                found = await history.load(conversation, state={})
            except RedisError:
                continue
            tell(read=[m.text for m in found], place=place, began=began)
        await asyncio.sleep(chance.random() * 0.02)


if __name__ == "__main__":
    given = sys.argv[1:]
    asyncio.run(work(given[0], given[1], given[2], float(given[3]), float(given[4])))
