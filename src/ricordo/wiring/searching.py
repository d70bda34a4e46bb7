"""Where large partitions are searched, from settings: in memory, in the database, or in a view."""

from contextlib import AsyncExitStack

from ricordo.adapters.local import LocalIndex
from ricordo.adapters.local.in_database import DatabaseIndex
from ricordo.adapters.local.shelves import Telling
from ricordo.errors import Invalid
from ricordo.memory.viewing.views import Views
from ricordo.ports import Ledger, SearchingLedger, VectorIndex
from ricordo.settings import Settings
from ricordo.wiring.views import viewed_index


async def index_for_large(
    settings: Settings,
    views: Views,
    inner: LocalIndex,
    ledger: Ledger,
    *,
    space: Telling,
    stack: AsyncExitStack,
) -> VectorIndex:
    """The index that knows where to search partitions of any size.

    Raises:
        Invalid: the ledger cannot search by itself; says what is missing, and the way out.
    """
    least = settings.search_in_database_from
    if least is None:
        return await viewed_index(settings, views, inner, ledger, space=space, stack=stack)
    if not isinstance(ledger, SearchingLedger):
        raise Invalid(
            "search_in_database_from needs a memory in PostgreSQL, with the extension pgvector; a "
            "file is searched in memory. Unset it, or set database to a postgresql:// address"
        )
    try:
        await ledger.check_search()
    except Invalid as error:
        raise Invalid(f"{error}. Or unset search_in_database_from") from error
    index = DatabaseIndex(
        inner,
        ledger,
        ledger,
        space=space,
        least=least,
        max_bytes=settings.index_memory_mb * 1_000_000,
    )
    return await stack.enter_async_context(index)
