"""The statements: the part of Cypher that servers share, with a scope in every one of them.

An entity is a node, keyed by scope and id. Each of its names is a node too, keyed by scope and
hash, so that an entity is found by any of them with one look at an index. A relation carries its
own key, scope and validity. Labels end with the name of the build.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Statements:
    """Every statement of one build."""

    schema: tuple[str, ...]
    drop_schema: tuple[str, ...]
    put_nodes: str
    clear_names: str
    put_names: str
    clear_edges: str
    put_edges: str
    drop_nodes: str
    drop_names: str
    drop_scope: tuple[str, ...]
    inventory_nodes: str
    inventory_edges: str
    scopes: str
    name_scopes: str
    named: str
    outward: str
    inward: str
    twins: str


def statements(build: str) -> Statements:
    """Those of one build; its name is the only thing that is written into them."""
    entity, name, edge = f"RicordoEntity_{build}", f"RicordoName_{build}", f"RICORDO_{build}"
    return Statements(
        schema=tuple(
            f"CREATE {sort} ricordo_{what}_{build} IF NOT EXISTS FOR {rest}"
            for sort, what, rest in (
                ("CONSTRAINT", "entity", f"(n:{entity}) REQUIRE n.uid IS UNIQUE"),
                ("CONSTRAINT", "name", f"(k:{name}) REQUIRE k.uid IS UNIQUE"),
                ("INDEX", "entity_scope", f"(n:{entity}) ON (n.scope)"),
                ("INDEX", "name_scope", f"(k:{name}) ON (k.scope)"),
                ("INDEX", "name_owner", f"(k:{name}) ON (k.owner)"),
                ("INDEX", "edge", f"()-[r:{edge}]-() ON (r.uid)"),
            )
        ),
        drop_schema=tuple(
            f"DROP {sort} ricordo_{what}_{build} IF EXISTS"
            for sort, what in (
                ("CONSTRAINT", "entity"),
                ("CONSTRAINT", "name"),
                ("INDEX", "entity_scope"),
                ("INDEX", "name_scope"),
                ("INDEX", "name_owner"),
                ("INDEX", "edge"),
            )
        ),
        put_nodes=(
            f"UNWIND $rows AS row MERGE (n:{entity} {{uid: row.uid}}) "
            "SET n.scope = $scope, n.id = row.id, n.version = row.version"
        ),
        clear_names=(
            f"UNWIND $rows AS row MATCH (k:{name}) "
            "WHERE k.owner = row.uid AND k.scope = $scope AND NOT k.key IN row.keys DELETE k"
        ),
        put_names=(
            f"UNWIND $rows AS row MERGE (k:{name} {{uid: row.uid}}) "
            "SET k.scope = $scope, k.key = row.key, k.owner = row.owner, k.id = row.id"
        ),
        clear_edges=(
            f"UNWIND $uids AS uid MATCH (:{entity})-[r:{edge}]->(:{entity}) "
            "WHERE r.uid = uid AND r.scope = $scope DELETE r"
        ),
        put_edges=(
            f"UNWIND $rows AS row MATCH (s:{entity} {{uid: row.source}}) "
            f"MATCH (t:{entity} {{uid: row.target}}) "
            f"CREATE (s)-[:{edge} {{uid: row.uid, scope: $scope, id: row.id, type: row.type, "
            "since: row.since, until: row.until, version: row.version}]->(t)"
        ),
        drop_nodes=(
            f"UNWIND $uids AS uid MATCH (n:{entity} {{uid: uid}}) "
            "WHERE n.scope = $scope DETACH DELETE n"
        ),
        drop_names=(
            f"UNWIND $uids AS uid MATCH (k:{name}) "
            "WHERE k.owner = uid AND k.scope = $scope DELETE k"
        ),
        drop_scope=tuple(
            f"MATCH (x:{label}) WHERE x.scope = $scope WITH x LIMIT $limit "
            f"DETACH DELETE x RETURN count(*) AS gone"
            for label in (entity, name)
        ),
        inventory_nodes=(
            f"MATCH (n:{entity}) WHERE n.scope = $scope RETURN n.id AS id, n.version AS version"
        ),
        inventory_edges=(
            f"MATCH (n:{entity})-[r:{edge}]->() WHERE n.scope = $scope AND r.scope = $scope "
            "RETURN r.id AS id, r.version AS version"
        ),
        scopes=f"MATCH (n:{entity}) RETURN DISTINCT n.scope AS scope",
        name_scopes=f"MATCH (k:{name}) RETURN DISTINCT k.scope AS scope",
        named=(
            f"UNWIND $uids AS uid MATCH (k:{name} {{uid: uid}}) WHERE k.scope IN $scopes "
            "RETURN k.scope AS scope, k.id AS id, k.key AS key"
        ),
        outward=_met(entity, edge, "-[r:{edge}]->"),
        inward=_met(entity, edge, "<-[r:{edge}]-"),
        twins=(
            f"UNWIND $uids AS uid MATCH (k:{name}) WHERE k.owner = uid AND k.scope IN $scopes "
            "UNWIND $scopes AS other "
            f"MATCH (t:{name}) WHERE t.uid = other + '/' + k.key AND t.scope <> k.scope "
            "RETURN k.scope AS scope, k.id AS id, t.scope AS other, t.id AS twin, k.key AS key"
        ),
    )


def _met(entity: str, edge: str, arrow: str) -> str:
    """Relations of some entities in one direction, by entity, then by id."""
    return (
        f"UNWIND $places AS place MATCH (n:{entity} {{uid: place.uid}})"
        f"{arrow.format(edge=edge)}(m:{entity}) "
        "WHERE r.scope = place.scope AND m.scope = place.scope "
        "AND r.since <= $at AND r.until > $at "
        "RETURN place.number AS number, r.id AS id, m.id AS far "
        "ORDER BY number, id LIMIT $limit"
    )
