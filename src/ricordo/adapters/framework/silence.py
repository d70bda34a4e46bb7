"""Why an endpoint behind one of the framework's clients did not answer."""

MENDING = {
    401: "it refused the credentials: check the API key",
    403: "it refused the credentials: check the API key",
    404: "it knows no such model or path: check the base URL and the model's name",
}
"""By HTTP status: trying again is no use, and what is."""

_DEEPEST = 8


def status_of(exc: BaseException | None) -> int | None:
    """The HTTP status behind an error, wherever in its chain the vendor put it."""
    for _ in range(_DEEPEST):
        if exc is None:
            return None
        status = getattr(exc, "status_code", None)
        if status is None:
            status = getattr(getattr(exc, "response", None), "status_code", None)
        if isinstance(status, int):
            return status
        exc = exc.__cause__ or exc.__context__
    return None
