"""A settings file to fill in: every setting, described, commented out."""

import textwrap

from pydantic import SecretStr
from pydantic_core import PydanticUndefined

from ricordo.settings.fields import Settings

_EXAMPLES = {
    "database": '"~/memory.db"',
    "search_in_database_from": "20000",
    "search_approximately_from": "100000",
    "user": '"alice"',
    "namespace": '"platform"',
    "grants": '{ platform = "curator", hr = "reader" }',
    "model": '"qwen2.5:7b"',
    "model_base_url": '"http://localhost:11434/v1"',
    "model_api_key": '"…"',
    "embedding_base_url": '"http://localhost:11434/v1"',
    "embedding_api_key": '"…"',
    "consolidation_model": '"qwen2.5:7b"',
    "history_url": '"redis://localhost:6379"',
    "history_key": '"…"',
    "history_urls": '{ reviewer = "redis://localhost:6379", writer = "file:///srv/writer" }',
    "history_groups": '{ crew = ["coder", "tester"], desk = ["planner"] }',
    "history_cache_url": '"redis://localhost:6379"',
    "history_archive_url": '"file:///srv/archive"',
    "session_idle": "1800",
    "vector_view": '{ provider = "qdrant", config = { host = "localhost", port = 6333 } }',
    "graph_view_url": '"bolt://localhost:7687"',
    "graph_view_password": '"…"',
    "graph_view_database": '"ricordo"',
    "nats_url": '"nats://localhost:4222"',
    "nats_user": '"ricordo"',
    "nats_password": '"…"',
    "nats_token": '"…"',
    "nats_nkey": '"ricordo.nk"',
    "nats_credentials": '"ricordo.creds"',
    "nats_ca": '"ca.pem"',
    "nats_certificate": '"ricordo.pem"',
    "nats_certificate_key": '"ricordo.key"',
    "token_secret": '"…"',
    "token_keys": '"keys.json"',
    "token_issuer": '"https://login.example.org"',
    "token_audience": '"ricordo"',
    "protocol": '"swiss-ai-agent"',
    "protocol_trust": '{ "RAGAgent" = "acme", "RAGAgent/hr" = "acme-hr" }',
    "protocol_namespaces": '["", "platform"]',
    "protocol_writer": '"MemoryWriterAgent"',
    "vocabulary": '"vocabulary.toml"',
    "vocabulary_mode": '"strict"',
}


def template() -> str:
    """The whole file as text; as it stands it changes nothing."""
    lines = ["# Settings of Ricordo. The environment (RICORDO_…) and arguments win over this file."]
    for name, field in Settings.model_fields.items():
        described = textwrap.wrap(field.description or "", width=96)
        lines += ["", *(f"# {line}" for line in described), f"# {name} = {example(name)}"]
    return "\n".join(lines) + "\n"


def example(name: str) -> str:
    """A value of that setting as TOML: its default, or an example where it has none."""
    default = Settings.model_fields[name].get_default()
    if default is None or default is PydanticUndefined or isinstance(default, SecretStr):
        return _EXAMPLES[name]
    if isinstance(default, bool):
        return str(default).lower()
    return f'"{default}"' if isinstance(default, str) else str(default)
