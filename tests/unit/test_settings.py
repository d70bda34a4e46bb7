"""Settings: one typed object from a file, then the environment, then arguments; later wins."""

import os
import tomllib
from pathlib import Path
from typing import Literal

import pytest
from pydantic import SecretStr, ValidationError

from ricordo import EntityClaim, RelationClaim
from ricordo.errors import Invalid
from ricordo.settings import Settings, data_path, load_settings
from ricordo.settings.template import example, template
from tests.support.opening import opened, person


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings but those of the test."""
    for name in [name for name in os.environ if name.startswith("RICORDO_")]:
        monkeypatch.delenv(name)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def test_without_anything_the_defaults_hold() -> None:
    loaded = load_settings()
    assert loaded.settings == Settings()
    assert set(loaded.sources.values()) == {"default"}
    assert loaded.file is None
    assert loaded.settings.database == str(data_path())


def test_later_sources_win(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("ricordo.toml").write_text('tenant = "file"\nagent = "file"\nrecall_limit = 3\n')
    monkeypatch.setenv("RICORDO_AGENT", "environment")
    monkeypatch.setenv("RICORDO_RECALL_LIMIT", "4")
    loaded = load_settings({"recall_limit": 5, "user": None})
    assert loaded.settings.tenant == "file"
    assert loaded.settings.agent == "environment"
    assert loaded.settings.recall_limit == 5
    assert loaded.sources["tenant"] == "file ricordo.toml"
    assert loaded.sources["agent"] == "environment RICORDO_AGENT"
    assert loaded.sources["recall_limit"] == "argument"
    assert loaded.sources["user"] == "default"


def test_the_first_file_that_exists_is_the_only_one_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home" / "ricordo" / "ricordo.toml"
    home.parent.mkdir(parents=True)
    home.write_text('tenant = "home"\nagent = "home"\n')
    assert load_settings().settings.tenant == "home"
    Path("ricordo.toml").write_text('tenant = "here"\n')
    assert load_settings().settings.tenant == "here"
    assert load_settings().settings.agent == "cli"
    named = tmp_path / "named.toml"
    named.write_text('tenant = "named"\n')
    monkeypatch.setenv("RICORDO_CONFIG", str(named))
    assert load_settings().settings.tenant == "named"
    argument = tmp_path / "argument.toml"
    argument.write_text('tenant = "argument"\n')
    assert load_settings(config=argument).settings.tenant == "argument"


def test_constructing_settings_reads_neither_file_nor_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RICORDO_TENANT", "environment")
    Path("ricordo.toml").write_text('tenant = "file"\n')
    assert Settings().tenant == "default"


def test_an_unknown_key_in_the_file_is_an_error_with_a_suggestion() -> None:
    Path("ricordo.toml").write_text("recall_limt = 3\n")
    with pytest.raises(
        Invalid, match=r"ricordo\.toml: unknown setting 'recall_limt'; did"
    ) as error:
        load_settings()
    assert "'recall_limit'" in str(error.value)


def test_an_unknown_key_unlike_any_other_says_where_to_look() -> None:
    Path("ricordo.toml").write_text("zzz = 3\n")
    with pytest.raises(Invalid, match="`ricordo doctor` lists all settings"):
        load_settings()


def test_a_bad_value_names_key_source_and_what_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_RECALL_LIMIT", "0")
    with pytest.raises(
        Invalid,
        match=r"recall_limit \(environment RICORDO_RECALL_LIMIT\): .* equal to 1 \(got '0'\)",
    ):
        load_settings()
    with pytest.raises(Invalid, match=r"vocabulary_mode \(argument\): .* 'strict' or 'open'"):
        load_settings({"vocabulary_mode": "loose", "recall_limit": 1})


@pytest.mark.parametrize("name", ["tenant", "user", "agent", "namespace"])
@pytest.mark.parametrize("value", ["", " a", "a\x00b", "a\u202eb", "\udc80", "e\u0301", "x" * 257])
def test_ids_that_cannot_serve_are_refused(name: str, value: str) -> None:
    with pytest.raises(Invalid, match=name):
        load_settings({name: value})


@pytest.mark.parametrize("value", ["*", "%", "..", "O'Brien", '"', "é", "../../etc"])
def test_odd_ids_are_ids_like_any_other(value: str) -> None:
    assert load_settings({"user": value}).settings.user == value


def test_a_named_file_that_is_not_there_is_an_error() -> None:
    with pytest.raises(Invalid, match=r"missing\.toml cannot be read"):
        load_settings(config="missing.toml")


@pytest.mark.parametrize("content", [b"tenant = ", b"\xff\xfe", b'tenant = "a"\ntenant = "b"\n'])
def test_a_file_that_is_not_toml_is_an_error(content: bytes) -> None:
    Path("ricordo.toml").write_bytes(content)
    with pytest.raises(Invalid, match="is not valid TOML"):
        load_settings()


def test_secrets_are_masked_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_MODEL_API_KEY", "hush-hush")
    loaded = load_settings({"embedding_api_key": "quiet"})
    assert isinstance(loaded.settings.model_api_key, SecretStr)
    assert loaded.settings.model_api_key.get_secret_value() == "hush-hush"
    shown = f"{loaded!r} {loaded.settings!s} {[loaded.shown(n) for n in loaded.sources]}"
    assert "hush" not in shown
    assert "quiet" not in shown
    assert loaded.shown("model_api_key") == "********"


def test_a_bad_secret_is_not_repeated_in_the_error() -> None:
    Path("ricordo.toml").write_text("model_api_key = 12345678\n")
    with pytest.raises(Invalid, match="model_api_key") as error:
        load_settings()
    assert "12345678" not in str(error.value)


@pytest.mark.parametrize(
    "written",
    [
        "platform=curator,=reader",
        " platform = curator , =reader",
        '{"platform": "curator", "": "reader"}',
    ],
)
def test_grants_can_be_written_in_the_environment(
    written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RICORDO_GRANTS", written)
    assert load_settings().settings.grants == {"platform": "curator", "": "reader"}


def test_grants_can_be_written_in_the_file() -> None:
    Path("ricordo.toml").write_text('[grants]\nplatform = "admin"\n')
    loaded = load_settings()
    assert loaded.settings.grants == {"platform": "admin"}
    assert loaded.shown("grants") == "platform=admin"


@pytest.mark.parametrize("written", ["platform", "{", "platform=boss", "a\u202eb=reader"])
def test_grants_that_cannot_be_read_are_refused(
    written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RICORDO_GRANTS", written)
    with pytest.raises(Invalid, match="grants"):
        load_settings()


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_NAMESPACE", "")
    assert load_settings().settings.namespace is None


def test_a_mistyped_variable_is_noticed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("RICORDO_RECAL_LIMIT", "3")
    monkeypatch.setenv("RICORDO_CONFIG", "")
    monkeypatch.setenv("RICORDO_TEST_POSTGRES", "system")
    told = "RICORDO_RECAL_LIMIT is not a setting; did you mean RICORDO_RECALL_LIMIT?"
    assert load_settings().stray == (told,)
    assert load_settings(warn=False).stray == (told,)
    assert [record.getMessage() for record in caplog.records] == [told]


def test_an_unknown_argument_is_an_error() -> None:
    with pytest.raises(Invalid, match="unknown setting 'recal_limit'; did you mean"):
        load_settings({"recal_limit": 3})


def test_an_embedding_model_needs_its_endpoint_and_the_other_way_round() -> None:
    with pytest.raises(Invalid, match="needs embedding_base_url"):
        load_settings({"embedding_model": "other"})
    with pytest.raises(Invalid, match="needs embedding_model"):
        load_settings({"embedding_base_url": "http://localhost:1/v1"})
    with pytest.raises(Invalid, match="http://"):
        load_settings({"model_base_url": "localhost:1"})
    both = {"embedding_base_url": "http://localhost:1/v1", "embedding_model": "other"}
    assert load_settings(both).settings.embedding_model == "other"


def test_many_faults_are_told_at_once_but_briefly() -> None:
    bad = {"recall_limit": 0, "batch_size": 0, "tenant": "", "agent": "", "max_attempts": 0}
    with pytest.raises(Invalid, match=r"; .*; .*\(and 2 more\)$"):
        load_settings(bad)


def test_the_home_directory_is_written_as_a_tilde(tmp_path: Path) -> None:
    assert load_settings({"database": "~/m.db"}).settings.database == f"{tmp_path}/home/m.db"


def test_settings_cannot_be_changed_afterwards() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Settings().tenant = "other"


def test_every_setting_is_described() -> None:
    for name, field in Settings.model_fields.items():
        assert field.description, name
        assert field.description.endswith("."), name


def test_the_template_describes_every_setting_and_changes_nothing() -> None:
    assert tomllib.loads(template()) == {}
    filled = "\n".join(f"{name} = {example(name)}" for name in Settings.model_fields)
    values = tomllib.loads(filled)
    assert values.keys() == Settings.model_fields.keys()
    del values["search_in_database_from"]  # which is one of two places
    for name in ("nats_token", "nats_nkey", "nats_credentials"):  # instead of nats_user
        del values[name]
    values["embedding_model"] = "other"
    values["shape"] = "hybrid"
    assert Settings(**values).grants == {"platform": "curator", "hr": "reader"}


@pytest.mark.parametrize(("mode", "admitted"), [(None, False), ("open", True), ("strict", False)])
async def test_the_vocabulary_file_s_own_mode_holds_unless_it_is_set(
    tmp_path: Path, mode: Literal["strict", "open"] | None, admitted: bool
) -> None:
    own = tmp_path / "vocabulary.toml"
    own.write_text('mode = "strict"\n[entities.Ship]\n[relations.sails_to]\n', encoding="utf-8")
    settings = Settings(vocabulary=own, vocabulary_mode=mode, worker=False)
    claim = RelationClaim(
        source=EntityClaim(name="Esmeralda"), relation="adores", target=EntityClaim(name="Genoa")
    )
    async with opened(tmp_path, settings=settings) as memory:
        team = memory.organization(person(curator=["fleet"]), namespace="fleet")
        stored = await team.document("Esmeralda adores Genoa", relations=[claim])
    assert bool(stored.relations) is admitted
    assert bool(stored.refusals) is not admitted


@pytest.mark.parametrize("name", ["nats_password", "nats_token", "token_secret", "model_api_key"])
def test_a_secret_that_is_refused_is_not_shown(name: str, tmp_path: Path) -> None:
    Path("ricordo.toml").write_text(f"{name} = 271828182845\n")
    with pytest.raises(Invalid, match=name) as caught:
        load_settings()
    assert "2718" not in str(caught.value)


def test_an_address_with_a_token_is_refused_without_showing_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RICORDO_NATS_URL", "nats://s3cr3t@localhost:4222")
    with pytest.raises(Invalid, match="nats_token") as caught:
        load_settings()
    assert "s3cr3t" not in str(caught.value)


def test_a_refusal_by_hand_shows_no_values() -> None:
    """Two settings that contradict one another are told with nothing of the others."""
    with pytest.raises(ValidationError, match="nats_user and nats_token") as caught:
        Settings(nats_user="ricordo", nats_token=SecretStr("s3cr3t"), model="a-model")
    assert "a-model" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"nats_user": "a", "nats_credentials": "a.creds"}, "set one of them"),
        ({"nats_nkey": "a.nk", "nats_token": "t"}, "set one of them"),
        ({"nats_password": "p"}, "nats_password needs nats_user"),
        ({"nats_certificate_key": "k.pem"}, "nats_certificate_key needs nats_certificate"),
    ],
)
def test_who_comes_to_nats_is_said_in_one_way(given: dict[str, str], told: str) -> None:
    with pytest.raises(Invalid, match=told):
        load_settings(given)


@pytest.mark.parametrize(
    "address",
    [
        "nats://localhost:99999",
        "nats://localhost:notaport",
        "nats://localhost:0",
        "nats://:4222",
        "nats://a b:4222",
        "nats://[::1:4222",
        "nats://one:4222,nats://two:x",
    ],
)
def test_an_address_of_nats_has_a_host_and_a_port(address: str) -> None:
    """What cannot be one is told when settings are read, not by whatever meets it later."""
    with pytest.raises(Invalid, match=r"nats_url .*host:port"):
        load_settings({"nats_url": address})


@pytest.mark.parametrize(
    "address",
    ["nats://localhost", "tls://[::1]:4222", "nats://a-b.example.org:4222, ws://10.0.0.1:65535/"],
)
def test_addresses_of_nats_are_taken_as_they_are(address: str) -> None:
    assert load_settings({"nats_url": address}).settings.nats_url == address


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("protocol_trust", "RAG.Agent=acme"),
        ("protocol_trust", "RAGAgent/h r=acme"),
        ("protocol_trust", "RAGAgent/=acme"),
        ("protocol_trust", "RAG*=acme"),
        ("protocol_writer", "A.b"),
        ("protocol_writer", "Writer/one"),
        ("protocol_writer", "*"),
    ],
)
def test_what_no_agent_can_be_called_is_refused(name: str, value: str) -> None:
    """It would never fit, and an operator would look in vain for why nobody is believed."""
    with pytest.raises(Invalid, match=name):
        load_settings({name: value})


def test_agents_are_trusted_by_class_by_id_or_all() -> None:
    trust = "RAGAgent=acme,RAGAgent/hr=acme.hr,*=*"
    found = load_settings({"protocol_trust": trust, "protocol_writer": "Writer"}).settings
    assert found.protocol_trust == {"RAGAgent": "acme", "RAGAgent/hr": "acme.hr", "*": "*"}


def test_the_platforms_own_prefix_is_not_ours() -> None:
    """Two programs would write under the same subjects."""
    served = {"protocol": "swiss-ai-agent", "nats_url": "nats://localhost:4222"}
    assert load_settings({"nats_prefix": "agent"}).settings.nats_prefix == "agent"
    with pytest.raises(Invalid, match="nats_prefix is 'agent'"):
        load_settings(served | {"nats_prefix": "agent"})
