"""The command line: `ricordo …`. The wiring hands it what it may not import."""

from ricordo.hosts.cli.app import build_app, main

__all__ = ["build_app", "main"]
