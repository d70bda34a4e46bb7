"""`import` and `export`: conversations in, everything out and in again; resumable, never silent."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.cli.conftest import Cli

TURNS = [
    {
        "thread_id": "t1",
        "run_id": "r1",
        "display_id": "d1",
        "agent": "coder",
        "at": "2026-01-05T10:00:00Z",
        "messages": [
            {"role": "user", "text": "I work on Falcon", "id": "m1"},
            {"role": "assistant", "text": "Nice.", "id": "m2"},
            {"role": "tool", "text": "42"},
        ],
    },
    {"messages": [{"role": "user", "text": "I like tea"}]},
    {"messages": [{"role": "user", "text": "I like tea"}]},
]

LOCOMO = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Caroline",
            "speaker_b": "Melanie",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Caroline", "dia_id": "D1:1", "text": "Hey Mel!"},
                {"speaker": "Melanie", "dia_id": "D1:2", "text": "Hey Caroline!"},
                {
                    "speaker": "Caroline",
                    "dia_id": "D1:3",
                    "text": "I paint.",
                    "blip_caption": "a sunset",
                },
            ],
            "session_2_date_time": "12:09 am on 13 September, 2023",
            "session_2": [{"speaker": "Melanie", "dia_id": "D2:1", "text": "I run."}],
        },
    }
]

CHAT = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "I live in Bern"},
    {"role": "assistant", "content": None, "tool_calls": []},
    {"role": "tool", "content": "rain", "tool_call_id": "c1"},
    {"role": "assistant", "content": "It rains."},
    {"role": "user", "content": [{"type": "text", "text": "I own a boat"}, {"type": "image_url"}]},
]


def lines(records: list[Any]) -> bytes:
    return "\n".join(json.dumps(record) for record in records).encode()


def waiting(cli: Cli, user: str = "alice") -> list[dict[str, Any]]:
    """The turns that an export tells of."""
    return [r for r in cli("export", "--user", user).lines if r["record"] == "turn"]


def run(cli: Cli, content: bytes, *more: str, code: int = 0) -> dict[str, Any]:
    ended = cli("import", "-", "--user", "alice", "--agent", "helper", *more, "--json",
                stdin=content)  # fmt: skip
    assert ended.code == code, ended.err
    return ended.json


def test_turns_are_queued_with_their_ids_and_once_only(cli: Cli) -> None:
    """Promise 4: the same turn delivered twice changes nothing."""
    assert run(cli, lines(TURNS)) == {
        "turns": 3, "memories": 0, "known": 0, "skipped": 0, "ended": "done",
    }  # fmt: skip
    assert run(cli, lines(TURNS))["known"] == 3
    first, second, third = waiting(cli)
    assert {k: first[k] for k in ("thread_id", "run_id", "display_id", "agent", "at")} == {
        "thread_id": "t1",
        "run_id": "r1",
        "display_id": "d1",
        "agent": "coder",
        "at": "2026-01-05T10:00:00+00:00",
    }
    assert [m["trusted"] for m in first["messages"]] == [True, True, False]
    assert (second["thread_id"], second["agent"]) == ("stdin", "helper")
    assert third["run_id"] == second["run_id"] + "-2"


def test_an_import_that_was_cut_short_goes_on_where_it_stopped(cli: Cli) -> None:
    run(cli, lines(TURNS[:2]))
    assert run(cli, lines(TURNS)) == {
        "turns": 1, "memories": 0, "known": 2, "skipped": 0, "ended": "done",
    }  # fmt: skip


def test_the_time_of_a_silent_file_can_be_given(cli: Cli) -> None:
    run(cli, lines(TURNS[1:2]), "--at", "2025-05-01T12:00:00+00:00")
    [turn] = waiting(cli)
    assert turn["at"] == "2025-05-01T12:00:00+00:00"


def test_as_memories_stores_the_persons_words_without_a_model(cli: Cli) -> None:
    summary = run(cli, lines(TURNS), "--as", "memories")
    assert (summary["memories"], summary["known"], summary["turns"]) == (2, 1, 0)
    falcon, tea = cli("list", "--user", "alice", "--json").json["items"]
    assert (falcon["text"], falcon["source"]) == ("I work on Falcon", "imported")
    assert falcon["origin"][0]["message_ids"] == ["m1"]
    assert falcon["origin"][0]["at"] == "2026-01-05T10:00:00+00:00"
    assert tea["text"] == "I like tea"


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"7", "a line must be an object"),
        (b"{}", "either messages"),
        (b'{"record": "poem"}', "record is one of"),
        (b'{"messages": {}}', "messages must be a list"),
        (b'{"messages": ["hi"]}', "a message must be an object"),
        (b'{"messages": [{"role": "user"}]}', "text must be a string"),
        (b'{"messages": [{"role": "judge", "text": "x"}]}', "role is one of"),
        (b'{"messages": [{"role": "user", "text": "x"}], "thread_id": "a\\nb"}', "thread_id"),
        (b'{"messages": [{"role": "user", "text": "x"}], "thread_id": 7}', "thread_id"),
        (b'{"messages": [{"role": "user", "text": "x"}], "display_id": 7}', "display_id"),
        (b'{"messages": [{"role": "user", "text": "x"}], "at": "soon"}', "at must be"),
        (b'{"messages": [{"role": "user", "text": "x"}], "at": 1e300}', "at must be"),
        (b'{"text": ""}', "text is empty"),
        (b'{"text": "a\\u0000b"}', "NUL"),
        (b'{"text": "a\\ud800b"}', "surrogate"),
        (b'{"text": "caf\xe9"}', "surrogate"),
        (b'{"text": 7}', "text must be a string"),
        (b'{"text": "x", "kind": "opinion"}', "kind is one of"),
        (b'{"text": "x", "confidence": 7}', "confidence"),
        (b'{"text": "x", "confidence": "much"}', "confidence"),
        (b'{"text": "x", "confidence": NaN}', "confidence"),
        (b'{"text": "x", "relations": ["a|b"]}', "--relation"),
        (b'{"text": "x", "relations": [7]}', "relations must be an object"),
        (b'{"text": "x", "origin": [{}]}', "an origin needs a time"),
        (b'{"text": "x", "origin": {}}', "origin must be a list"),
        (b'{"text": "x", "recorded_at": 7}', "recorded_at"),
        (b'{"text": "x", "history": [{"text": ""}]}', "text is empty"),
    ],
)
def test_a_bad_line_is_told_with_its_number_and_skipped(bad: bytes, why: str, cli: Cli) -> None:
    content = lines(TURNS[1:2]) + b"\n\n" + bad + b"\n" + lines(TURNS[:1])
    ended = cli("import", "-", "--user", "alice", "--json", stdin=content)
    assert ended.code == 2
    assert ended.json["turns"] == 2
    assert ended.json["skipped"] == 1
    assert ended.err.startswith("line 3 skipped: ")
    assert why in ended.err
    assert len(ended.err) < 400


def test_strict_stops_at_the_first_bad_line(cli: Cli) -> None:
    content = lines(TURNS[:1]) + b"\n{\n" + lines(TURNS[1:])
    ended = cli("import", "-", "--user", "alice", "--strict", stdin=content)
    assert ended.code == 2
    assert ended.err.startswith("ricordo: line 2: not JSON")
    assert len(waiting(cli)) == 1


def test_locomo_is_two_people_talking(cli: Cli) -> None:
    content = json.dumps(LOCOMO).encode()
    assert run(cli, content)["turns"] == 3
    first, second, third = waiting(cli)
    assert (first["thread_id"], first["run_id"]) == ("conv-1/session_1", "D1:1")
    assert first["at"] == "2023-05-08T13:56:00+00:00"
    assert [m["role"] for m in first["messages"]] == ["user", "assistant"]
    assert second["messages"][0]["text"] == "I paint. [shares a picture: a sunset]"
    assert [m["role"] for m in third["messages"]] == ["assistant"]
    assert run(cli, content)["known"] == 3


def test_locomo_can_be_seen_from_the_other_side(cli: Cli) -> None:
    content = json.dumps(LOCOMO).encode()
    run(cli, content, "--speaker", "Melanie", "--sample", "conv-1")
    assert waiting(cli)[-1]["messages"][0]["role"] == "user"
    assert "nobody" in cli("import", "-", "--speaker", "Bob", stdin=content).err
    assert "no sample" in cli("import", "-", "--sample", "conv-2", stdin=content).err


def test_locomo_as_memories_keeps_both_names(cli: Cli) -> None:
    run(cli, json.dumps(LOCOMO).encode(), "--as", "memories")
    texts = [m["text"] for m in cli("list", "--user", "alice", "--json").json["items"]]
    assert texts == [
        "Caroline: Hey Mel!",
        "Melanie: Hey Caroline!",
        "Caroline: I paint. [shares a picture: a sunset]",
        "Melanie: I run.",
    ]


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(CHAT).encode(),
        json.dumps({"messages": CHAT}, indent=1).encode(),
        lines([{"messages": CHAT}]),
        lines(CHAT),
        json.dumps([{"messages": CHAT}]).encode(),
    ],
    ids=["list", "object", "a conversation a line", "a message a line", "list of conversations"],
)
def test_openai_messages_come_in_several_wrappings(content: bytes, cli: Cli) -> None:
    assert run(cli, content)["turns"] == 2
    assert run(cli, content)["known"] == 2
    bern, boat = waiting(cli)
    assert [(m["role"], m["text"]) for m in bern["messages"]] == [
        ("user", "I live in Bern"),
        ("tool", "rain"),
        ("assistant", "It rains."),
    ]
    assert [m["text"] for m in boat["messages"]] == ["I own a boat"]


def test_a_conversations_own_id_and_time_are_used(cli: Cli) -> None:
    run(cli, lines([{"id": "chat-7", "created_at": 1_767_225_600, "messages": CHAT}]))
    assert {turn["thread_id"] for turn in waiting(cli)} == {"chat-7"}
    assert {turn["at"] for turn in waiting(cli)} == {"2026-01-01T00:00:00+00:00"}


def test_a_bad_openai_message_costs_only_itself(cli: Cli) -> None:
    bad = [*CHAT[:2], {"role": "judge", "content": "x"}, "hello", {"role": "user", "content": 7}]
    assert run(cli, json.dumps([*bad, *CHAT[4:]]).encode(), code=2) == {
        "turns": 2, "memories": 0, "known": 0, "skipped": 3, "ended": "done",
    }  # fmt: skip


@pytest.mark.parametrize("content", [b"", b"hello", b"[]", b"7", b"[[]]", b"\xff\xfe"])
def test_a_file_of_no_known_format_is_refused(content: bytes, cli: Cli) -> None:
    ended = cli("import", "-", stdin=content)
    assert ended.code == 2
    assert "neither JSONL nor" in ended.err


def test_a_missing_file_is_refused(cli: Cli) -> None:
    assert "cannot be read" in cli("import", "missing.jsonl").err


def _alike(record: dict[str, Any]) -> dict[str, Any]:
    """A record without what belongs to the file that it was in."""
    own = ("id", "scope", "version", "updated_at", "evidence", "recorded_at", "replaced_at")
    left = {k: v for k, v in record.items() if k not in own}
    for part in ("relations", "history"):
        left[part] = [
            {k: v for k, v in item.items() if k not in (*own, "memory_id", "by")}
            for item in record.get(part, ())
        ]
    return left


def _ids(records: list[dict[str, Any]]) -> list[str]:
    return [record["id"] for record in records if record["record"] == "memory"]


def test_an_export_can_be_read_back(cli: Cli, tmp_path: Path) -> None:
    """Origins, history, relations, status and waiting turns survive the way out and in."""
    alice = ("--user", "alice", "--agent", "coder")
    fact = cli("remember", *alice, "Works on Falcon", "--json").json["id"]
    cli("edit", *alice[:2], fact, "Works on Project Falcon", "--pin")
    cli("remember", *alice, "Falcon uses Kafka", "--relation", "Falcon|uses|Kafka")
    cli("remember", *alice, "--kind", "preference", "Prefers tea", "--thread", "t1")
    cli("import", "-", *alice, stdin=b'{"text": "Maybe likes rum", "status": "proposed"}')
    cli("import", "-", *alice, stdin=lines(TURNS[:1]))
    before = cli("export", "--user", "alice").lines
    assert [r["record"] for r in before] == ["entity"] * 2 + ["memory"] * 4 + ["turn"]
    ended = cli("export", "--user", "alice", "--output", "alice.jsonl")
    assert ended.err == "7 records\n"
    file = tmp_path / "alice.jsonl"
    assert file.stat().st_mode & 0o077 == 0

    assert cli("import", "alice.jsonl", "--db", "other.db", "--user", "carol").code == 0
    after = cli("export", "--db", "other.db", "--user", "carol").lines
    assert [_alike(r) for r in after] == [_alike(r) for r in before]
    again = cli("import", "alice.jsonl", "--db", "other.db", "--user", "carol", "--json")
    assert again.json["known"] == 5
    assert cli("export", "--db", "other.db", "--user", "carol").lines == after
    assert cli("doctor", "--db", "other.db").code == 0

    cli("import", "alice.jsonl", "--db", "third.db", "--user", "alice")
    third = cli("export", "--db", "third.db", "--user", "alice").lines
    assert _ids(third) == _ids(before)


def test_a_copy_in_the_same_file_is_the_other_users_own(cli: Cli) -> None:
    """Promise 1: importing one user's export for another touches nothing of the first."""
    stored = cli("remember", "--user", "alice", "Likes tea", "--json").json
    exported = cli("export", "--user", "alice").out.encode()
    assert cli("import", "-", "--user", "bob", stdin=exported).code == 0
    [copy] = cli("list", "--user", "bob", "--json").json["items"]
    assert copy["text"] == "Likes tea"
    assert copy["id"] != stored["id"]
    assert cli("erase", "--user", "bob", "--yes").code == 0
    assert cli("show", "--user", "alice", stored["id"]).code == 0


