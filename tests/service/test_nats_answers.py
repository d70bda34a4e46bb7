"""Requests over NATS on a real server: observe, recall, document, forget, as a token's person."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import jwt
import nats
import pytest
from nats.errors import NoRespondersError

from ricordo import Ricordo, Settings
from ricordo.access import user_scope
from ricordo.events import UserMemoryRecalled
from ricordo.wire import permissions_of
from ricordo.wire import token as written
from ricordo.wire import written as as_config
from ricordo.wiring.messaging import prepare
from tests.service.test_nats_workers import dead, knows
from tests.support.asking import SECRET, Asker, answer_settings, answered, asking, token
from tests.support.fake_model import FakeModel
from tests.support.nats_server import NatsServer
from tests.support.opening import opened, person
from tests.support.talking import extractor
from tests.support.workers import at_work, collecting, now, until

_numbers = count()

TURN: dict[str, Any] = {
    "thread_id": "t1",
    "run_id": "r1",
    "agent": "coder",
    "messages": [{"role": "user", "text": "I work on Project Falcon."}],
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with NatsServer(tmp_path_factory.mktemp("nats")) as running:
        yield running


@pytest.fixture
def settings(server: NatsServer) -> Settings:
    return answer_settings(server.url, prefix=f"a{next(_numbers)}")


@pytest.fixture
async def memory(tmp_path: Path, settings: Settings) -> AsyncIterator[Ricordo]:
    """A memory of which requests are answered."""
    async with opened(tmp_path, clock=now, settings=settings) as one:
        await prepare(one.ledger, settings)
        async with answered(one, settings):
            yield one


@pytest.fixture
async def ask(memory: Ricordo, settings: Settings) -> AsyncIterator[Asker]:
    async with asking(settings) as asker:
        yield asker


CURATOR = token("carla", grants={"platform": "curator", "": "reader"})


async def test_a_turn_is_observed_once(ask: Asker, memory: Ricordo) -> None:
    """Promise 4: the same turn delivered twice changes nothing."""
    assert await ask("observe", TURN) == {"version": 1, "result": {"fresh": True}}
    assert await ask("observe", TURN) == {"version": 1, "result": {"fresh": False}}
    [turn] = await memory.ledger.waiting(scope=user_scope(person()), limit=5)
    assert (turn.thread_id, turn.run_id, turn.agent) == ("t1", "r1", "coder")
    assert [said.text for said in turn.said] == ["I work on Project Falcon."]


async def test_recall_gives_what_the_token_s_person_may_see(ask: Asker, memory: Ricordo) -> None:
    """Promise 1: scope comes from the token alone."""
    await memory.user(person("alice")).remember("Works on Project Falcon")
    await memory.user(person("bob")).remember("Works on Project Heron")
    await memory.user(person("alice", tenant="globex")).remember("Works on Project Kite")
    body = {"question": "Which project?"}
    run = {"thread_id": "t9", "run_id": "r9"}
    await ask("recall", {**body, **run})
    await memory.services.journal.flush()
    events = [event for _, event in await memory.ledger.announced(after=0, limit=100)]
    [origin] = [e.origins[0] for e in events if isinstance(e, UserMemoryRecalled) and e.origins]
    assert (origin.thread_id, origin.run_id) == ("t9", "r9"), "told as of the run that asked"
    mine = (await ask("recall", body))["result"]
    assert [item["text"] for item in mine["items"]] == ["Works on Project Falcon"]
    assert mine["degraded"] == []
    bobs = (await ask("recall", body, bearer=token("bob")))["result"]
    assert [item["text"] for item in bobs["items"]] == ["Works on Project Heron"]
    other = await ask("recall", body, tenant="globex", bearer=token("alice", "globex"))
    assert [item["text"] for item in other["result"]["items"]] == ["Works on Project Kite"]


async def test_the_organization_is_told_by_its_curators(ask: Asker) -> None:
    """Promise 3: grants come from the token; a reader does not write."""
    body = {
        "text": "Project Falcon uses microservices",
        "relations": [
            {"source": "Project Falcon", "relation": "uses", "target": "microservices"},
        ],
    }
    told = (await ask("document", body | {"namespace": "platform"}, bearer=CURATOR))["result"]
    assert told["created"] is True
    assert [r["target"] for r in told["relations"]] == ["microservices"]
    again = (await ask("document", body, bearer=CURATOR))["result"]  # the only writable one
    assert (again["id"], again["created"]) == (told["id"], False)
    refused = {"version": 1, "error": {"type": "Denied", "branch": "Denied"}}
    assert await ask("document", body | {"namespace": None}, bearer=CURATOR) == refused
    assert await ask("document", body | {"namespace": "platform"}) == refused
    found = await ask("recall", {"question": "What does Falcon use?"}, bearer=CURATOR)
    assert [item["id"] for item in found["result"]["items"]] == [told["id"]]
    nothing = await ask("recall", {"question": "What does Falcon use?"})
    assert nothing["result"]["items"] == []
    forgetting = {"of": "organization", "id": told["id"], "namespace": "platform"}
    assert await ask("forget", forgetting) == refused
    gone = await ask("forget", forgetting, bearer=CURATOR)
    assert gone["result"] == {"removed": 1}


async def test_what_is_forgotten_is_gone_and_only_ones_own(ask: Asker, memory: Ricordo) -> None:
    stored = await memory.user(person()).remember("Likes tea")
    body = {"id": stored.memory.id}
    assert (await ask("forget", body, bearer=token("bob")))["result"] == {"removed": 0}
    assert (await ask("forget", body))["result"] == {"removed": 1}
    assert (await ask("forget", body))["result"] == {"removed": 0}


NONE = jwt.encode({"sub": "alice", "tenant": "acme"}, None, algorithm="none")


REFUSED_TOKENS = (
    None,
    "",
    "Bearer",
    f"Basic {token()}",
    "Bearer x.y.z",
    "Bearer " + "x" * 20_000,
    f"Bearer {NONE}",
    f"Bearer {token(key='another secret, quite as long as it')}",
    f"Bearer {token(key=SECRET * 2, algorithm='HS512')}",
    f"Bearer {token(exp=int(time.time()) - 60)}",
    f"Bearer {token(exp=None)}",
    f"Bearer {token(nbf=int(time.time()) + 86_400)}",
    f"Bearer {token(aud='another')}",
    f"Bearer {token(aud=None)}",
    f"Bearer {token(iss='https://elsewhere.example.org')}",
    f"Bearer {token(iss=None)}",
    f"Bearer {token(tenant='globex')}",
    f"Bearer {token(sub=None)}",
    f"Bearer {token(sub='')}",
    f"Bearer {token(tenant=None)}",
    f"Bearer {token(tenant=['acme'])}",
    f"Bearer {token(grants='platform=admin')}",
    f"Bearer {token(grants={'platform': 'owner'})}",
    f"Bearer {token(grants={'platform': ['admin']})}",
)


async def test_a_forged_or_missing_token_is_denied(
    ask: Asker, memory: Ricordo, settings: Settings
) -> None:
    """The principal comes from a verified token, never from the payload."""
    body = TURN | {"tenant": "acme", "user": "alice"}
    payload = json.dumps({"version": 1, "body": body, "user": "alice"}).encode()
    subject = f"{settings.nats_prefix}.acme.ask.observe"
    denied = {"version": 1, "error": {"type": "Denied", "branch": "Denied"}}
    for authorization in REFUSED_TOKENS:
        headers = None if authorization is None else {"Authorization": authorization}
        assert await ask.raw(subject, payload, headers=headers) == denied, authorization
    assert (await memory.ledger.backlog()).waiting == 0


MALFORMED = (
    (b"", "Unreadable"),
    (b"\xff", "Unreadable"),
    (b"[" * 100_000, "Unreadable"),
    (b"[1]", "Unreadable"),
    (b'{"body": {}}', "Unreadable"),
    (b'{"version": "1"}', "Unreadable"),
    (b'{"version": 7}', "UnknownVersion"),
    (b'{"version": 1, "body": []}', "Unreadable"),
    (b'{"version": 1, "body": {}}', "Unreadable"),
    (b'{"version": 1, "deadline": -1, "body": {"question": "q"}}', "Unreadable"),
    (b'{"version": 1, "deadline": true, "body": {"question": "q"}}', "Unreadable"),
    (b'{"version": 1, "body": {"question": 5}}', "Unreadable"),
    (b'{"version": 1, "body": {"question": " "}}', "Unreadable"),
    (b'{"version": 1, "body": {"question": "q", "usr": "bob"}}', "Unreadable"),
    (b'{"version": 1, "body": {"question": "q", "limit": 1.5}}', "Unreadable"),
    (b'{"version": 1, "body": {"question": "q", "limit": 0}}', "Invalid"),
    (b'{"version": 1, "body": {"question": "q", "user": 1}}', "Unreadable"),
    (b'{"version": 1, "body": {"question": "q", "as_of": "today"}}', "Unreadable"),
    (
        b'{"version": 1, "body": {"as_of": "0001-01-01T00:00:00+01:00"}}',
        "Unreadable",
    ),
    (b'{"version": 1, "body": {"question": "q", "namespaces": "hr"}}', "Unreadable"),
    (b'{"version": 1, "body": {"question": "q", "namespaces": [1]}}', "Unreadable"),
    (b'{"version": 1, "body": {"question": "q", "namespaces": ["hr"]}}', "Denied"),
)


async def test_a_malformed_request_is_answered_with_an_error(
    ask: Asker, settings: Settings
) -> None:
    """Errors are named, and hold no text; the service goes on."""
    header = {"Authorization": f"Bearer {token()}"}
    for payload, error in MALFORMED:
        answer = await ask.raw(f"{settings.nats_prefix}.acme.ask.recall", payload, headers=header)
        branch = "Denied" if error == "Denied" else "Invalid"
        assert answer == {"version": 1, "error": {"type": error, "branch": branch}}, payload[:80]
    assert "result" in await ask("recall", {"question": "Are you there?"})


async def test_a_number_beyond_all_measure_is_refused(
    ask: Asker, caplog: pytest.LogCaptureFixture
) -> None:
    """As the request that it spoils, not as a failure of the program."""
    huge = {"text": "Tea is free", "namespace": "platform", "importance": int("1" * 400)}
    refused = await ask("document", huge, bearer=CURATOR)
    assert refused["error"] == {"type": "Unreadable", "branch": "Invalid"}
    assert not [each for each in caplog.records if each.levelname == "CRITICAL"]


async def test_a_turn_that_is_none_is_refused(ask: Asker) -> None:
    extremes = [{"at": at} for at in ("0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00")]
    for wrong in ({"messages": []}, {"at": 5}, {"run_id": ""}, {"run_id": None}, *extremes):
        assert (await ask("observe", TURN | wrong))["error"]["branch"] == "Invalid", wrong
    for role in ("system", "", None):
        messages = [{"role": role, "text": "I am root"}]
        refused = await ask("observe", TURN | {"messages": messages})
        assert refused["error"]["type"] == "Unreadable", role


async def test_a_subject_that_is_none_is_refused(ask: Asker, settings: Settings) -> None:
    header = {"Authorization": f"Bearer {token()}"}
    payload = b'{"version": 1, "body": {"question": "q"}}'
    for subject in (
        "acme.ask.recall.now",
        "acme.ask.purge",
        "=.ask.recall",
        "a=2e.ask.recall.x",
        "a=zz.ask.recall",
    ):
        answer = await ask.raw(f"{settings.nats_prefix}.{subject}", payload, headers=header)
        assert answer["error"]["branch"] == "Invalid", subject


async def test_odd_tenants_are_one_token_and_nobody_elses(ask: Asker, memory: Ricordo) -> None:
    """Whatever an id holds, it neither parts a subject nor is a wildcard."""
    body = {"question": "What do I like?"}
    for tenant in ("a.b", "a*b", "a>b", "a b", "*", ">", "Ägypten"):
        await memory.user(person("alice", tenant=tenant)).remember("Likes odd names")
        theirs = token("alice", tenant)
        found = await ask("recall", body, tenant=written(tenant), bearer=theirs)
        assert [item["text"] for item in found["result"]["items"]] == ["Likes odd names"]
        refused = await ask("recall", body, tenant="acme", bearer=theirs)
        assert refused["error"]["type"] == "Denied"


async def test_without_a_place_for_an_answer_errors_go_to_the_dead_letters(
    ask: Asker, memory: Ricordo, settings: Settings
) -> None:
    subject = f"{settings.nats_prefix}.acme.ask.observe"
    await ask.client.publish(subject, b"my diary")
    await ask.client.publish(subject, b"{}", reply=f"{settings.nats_prefix}.globex.work.x")
    await ask.client.publish(subject, b"[]", reply="_INBOX_globex.x")
    await ask.client.publish(
        subject,
        json.dumps({"version": 1, "body": TURN}).encode(),
        headers={"Authorization": f"Bearer {token()}"},
    )
    await until(lambda: waiting(memory, 1))
    await until(lambda: buried(settings, 3))
    letters = await dead(settings)
    assert {subject for subject, _ in letters} == {f"{settings.nats_prefix}.acme.dead.ask"}
    errors = sorted(letter["error"] for _, letter in letters)
    assert errors == ["Denied", "Unreadable", "Unreadable"]
    assert "diary" not in str(letters)


async def test_a_deadline_ends_a_request(tmp_path: Path, server: NatsServer) -> None:
    """The shorter of what the request says and the settings allow; the header wins."""
    settings = answer_settings(server.url, prefix=f"a{next(_numbers)}", answer_seconds=0.2)
    async with opened(tmp_path, clock=now, settings=settings) as memory:
        await prepare(memory.ledger, settings)
        held = asyncio.Event()

        async def never(*_: object, **__: object) -> bool:
            return await held.wait()

        memory.intake.observe = never  # as a ledger that is locked for long
        async with answered(memory, settings), asking(settings) as ask:
            late = {"type": "DeadlineExceeded", "branch": "Unavailable"}
            assert (await ask("observe", TURN, deadline=3_600))["error"] == late
            header = {"Ricordo-Deadline": "0.01"}
            assert (await ask("observe", TURN, headers=header))["error"] == late
            header = {"Ricordo-Deadline": "soon"}
            assert (await ask("observe", TURN, headers=header))["error"]["type"] == "Unreadable"


async def test_several_processes_share_the_requests(
    tmp_path: Path, memory: Ricordo, settings: Settings, ask: Asker
) -> None:
    """A queue group: each request is answered once, by one of them."""
    async with opened(tmp_path, clock=now, settings=settings) as second:
        async with answered(second, settings):
            for number in range(60):
                assert (await ask("observe", TURN | {"run_id": f"r{number}"}))["result"]["fresh"]
        both = [m.services.measures.latencies()["answer"].count for m in (memory, second)]
        assert sum(both) == 60
        # What one takes along when it ends is answered, and the other one goes on.
        assert (await ask("observe", TURN | {"run_id": "last"}))["result"]["fresh"]


async def test_answers_go_on_after_the_server_was_away(tmp_path: Path) -> None:
    with NatsServer(tmp_path / "mine") as mine:
        settings = answer_settings(mine.url)
        async with (
            opened(tmp_path, clock=now, settings=settings) as memory,
            answered(memory, settings),
        ):
            mine.kill()
            mine.start()
            await until(lambda: answers(settings))


NODE = """permissions: {
  publish: {
    allow: [
      "ricordo.*.events.>", "ricordo.*.work.*", "ricordo.*.dead.*",
      "$JS.API.STREAM.INFO.ricordo_events", "$JS.API.STREAM.MSG.GET.ricordo_events",
      "$JS.API.STREAM.PURGE.ricordo_events",
      "$JS.API.STREAM.INFO.ricordo_work", "$JS.API.CONSUMER.INFO.ricordo_work.workers",
      "$JS.API.CONSUMER.MSG.NEXT.ricordo_work.workers", "$JS.ACK.ricordo_work.workers.>"
    ]
  }
  subscribe: { allow: ["_INBOX.>", "ricordo.*.ask.>"] }
  allow_responses: { max: 1, expires: "1m" }
}"""
"""What the how-tos say that a process needs which relays, works and answers."""


async def test_a_tenants_credentials_ask_on_its_own_subjects_only(tmp_path: Path) -> None:
    """And whoever works and answers needs no more than the how-to says."""
    allowed = permissions_of("acme", prefix="ricordo", stream="ricordo_events", asking=True)
    users = f"""authorization {{ users: [
      {{ user: "operator", password: "all" }}
      {{ user: "node", password: "some", {NODE} }}
      {{ user: "acme", password: "own", {as_config(allowed)} }}
    ] }}"""
    with NatsServer(tmp_path / "nats", config=users) as mine, FakeModel(collecting) as model:
        operator = answer_settings(mine.url, nats_user="operator", nats_password="all")
        node = answer_settings(mine.url, nats_user="node", nats_password="some")
        more = {"extractor": extractor(model)}
        async with opened(tmp_path, clock=now, settings=node, **more) as memory:
            await prepare(memory.ledger, operator)
            async with answered(memory, node), at_work(memory):
                errors: list[str] = []

                async def hear(error: Exception) -> None:
                    errors.append(str(error))

                client = await nats.connect(
                    mine.url, user="acme", password="own", inbox_prefix=allowed.inbox, error_cb=hear
                )
                ask = Asker(client, "ricordo")
                turn = TURN | {"messages": [{"role": "user", "text": "I collect stamps."}]}
                assert (await ask("observe", turn))["result"] == {"fresh": True}
                await until(lambda: knows(memory, "stamps"))
                await client.publish("ricordo.globex.ask.recall", b"{}")
                await client.publish("ricordo.acme.work.x", b"{}")
                await client.flush()
                await until(lambda: heard(errors, 2))
                await until(lambda: taken(memory))
                await client.close()
    assert all("permissions violation" in error.lower() for error in errors)


async def taken(memory: Ricordo) -> bool:
    return "taken" in memory.services.measures.counts().get("signs", {})


async def heard(errors: list[str], number: int) -> bool:
    return len(errors) >= number


async def test_keys_of_a_set_may_be_renewed(tmp_path: Path) -> None:
    """RS256 and EdDSA: a set of keys by name, read again when a new name comes."""
    from cryptography.hazmat.primitives.asymmetric import ed25519, rsa

    from ricordo.errors import Denied
    from ricordo.wiring.answering import make_verifier

    rsa_key = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    for algorithm, old, new in (
        ("RS256", rsa_key, rsa.generate_private_key(public_exponent=65_537, key_size=2_048)),
        ("EdDSA", ed25519.Ed25519PrivateKey.generate(), ed25519.Ed25519PrivateKey.generate()),
    ):
        file = tmp_path / f"{algorithm}.json"
        file.write_text(json.dumps({"keys": [public(old, algorithm, "old")]}))
        verifier = await make_verifier(
            answer_settings(None, token_algorithm=algorithm, token_keys=file, token_secret=None)
        )

        def signed(key: Any, name: str | None, algorithm: str = algorithm) -> str:
            headers = None if name is None else {"kid": name}
            return token(key=key, algorithm=algorithm, headers=headers)

        assert (await verifier.principal(signed(old, "old"))).user == "alice"
        assert (await verifier.principal(signed(old, None))).tenant == "acme"
        for forged in (signed(new, "old"), signed(new, "new"), token(key=SECRET)):
            with pytest.raises(Denied):
                await verifier.principal(forged)
        keys = [public(old, algorithm, "old"), public(new, algorithm, "new")]
        file.write_text(json.dumps({"keys": keys}))
        assert (await verifier.principal(signed(new, "new"))).user == "alice"
        with pytest.raises(Denied):
            await verifier.principal(signed(new, None))  # which one?


def public(key: Any, algorithm: str, name: str) -> dict[str, Any]:
    made = jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key(), as_dict=True)
    return made | {"kid": name, "use": "sig"}


async def test_a_pem_is_a_key_and_a_public_one_only(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric import ed25519

    from ricordo.errors import Invalid
    from ricordo.wiring.answering import make_verifier

    key = ed25519.Ed25519PrivateKey.generate()
    file = tmp_path / "key.pem"
    settings = answer_settings(None, token_algorithm="EdDSA", token_keys=file)
    file.write_bytes(
        key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    )
    verifier = await make_verifier(settings)
    assert (await verifier.principal(token(key=key, algorithm="EdDSA"))).user == "alice"
    secret = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    for useless in (secret, b"{}", b'{"keys": [{}]}', b"no key", b""):
        file.write_bytes(useless)
        with pytest.raises(Invalid, match="no public key"):
            await make_verifier(settings)
    file.unlink()
    with pytest.raises(Invalid, match="cannot be read"):
        await make_verifier(settings)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"token_issuer": None}, "token_issuer"),
        ({"token_audience": None}, "token_audience"),
        ({"token_secret": None}, "token_secret"),
        ({"token_secret": "short"}, "32 bytes"),
        ({"token_algorithm": "RS256"}, "token_keys"),
    ],
)
async def test_settings_that_know_no_token_are_told(more: dict[str, Any], says: str) -> None:
    from ricordo.errors import Invalid
    from ricordo.wiring.answering import make_verifier

    with pytest.raises(Invalid, match=says):
        await make_verifier(answer_settings(None, **more))


async def answers(settings: Settings) -> bool:
    async with asking(settings) as ask:
        try:
            return "result" in await ask("observe", TURN)
        except NoRespondersError:
            return False


async def waiting(memory: Ricordo, number: int) -> bool:
    return (await memory.ledger.backlog()).waiting == number


async def buried(settings: Settings, number: int) -> bool:
    return len(await dead(settings)) == number
