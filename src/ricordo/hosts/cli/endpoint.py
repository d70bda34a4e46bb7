"""Which chat model to talk to: the one that is set, or a local Ollama where it answers."""

import asyncio
import json
import urllib.request
from typing import TYPE_CHECKING, Any

from ricordo.errors import Unavailable

if TYPE_CHECKING:
    from ricordo.settings import Settings

OLLAMA = "http://localhost:11434/v1"
"""Where Ollama listens; tried where no endpoint is set."""

_PATIENCE = 5.0


async def choose_endpoint(settings: "Settings") -> tuple[str | None, str]:
    """Address and model to talk to; an address of None is OpenAI's own.

    Raises:
        Unavailable: nothing is set and no Ollama answers, or the endpoint names no model; the
            message says what to set.
    """
    url = settings.model_base_url
    if url is None and settings.model_api_key is not None and settings.model is not None:
        return None, settings.model
    if url is not None and settings.model is not None:
        return url, settings.model
    key = settings.model_api_key.get_secret_value() if settings.model_api_key else None
    models = await asyncio.to_thread(_models, url or OLLAMA, key)
    if settings.model is not None and models is not None:
        return url or OLLAMA, settings.model
    if models:
        return url or OLLAMA, models[0]
    if url is None:
        raise Unavailable(
            f"no model is set, and no Ollama answers at {OLLAMA}; give --base-url and --model, or "
            "set RICORDO_MODEL_BASE_URL and RICORDO_MODEL (and RICORDO_MODEL_API_KEY)"
        )
    raise Unavailable(f"{url} names no model; give --model, or set RICORDO_MODEL")


def _models(url: str, key: str | None) -> list[str] | None:
    """Names of the models that an endpoint offers; None where it does not answer."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    request = urllib.request.Request(url.rstrip("/") + "/models", headers=headers)  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:  # noqa: S310
            body: Any = json.load(answer)
        return sorted(str(model["id"]) for model in body["data"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


_STATUS = {
    400: "it does not accept the request: check the model's name and its context length",
    401: "it refused the credentials: check the API key",
    403: "it refused the credentials: check the API key",
    404: "it knows no such model or path: check the base URL and the model's name",
    429: "it has too much to do just now; try again later",
}


def why_silent(error: BaseException) -> str:
    """Why a model did not answer, in words; what a client says of it may be anything."""
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain:
        chain.append(cause)
        cause = cause.__cause__ or cause.__context__
    statuses = (getattr(each, "status_code", None) for each in chain)
    status = next((each for each in statuses if isinstance(each, int)), None)
    if status is not None:
        told = _STATUS.get(status, "try again later")
        return f"HTTP {status}; {told}"
    refused = next((each for each in chain if isinstance(each, OSError) and each.strerror), None)
    if refused is not None:
        return f"it cannot be reached ({refused.strerror}); does it run there?"
    name = type(chain[-1]).__name__
    if any("Connect" in type(each).__name__ for each in chain):
        return f"it cannot be reached ({name}); does it run there?"
    return f"its client failed with {name}"
