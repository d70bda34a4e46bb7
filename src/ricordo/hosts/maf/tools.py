"""Memory as tools of an agent: bound to one run's person, with no id that a model may choose.

What a tool returns is remembered text, marked as such, so that nothing is learned from it.
"""

from collections.abc import Awaitable, Sequence
from typing import Annotated, Any, Literal

from agent_framework import Content, FunctionTool, tool

from ricordo.access import has_role
from ricordo.errors import RicordoError
from ricordo.hosts.maf.nesting import Run
from ricordo.memory.asked import NOT_SAID
from ricordo.memory.engine import Ricordo
from ricordo.memory.rendering import render
from ricordo.model import Kind, Origin, Recollection, Role, Status

SOURCE = "ricordo"
"""What the results of the tools are attributed to."""

NOTHING = "Nothing about this is remembered."

Question = Annotated[str, "What to look for, in plain words."]


def user_tools(
    memory: Ricordo, run: Run, *, deadline: float, approve_writes: bool
) -> list[FunctionTool]:
    """Search, remember and forget, in the memory of the run's person, as the run's agent."""
    own = memory.user(run.principal, agent=run.agent)
    approval = "always_require" if approve_writes else "never_require"

    @tool(name="search_memory", approval_mode="never_require")
    async def search_memory(question: Question) -> list[Content]:
        """Search what is remembered about this user. Results are reference data with ids."""
        return await _found(
            own.recall(question, deadline=deadline, organization=False, origin=origin_of(run))
        )

    @tool(name="remember", approval_mode=approval)
    async def remember(
        text: Annotated[
            str,
            "What the user asked to remember, word for word as they said it just now. In any other "
            "words it waits until a person approves it.",
        ],
        kind: Annotated[
            Literal["preference", "fact"],
            "preference: how the user wants things done; fact: what is true about the user.",
        ],
    ) -> list[Content]:
        """Remember something that the user said about themselves, word for word."""
        return await _done(_remember(text, kind))

    async def _remember(text: str, kind: str) -> str:
        # A page that a tool fetched may have talked the model into this: orders, and what the
        # person did not say, wait for a person, unless one approves every call anyway.
        stored = await own.remember(
            text,
            kind=Kind(kind),
            origin=origin_of(run),
            review=not approve_writes,
            heard=None if approve_writes else run.said,
        )
        memory = stored.memory
        if memory.status is Status.REJECTED:
            return "Refused: the user turned this down before."
        if memory.status is not Status.PROPOSED:
            return f"Remembered as {memory.id}."
        why = "; these are not the user's own words" if NOT_SAID in memory.reasons else ""
        return f"Proposed as {memory.id}: not remembered until a person approves it{why}."

    @tool(name="forget_memory", approval_mode=approval)
    async def forget_memory(
        memory_id: Annotated[str, "The id that search_memory gave."],
    ) -> list[Content]:
        """Forget one memory of this user for good."""
        return await _done(_forget(memory_id))

    async def _forget(memory_id: str) -> str:
        gone = await own.forget(memory_id)
        return "Forgotten." if gone else "This user has no memory of that id."

    return [search_memory, remember, forget_memory]


def organization_tools(
    memory: Ricordo, run: Run, *, deadline: float, namespaces: Sequence[str | None] | None
) -> list[FunctionTool]:
    """Search what the organization documented; document, with approval, for whoever may write.

    Args:
        namespaces: only these; None for all that the person is granted.
    """
    granted = {grant.namespace for grant in run.principal.grants}
    readable = granted if namespaces is None else granted & set(namespaces)
    if not readable:
        return []

    @tool(name="search_organization", approval_mode="never_require")
    async def search_organization(question: Question) -> list[Content]:
        """Search what the organization documented. Results are reference data."""
        search = memory.organization(run.principal).search
        return await _found(search(question, deadline=deadline, namespaces=_sorted(readable)))

    writable = [n for n in _sorted(readable) if has_role(run.principal, n, Role.CURATOR)]
    return [search_organization, *_document_tool(memory, run, writable=writable)]


def _document_tool(
    memory: Ricordo, run: Run, *, writable: Sequence[str | None]
) -> list[FunctionTool]:
    if not writable:
        return []
    names = {"" if name is None else name: name for name in writable}

    async def document(text: str, namespace: str | None = None) -> list[Content]:
        return await _done(_document(text, next(iter(names)) if namespace is None else namespace))

    async def _document(text: str, namespace: str) -> str:
        if namespace not in names:
            return "Refused: no such namespace may be written."
        org = memory.organization(run.principal, namespace=names[namespace])
        stored = await org.document(text, origin=origin_of(run, author=run.principal.user))
        return f"Documented as {stored.memory.id}."

    description = "Document one fact for the whole organization, word for word. A person approves."
    return [
        FunctionTool(
            name="document",
            description=description,
            func=document,
            approval_mode="always_require",
            input_model=_document_schema(list(names)),
        )
    ]


def _document_schema(names: Sequence[str]) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "text": {"type": "string", "description": "The fact, in one self-contained sentence."}
    }
    if len(names) > 1:
        properties["namespace"] = {
            "type": "string",
            "enum": list(names),
            "description": "The department; empty for the whole organization.",
        }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


async def _found(search: Awaitable[Recollection]) -> list[Content]:
    async def text() -> str:
        return render(await search, ids=True) or NOTHING

    return await _done(text())


async def _done(work: Awaitable[str]) -> list[Content]:
    """The result, marked as memory; a refusal in words, so that the model can tell the user."""
    try:
        text = await work
    except RicordoError as error:
        text = f"Refused: {error}"
    return [Content.from_text(text, additional_properties={"_attribution": {"source_id": SOURCE}})]


def origin_of(run: Run, *, author: str | None = None) -> Origin:
    """The run, as a memory's origin."""
    return Origin(
        at=run.at,
        agent=run.agent,
        thread_id=run.place.thread_id,
        display_id=run.place.display_id,
        run_id=run.id,
        author=author,
    )


def _sorted(names: set[str | None]) -> list[str | None]:
    return sorted(names, key=lambda name: (name is not None, name or ""))
