"""Every error of NATS has a word of ours."""

from nats import errors as raised
from nats.js import errors as stream

from ricordo.adapters.nats.faults import BY_CLASS, BY_CODE, told
from ricordo.errors import RicordoError, Unavailable


def below(root: type[Exception]) -> list[type[Exception]]:
    return [root, *(found for child in root.__subclasses__() for found in below(child))]


def test_every_class_is_told() -> None:
    assert stream.APIError in below(raised.Error)
    for kind in below(raised.Error):
        assert any(issubclass(kind, cause) for cause, _, _ in BY_CLASS), kind
    assert all(issubclass(meant, RicordoError) for _, meant, _ in BY_CLASS)
    assert all(issubclass(meant, RicordoError) for meant, _ in BY_CODE.values())


def test_what_a_server_says_is_not_repeated() -> None:
    """Its words may quote a subject, and that may name somebody."""
    error = stream.APIError(code=400, err_code=10003, description="subject ricordo.alice is odd")
    kind, reason = told(error)
    assert kind is Unavailable
    assert "alice" not in reason
    assert "10003" in reason
