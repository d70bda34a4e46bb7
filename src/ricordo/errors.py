"""Every error that Ricordo raises, drawn as one tree; the branch tells the caller what can be done.

    RicordoError
    ├── Invalid            the input is at fault: mend it and call again
    │   ├── Refused        a relation broke a named integrity rule
    │   ├── Malformed      a model's answer could not be read, even after one repair
    │   └── Unreadable     a message from outside is not what it should be
    │       └── UnknownVersion  of a version that this program does not know
    ├── NotFound           nothing of that id in the caller's scope
    ├── Denied             the principal lacks the right
    ├── Conflict           the state has moved on, or does not fit
    │   ├── SpaceMismatch  stored vectors come from another embedding model or transform
    │   ├── Erased         the person was erased after this was said
    │   └── Retired        the reader of events was retired; some may be gone that it never had
    ├── Unavailable        try again later
    │   └── DeadlineExceeded
    └── Corrupt            the stored file is not what it should be
        ├── ForeignFile    not a Ricordo ledger
        └── WrongSchema    a ledger of a schema that this version cannot use

Messages name ids, limits and ways out; they never carry a memory's text. `Denied` and `NotFound`
look alike across scopes: what lies in another scope is not found. Misusing a constructor is a
plain `ValueError`.
"""


class RicordoError(Exception):
    """The root of every error that Ricordo raises."""


class Invalid(RicordoError):
    """The input is at fault; the message says which value and what is allowed."""


class Refused(Invalid):
    """A relation broke an integrity rule.

    Attributes:
        rule: name of the rule, one of `ricordo.model.Rule`.
    """

    def __init__(self, message: str, *, rule: str) -> None:
        super().__init__(message)
        self.rule = rule


class Malformed(Invalid):
    """A model's answer did not have the agreed shape, even after one repair."""


class Unreadable(Invalid):
    """A message from outside is not what it should be; it is refused, and harms nothing."""


class UnknownVersion(Unreadable):
    """A message is of a version that this program does not know; a newer one may."""


class NotFound(RicordoError):
    """Nothing of that id exists in the caller's scope."""


class Denied(RicordoError):
    """The principal lacks the right that the call needs."""


class Conflict(RicordoError):
    """The stored state has moved on since it was read, or does not fit the call."""


class SpaceMismatch(Conflict):
    """Stored vectors or words come from another model, transform or analyzer; reindex them."""


class Erased(Conflict):
    """The person was erased after this was said; a late write does not bring them back."""


class Retired(Conflict):
    """Events are not kept for this reader any more: an operator retired it. It may come back."""


class Unavailable(RicordoError):
    """Something needed is not there just now; the call may be tried again."""


class DeadlineExceeded(Unavailable):
    """The call did not finish within its deadline."""


class Corrupt(RicordoError):
    """The stored file is damaged, or not what it should be; nothing was changed."""


class ForeignFile(Corrupt):
    """The file is not a Ricordo ledger; nothing was changed."""


class WrongSchema(Corrupt):
    """The ledger's schema is not one that this version can use; nothing was changed."""
