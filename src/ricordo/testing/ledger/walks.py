"""What `Walking` promises: a scope's graph by numbers, in the order of a walk."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from ricordo.model import Entity, Relation, Scope
from ricordo.ports import Ledger, Link, Reading
from ricordo.testing.ledger.making import (
    ALICE,
    BOB,
    PLATFORM,
    START,
    entity,
    graph,
    memory,
    relation,
    store,
)
from ricordo.testing.sealed import Sealed

Named = tuple[str, str, str, bool]
"""A link by names: near entity, relation id, far entity, whether it points away."""


async def _numbers(ledger: Ledger, *entities: Entity) -> list[int]:
    scope = entities[0].scope
    keys = [each.key for each in entities]
    found = await ledger.read(lambda tx: tx.nodes(keys, scope=scope), scopes=[scope])
    return [found[key] for key in keys]


async def _links(
    ledger: Ledger,
    nodes: Sequence[int],
    *,
    at: datetime = START,
    limit: int = 100,
    scope: Scope = ALICE,
) -> list[Link]:
    return await ledger.read(
        lambda tx: tx.links(nodes, scope=scope, at=at, limit=limit), scopes=[scope]
    )


async def _by_name(ledger: Ledger, links: Sequence[Link]) -> list[Named]:
    rows = [link[4] for link in links]
    told = await ledger.read(lambda tx: tx.described(rows, scope=ALICE), scopes=[ALICE])
    found: list[Named] = []
    for _, id_, _, _, row, away in links:
        source, _, target, _ = told[row]
        near, far = (source, target) if away else (target, source)
        found.append((near, id_, far, bool(away)))
    return found


class WalkTests(Sealed):
    """Numbers instead of whole entities and relations."""

    async def test_nodes_are_found_by_each_name_of_their_scope(self, ledger: Ledger) -> None:
        falcon = entity("Project Falcon", aliases=("Falcon",))
        await graph(ledger, [falcon], [])
        await graph(ledger, [entity("Falcon", scope=BOB)], [])
        keys = ["falcon", "project falcon", "eagle", "falcon", "falcon\0"]
        found = await ledger.read(lambda tx: tx.nodes(keys, scope=ALICE), scopes=[ALICE])
        assert found.keys() == {"falcon", "project falcon"}
        assert len(set(found.values())) == 1

    async def test_a_merged_entity_is_found_as_the_one_that_stands_for_it(
        self, ledger: Ledger
    ) -> None:
        short, long, other, known = entity("k8s"), entity("Kubernetes"), entity("x"), memory()
        await store(ledger, known)
        await graph(ledger, [short, long, other], [relation(short, other, known, id="r1")])
        await ledger.write(
            lambda tx: tx.merge_entities(short.id, long.id, at=START, scope=ALICE), scope=ALICE
        )
        one, two = await _numbers(ledger, short, long)
        assert one == two
        found = await _by_name(ledger, await _links(ledger, [one]))
        assert found == [("Kubernetes", "r1", "x", True)]

    async def test_links_come_in_the_order_of_the_walk(self, ledger: Ledger) -> None:
        known, (a, b, c) = memory(), (entity(name) for name in "abc")
        await store(ledger, known)
        relations = [
            relation(a, b, known, id="r3"),
            relation(c, a, known, id="r1"),
            relation(b, c, known, id="r2"),
            relation(b, b, known, id="r4"),
        ]
        await graph(ledger, [a, b, c], relations)
        numbers = await _numbers(ledger, b, a)
        expected = [
            ("b", "r2", "c", True),
            ("b", "r3", "a", False),
            ("b", "r4", "b", False),
            ("b", "r4", "b", True),
            ("a", "r1", "c", False),
            ("a", "r3", "b", True),
        ]
        links = await _links(ledger, numbers)
        assert sorted(await _by_name(ledger, links)) == sorted(expected)
        assert [link[:2] for link in links] == [
            (place, id_)
            for place, ids in ((0, "2344"), (1, "13"))
            for id_ in map("r{}".format, ids)
        ]
        for limit in range(1, 7):
            assert await _links(ledger, numbers, limit=limit) == links[:limit]
        assert await _links(ledger, []) == []
        assert await _links(ledger, [2**40]) == []

    async def test_only_what_holds_then_is_linked(self, ledger: Ledger) -> None:
        """Design promise 12; and what was closed without an end ended then."""
        known, a, b, hour = memory(), entity("a"), entity("b"), timedelta(hours=1)
        await store(ledger, known)
        relations = [
            relation(a, b, known, id="past", valid_until=START, closed_at=START),
            relation(a, b, known, id="now", valid_from=START),
            relation(a, b, known, id="later", valid_from=START + hour),
            relation(a, b, known, id="retracted", closed_at=START),
        ]
        await graph(ledger, [a, b], relations)
        [number] = await _numbers(ledger, a)
        for at, expected in (
            (START - hour, {"past", "retracted"}),
            (START, {"now"}),
            (START + hour, {"now", "later"}),
        ):
            assert {link[1] for link in await _links(ledger, [number], at=at)} == expected

    async def test_a_relation_is_described_as_it_now_stands(self, ledger: Ledger) -> None:
        first, second = memory("one"), memory("two")
        a, b = entity("a"), entity("b")
        held = relation(a, b, first, id="r1", type="uses")
        await store(ledger, first, second)
        await graph(ledger, [a, b], [held])

        async def told() -> list[tuple[str, str, str, tuple[str, ...]]]:
            [number] = await _numbers(ledger, a)
            rows = [link[4] for link in await _links(ledger, [number])]
            found = await ledger.read(lambda tx: tx.described(rows, scope=ALICE), scopes=[ALICE])
            return list(found.values())

        assert await told() == [("a", "uses", "b", (first.id,))]
        more: Relation = relation(a, b, first, second, id="r1", type="requires")
        await graph(ledger, [], [more])
        assert await told() == [("a", "requires", "b", (first.id, second.id))]
        await ledger.write(lambda tx: tx.remove([first.id], scope=ALICE), scope=ALICE)
        assert await told() == [("a", "requires", "b", (second.id,))]

    async def test_twins_share_a_name(self, ledger: Ledger) -> None:
        own = [entity("user"), entity("Kubernetes", aliases=("K8s",)), entity("Owl")]
        theirs = [
            entity("user", scope=PLATFORM),
            entity("k8s", scope=PLATFORM),
            entity("kubernetes", scope=PLATFORM),
        ]
        await graph(ledger, own, [])
        await graph(ledger, theirs, [])
        user, kubernetes, owl = await _numbers(ledger, *own)
        their_user, short, long = await _numbers(ledger, *theirs)

        async def twins(*apart: str) -> set[tuple[int, int]]:
            async def look(tx: Reading) -> set[tuple[int, int]]:
                asked, theirs = [user, kubernetes, owl], [long, their_user, short]
                there = await tx.twins(asked, scope=ALICE, other=PLATFORM, apart=apart)
                back = await tx.twins(theirs, scope=PLATFORM, other=ALICE, apart=apart)
                assert {(own, twin) for twin, own in back} == set(there)
                assert await tx.twins([owl], scope=ALICE, other=PLATFORM, apart=apart) == []
                return set(there)

            return await ledger.read(look, scopes=[ALICE, PLATFORM])

        both = {(kubernetes, short), (kubernetes, long)}
        for scope in (None, PLATFORM, ALICE):  # however many others each of them has
            if scope is not None:
                others = [entity(f"{scope} {number}", scope=scope) for number in range(300)]
                await graph(ledger, others, [])
            assert await twins() == {(user, their_user), *both}
            assert await twins("user") == both

    async def test_reading_1_another_scope_s_numbers_lead_nowhere(self, ledger: Ledger) -> None:
        """Reading 1. By number, too, what another scope holds is not found."""
        known = memory(scope=BOB)
        a, b = entity("a", scope=BOB), entity("b", scope=BOB)
        await store(ledger, known)
        await graph(ledger, [a, b], [relation(a, b, known)])
        await graph(ledger, [entity("a")], [])
        numbers = await _numbers(ledger, a, b)
        links = await _links(ledger, numbers, scope=BOB)
        assert len(links) == 2
        rows = [link[4] for link in links]
        assert await _links(ledger, numbers) == []

        async def look(tx: Reading) -> list[object]:
            return [
                await tx.described(rows, scope=ALICE),
                await tx.twins(numbers, scope=ALICE, other=PLATFORM, apart=()),
            ]

        assert not any(await ledger.read(look, scopes=[ALICE, PLATFORM]))
