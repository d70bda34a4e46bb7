"""What is remembered of an erased scope: only its keyed hash, so that late writes are refused."""

from datetime import datetime

from ricordo.adapters.postgres.session import Session
from ricordo.columns.scopes import subject_of
from ricordo.columns.times import micros
from ricordo.errors import Erased
from ricordo.model import Scope


class Erasing(Session):
    """Remembers erasures, and refuses what came too late."""

    async def _refuse_erased(self, scope: Scope, said_at: datetime) -> None:
        """Raise `Erased` when something said at that time is of a scope erased since then."""
        subject = subject_of(scope, self._secret)
        (erased_at,) = await self._row(
            "select max(erased_at) from erasures where subject = %s", subject
        )
        if erased_at is not None and micros(said_at) <= erased_at:
            raise Erased(f"subject {subject} was erased after this was said; it is not stored")

    async def _remember_erasure(self, subject: str, *, number: int, at: datetime) -> None:
        """Note that a scope, by its hash and its former number, was erased."""
        await self._row("select note_erasure(%s, %s, %s)", subject, number, micros(at))