def test_relations_that_a_person_typed_are_checked_like_any_others(cli: Cli) -> None:
    records = [
        {"text": "Falcon uses Kafka", "relations": ["Falcon:Project|uses|Kafka:Technology"]},
        {"text": "It flies", "relations": ["it|uses|wings"]},
    ]
    assert run(cli, lines(records))["memories"] == 2
    walk = cli("explore", "Falcon", "--user", "alice", "--json").json
    assert [path["end"] for path in walk["items"]] == ["Kafka"]
    [refusal] = cli("review", "refusals", "--user", "alice", "--json").json["items"]
    assert refusal["rule"] == "b-names"


def test_an_earlier_text_that_another_memory_has_now_is_history_again(cli: Cli) -> None:
    """What was edited until texts changed places comes back, each with its own history."""
    mine = ("--user", "alice")
    one = cli("remember", *mine, "Works at Migros", "--json").json["id"]
    other = cli("remember", *mine, "Lives in Bern", "--json").json["id"]
    assert cli("edit", *mine, other, "Lives in Basel").code == 0
    assert cli("edit", *mine, one, "Lives in Bern").code == 0
    cli("remember", *mine, "Rows on the Rhine")
    exported = cli("export", *mine).out.encode()
    for place in (("--db", "other.db"), ("--user", "bob")):
        who = place if place[0] == "--user" else (*place, *mine)
        ended = cli("import", "-", *who, "--json", stdin=exported)
        assert (ended.code, ended.json["memories"]) == (0, 3), ended.err
        told = cli("export", *who).lines
        assert [_alike(r) for r in told] == [_alike(json.loads(r)) for r in exported.splitlines()]
        assert cli("import", "-", *who, "--json", stdin=exported).json["known"] == 3
    assert cli("doctor", "--db", "other.db").code == 0


def test_a_line_that_no_longer_fits_is_skipped_with_its_reason(cli: Cli) -> None:
    """What was said before an erasure stays away; the rest of the file is read."""
    cli("remember", "--user", "alice", "Likes tea")
    exported = cli("export", "--user", "alice").out.encode()
    assert cli("erase", "--user", "alice", "--yes").code == 0
    fresh = json.dumps({"text": "Likes coffee"}).encode()
    ended = cli("import", "-", "--user", "alice", stdin=exported + fresh)
    assert ended.code == 2
    assert "line 1 skipped: " in ended.err
    assert "erased" in ended.err
    assert [m["text"] for m in cli("list", "--user", "alice", "--json").json["items"]] == [
        "Likes coffee"
    ]
    strict = cli("import", "-", "--strict", "--user", "alice", stdin=exported)
    assert strict.code == 5
    assert "line 1: " in strict.err
