"""Who may come to a real server, and by what: passwords, tokens, keys, credentials, certificates.

What cannot be used is told at once, by the setting that is to be mended, and without a secret."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from nats.errors import TimeoutError as NotAnswered

from ricordo.adapters.nats import NatsConnection
from ricordo.adapters.sqlite import SqliteLedger
from ricordo.errors import DeadlineExceeded, Denied, Invalid, RicordoError, Unavailable
from ricordo.settings import Settings
from ricordo.wiring.messaging import make_connection, prepare
from tests.support.certificates import Authority, Certificate
from tests.support.nats_operator import Key, Operator
from tests.support.nats_server import NatsServer
from tests.support.relaying import PATIENCE, now

SECRET = "s3cr3t-of-the-tests"


@asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator[NatsConnection]:
    connection = make_connection(settings)
    try:
        yield connection
    finally:
        await connection.close()


async def comes_in(settings: Settings) -> None:
    """There and back, so that the server has let us in."""
    async with asyncio.timeout(PATIENCE), connected(settings) as connection:
        client: Any = await connection.client()
        await client.flush()


async def refused(settings: Settings, kind: type[RicordoError]) -> str:
    """What is told instead; never a secret, and not after a deadline only."""
    with pytest.raises(kind) as caught:
        await comes_in(settings)
    assert type(caught.value) is kind
    told = str(caught.value)
    assert SECRET not in told
    return told


def settings_of(server: NatsServer, **more: Any) -> Settings:
    return Settings(**{"nats_url": server.url, "nats_timeout": 20, **more})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("secrets")


@pytest.fixture(scope="module")
def key(folder: Path) -> Key:
    made = Key("user")
    (folder / "ricordo.nk").write_text(f"# a key\n{made.seed}\n")
    return made


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory, key: Key) -> Iterator[NatsServer]:
    """Knows a user with a password, and one with a key; the latter may do little."""
    few = 'permissions: { publish: "ricordo.>", subscribe: "_INBOX.>" }'
    config = (
        f'authorization {{ users: [ {{ user: ricordo, password: "{SECRET}" }}, '
        f"{{ nkey: {key.public}, {few} }} ] }}"
    )
    with NatsServer(tmp_path_factory.mktemp("keyed"), config=config) as running:
        yield running


async def test_a_password_opens(keyed: NatsServer) -> None:
    await comes_in(settings_of(keyed, nats_user="ricordo", nats_password=SECRET))


async def test_a_wrong_password_or_none_is_told(keyed: NatsServer) -> None:
    wrong = settings_of(keyed, nats_user="ricordo", nats_password=f"{SECRET}!")
    told = await refused(wrong, Denied)
    assert "nats_user 'ricordo'" in told
    assert "nats_password" in told
    assert "set nats_user and nats_password" in await refused(settings_of(keyed), Denied)


async def test_a_key_opens_and_another_does_not(keyed: NatsServer, folder: Path, key: Key) -> None:
    """The public key is told: it is what the server has to know, and no secret."""
    await comes_in(settings_of(keyed, nats_nkey=folder / "ricordo.nk"))
    other = Key("user")
    (folder / "other.nk").write_text(other.seed)
    told = await refused(settings_of(keyed, nats_nkey=folder / "other.nk"), Denied)
    assert other.public in told
    assert other.seed not in told


async def test_a_file_that_is_no_key_is_told(keyed: NatsServer, folder: Path, key: Key) -> None:
    bad = folder / "bad.nk"
    for content in ("", SECRET, key.seed[:-3], key.seed[:9] + "!" + key.seed[10:]):
        bad.write_text(content)
        told = await refused(settings_of(keyed, nats_nkey=bad), Invalid)
        assert f"nats_nkey {bad}" in told
        assert not content or content not in told
    assert "nats_nkey" in await refused(settings_of(keyed, nats_nkey=folder / "none"), Denied)


async def asked_in_vain(connection: NatsConnection, subject: str | None) -> None:
    """A call that is not answered, after what was heard of it beside."""
    client = await connection.client()
    before = connection._heard
    async with connection.asking(PATIENCE):
        if subject is not None:
            await client.publish(subject, b"", reply=client.new_inbox())
            while connection._heard is before:
                await asyncio.sleep(0.01)
        raise NotAnswered


async def test_a_permission_that_lacks_is_named(keyed: NatsServer, folder: Path, key: Key) -> None:
    """The server answers nothing to what it does not allow; what it said beside it is told."""
    settings = settings_of(keyed, nats_nkey=folder / "ricordo.nk")
    async with asyncio.timeout(PATIENCE), connected(settings) as connection:
        for subject, told in (
            ("$JS.API.INFO", r"publish to '\$js\.api\.info'"),
            ("other.acme.events.user.alice", r"publish to 'other\.acme\.events\.>'"),
        ):
            with pytest.raises(Denied, match=told):
                await asked_in_vain(connection, subject)
        with pytest.raises(DeadlineExceeded):  # what was refused once, is not blamed for later
            await asked_in_vain(connection, None)


async def test_a_token_opens_and_another_does_not(tmp_path: Path) -> None:
    with NatsServer(tmp_path, config=f'authorization {{ token: "{SECRET}" }}') as server:
        await comes_in(settings_of(server, nats_token=SECRET))
        assert "nats_token" in await refused(settings_of(server, nats_token=f"{SECRET}!"), Denied)


@pytest.fixture(scope="module")
def operator() -> Operator:
    return Operator()


@pytest.fixture(scope="module")
def accounts(tmp_path_factory: pytest.TempPathFactory, operator: Operator) -> Iterator[NatsServer]:
    with NatsServer(tmp_path_factory.mktemp("accounts"), config=operator.config) as running:
        yield running


async def test_credentials_open_and_make_streams(
    accounts: NatsServer, operator: Operator, tmp_path: Path
) -> None:
    file = operator.account.credentials(tmp_path / "ricordo.creds")
    settings = settings_of(accounts, nats_credentials=file)
    async with SqliteLedger.open(tmp_path / "memory.db", clock=now) as ledger:
        assert {change.act for change in await prepare(ledger, settings)} == {"create"}
        assert {change.act for change in await prepare(ledger, settings)} == {"keep"}


async def test_credentials_that_expired_or_are_a_stranger_s_are_told(
    accounts: NatsServer, operator: Operator, tmp_path: Path
) -> None:
    old = operator.account.credentials(tmp_path / "old.creds", expires=1_000_000_000)
    told = await refused(settings_of(accounts, nats_credentials=old), Denied)
    assert f"nats_credentials {old}, which expired at 2001-09-09 01:46 UTC" in told
    strange = Operator().account.credentials(tmp_path / "strange.creds")
    told = await refused(settings_of(accounts, nats_credentials=strange), Denied)
    assert told.endswith(f"it refuses nats_credentials {strange}")


async def test_credentials_that_are_renewed_count_at_once(
    accounts: NatsServer, operator: Operator, tmp_path: Path
) -> None:
    """The next connection is made with what the file holds then."""
    file = operator.account.credentials(tmp_path / "ricordo.creds")
    settings = settings_of(accounts, nats_credentials=file)
    async with asyncio.timeout(PATIENCE), connected(settings) as connection:
        first = await connection.client()
        await connection.drop()
        operator.account.credentials(file, expires=1_000_000_000)
        with pytest.raises(Denied, match="which expired"):
            await connection.client()
        operator.account.credentials(file)
        client: Any = await connection.client()
        assert client is not first
        await client.flush()


async def test_credentials_that_are_revoked_end_and_are_told(tmp_path: Path) -> None:
    """The server hangs up on whoever came with them; others, and new ones, come in."""
    operator = Operator()
    file = operator.account.credentials(tmp_path / "ricordo.creds")
    with NatsServer(tmp_path / "server", config=operator.config) as server:
        settings = settings_of(server, nats_credentials=file)
        async with asyncio.timeout(PATIENCE), connected(settings) as connection:
            client = await connection.client()
            operator.account.revoke(file)
            server.reload(operator.config)
            while not client.is_closed:
                await asyncio.sleep(0.02)
            assert f"it refuses nats_credentials {file}" in await refused(settings, Denied)
            operator.account.credentials(file)
            assert (await connection.client()).is_connected


async def test_a_file_that_holds_no_credentials_is_told(
    accounts: NatsServer, operator: Operator, tmp_path: Path
) -> None:
    """Also one without a JWT, for which the client library would look without end."""
    whole = operator.account.credentials(tmp_path / "whole.creds").read_text()
    file = tmp_path / "bad.creds"
    seed = whole[whole.index("-----BEGIN USER NKEY") :]
    for content in ("", SECRET, seed, whole[: whole.index(seed)], whole.replace("\nSU", "\nSA")):
        file.write_text(content)
        told = await refused(settings_of(accounts, nats_credentials=file), Invalid)
        assert f"nats_credentials {file}" in told
        assert "SU" not in told


@pytest.fixture(scope="module")
def authority(folder: Path) -> Authority:
    return Authority(folder / "authority")


@pytest.fixture(scope="module")
def mine(authority: Authority) -> Certificate:
    return authority.certify("ricordo")


def _tls(own: Certificate, *more: str) -> str:
    lines = (f'cert_file: "{own.file}"', f'key_file: "{own.key}"', *more)
    return "tls {\n" + "\n".join(lines) + "\n}"


@pytest.fixture(scope="module")
def shut(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[NatsServer]:
    """Speaks TLS only, and wants a certificate."""
    own = authority.certify("server")
    config = _tls(own, f'ca_file: "{authority.file}"', "verify: true")
    with NatsServer(tmp_path_factory.mktemp("shut"), config=config) as running:
        yield running


async def test_certificates_open(
    shut: NatsServer, authority: Authority, mine: Certificate, tmp_path: Path
) -> None:
    """With the key in a file of its own, or in the same one."""
    both = tmp_path / "both.pem"
    both.write_bytes(mine.file.read_bytes() + mine.key.read_bytes())
    for shown in (
        {"nats_certificate": mine.file, "nats_certificate_key": mine.key},
        {"nats_certificate": both},
    ):
        for scheme in ("tls", "nats"):
            url = f"{scheme}://127.0.0.1:{shut.port}"
            await comes_in(settings_of(shut, nats_url=url, nats_ca=authority.file, **shown))


async def test_a_server_that_is_not_vouched_for_is_told(
    shut: NatsServer, mine: Certificate, tmp_path: Path
) -> None:
    """By another authority, or by none that the system knows."""
    other = Authority(tmp_path)
    url = f"tls://127.0.0.1:{shut.port}"
    for more in ({"nats_ca": other.file}, {}):
        told = await refused(settings_of(shut, nats_url=url, **more), Invalid)
        assert "nats_ca" in told


async def test_another_host_s_certificate_is_told(authority: Authority, tmp_path: Path) -> None:
    own = authority.certify("elsewhere", host="127.0.0.9")
    with NatsServer(tmp_path, config=_tls(own)) as server:
        told = await refused(settings_of(server, nats_ca=authority.file), Invalid)
    assert "another host" in told


async def test_a_missing_or_strange_certificate_is_told(
    shut: NatsServer, authority: Authority, tmp_path: Path
) -> None:
    none = settings_of(shut, nats_ca=authority.file)
    strange = Authority(tmp_path).certify("stranger")
    both = none.model_copy(
        update={"nats_certificate": strange.file, "nats_certificate_key": strange.key}
    )
    assert "set nats_certificate" in await refused(none, Invalid)
    assert f"nats_certificate {strange.file}" in await refused(both, Invalid)


async def test_files_that_are_no_certificates_are_told(
    shut: NatsServer, authority: Authority, mine: Certificate, tmp_path: Path
) -> None:
    """An encrypted key too: OpenSSL would ask for its password at the terminal, and wait."""
    locked = authority.certify("locked", password=SECRET.encode())
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    for more, what in (
        ({"nats_ca": empty}, f"nats_ca {empty}"),
        ({"nats_certificate": empty}, f"nats_certificate {empty}"),
        ({"nats_certificate": mine.file, "nats_certificate_key": locked.key}, "is encrypted"),
        ({"nats_certificate": mine.file}, "nats_certificate"),
    ):
        settings = settings_of(shut, **{"nats_ca": authority.file, **more})
        assert what in await refused(settings, Invalid)
    absent = settings_of(shut, nats_ca=tmp_path / "none.pem")
    assert "nats_ca" in await refused(absent, Denied)


async def test_no_secret_is_said_to_a_server_without_tls(
    keyed: NatsServer, authority: Authority
) -> None:
    """The server's first line is not trusted: whoever is in between could have written it."""
    url = f"tls://127.0.0.1:{keyed.port}"
    known = {"nats_user": "ricordo", "nats_password": SECRET}
    assert "no TLS" in await refused(settings_of(keyed, nats_url=url, **known), Invalid)
    trusting = settings_of(keyed, nats_ca=authority.file, **known)
    assert "no TLS" in await refused(trusting, Invalid)


async def test_a_server_that_offers_tls_is_taken_at_its_word(
    authority: Authority, tmp_path: Path
) -> None:
    own = authority.certify("both")
    config = f"allow_non_tls: true\n{_tls(own)}"
    with NatsServer(tmp_path, config=config) as server:
        async with connected(settings_of(server, nats_ca=authority.file)) as connection:
            client: Any = await connection.client()
            await client.flush()
            assert client._is_encrypted()
        async with connected(settings_of(server)) as connection:
            client = await connection.client()
            assert not client._is_encrypted()


async def test_whoever_says_nothing_is_not_waited_for_without_end() -> None:
    """A server that takes connections and is silent costs `nats_timeout`, and no more."""

    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"tls://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(Unavailable):
            await comes_in(Settings(nats_url=url, nats_timeout=0.3))
