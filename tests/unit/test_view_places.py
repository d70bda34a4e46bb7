"""Which engine a view's settings name: told apart from any other, without a secret."""

from typing import Any

import pytest

from ricordo.adapters.neo4j.statements import statements
from ricordo.memory.viewing.places import content_of, lies_in, made_in, place_of
from ricordo.ports import ViewBuild
from ricordo.wiring.places import graph_place, store_place

SECRET = "hunter2"

PLACES: list[tuple[str, dict[str, Any], str]] = [
    ("qdrant", {"host": "h", "port": 6333, "api_key": SECRET}, "qdrant, host h, port 6333"),
    ("qdrant", {"path": "/data/q", "on_disk": True}, "qdrant, path /data/q"),
    ("qdrant", {"url": f"https://me:{SECRET}@h:6333/a?k={SECRET}"}, "qdrant, url h:6333/a"),
    (
        "pgvector",
        {"connection_string": f"postgresql://u:{SECRET}@h:5432/db?sslpassword={SECRET}"},
        "pgvector, connection_string h:5432/db",
    ),
    (
        "pgvector",
        {"connection_string": f"host=h dbname='d b' user=u password='{SECRET} host=x'"},
        "pgvector, connection_string 'd b' h".replace("'", ""),
    ),
    ("redis", {"redis_url": f"redis://:{SECRET}@h:6379/0"}, "redis, redis_url h:6379/0"),
    ("mongodb", {"mongo_uri": f"mongodb://u:{SECRET}@a,b/x"}, "mongodb, mongo_uri a,b/x"),
    # Where a password breaks the address, nothing of it is shown.
    ("redis", {"redis_url": f"redis://u:a/{SECRET}@h:6379"}, "redis, redis_url …"),
    ("redis", {"redis_url": f"redis://u:a?{SECRET}@h:6379"}, "redis, redis_url …"),
    ("redis", {"redis_url": f"redis://h/0?password=a@{SECRET}"}, "redis, redis_url …"),
    ("oracledb", {"connection_params": {"dsn": f"u/{SECRET}@h/s"}}, "oracledb, dsn …"),
    ("pgvector", {"connection_string": f"password={SECRET}"}, "pgvector, connection_string …"),
    ("cassandra", {"contact_points": ["a", "b"]}, "cassandra, contact_points a b"),
    ("pinecone", {"api_key": SECRET}, "pinecone"),
]


@pytest.mark.parametrize(("provider", "config", "place"), PLACES)
def test_a_store_is_told_without_its_secrets(
    provider: str, config: dict[str, Any], place: str
) -> None:
    told = store_place({"provider": provider, "config": config})
    assert told == place
    assert SECRET not in told


def test_a_graph_server_is_told_by_address_and_database() -> None:
    """However its address is written; another database is another place."""
    for url in ("bolt://h", "neo4j+s://h:7687", f"bolt://u:{SECRET}@h"):
        assert graph_place(url, None) == "h:7687"
    assert graph_place("bolt://[::1]", "a") == "[::1]:7687, database a"


def build(made_of: str, *, sort: str = "vectors") -> ViewBuild:
    return ViewBuild(view="v", build=1, sort=sort, made_of=made_of, serving=True)


def test_a_build_tells_its_place_and_its_content() -> None:
    """Whatever stands in either of them; one of before places were noted lies anywhere."""
    for content in ("model (3 dimensions)", "a @ b", "x"):
        for place in ("qdrant, path /a", "/odd @ path"):
            made = build(made_in(content, place=place))
            assert content_of(made) == content
            assert lies_in(made, place=place)
            assert not lies_in(made, place="elsewhere")
    old = build("model (3 dimensions)")
    assert (place_of(old), content_of(old)) == ("", old.made_of)
    assert lies_in(old, place="anywhere")


def test_what_is_left_of_a_graph_is_named_as_it_is() -> None:
    """The names that an operator is told are those of the statements."""
    said = str(statements("mark_1"))
    for name in ("RicordoEntity_mark_1", "RicordoName_mark_1", "RICORDO_mark_1"):
        assert name in said
