"""A view of graphs on Neo4j, or another server that speaks Bolt and openCypher."""

from ricordo.adapters.neo4j.view import Neo4jGraphView

__all__ = ["Neo4jGraphView"]
