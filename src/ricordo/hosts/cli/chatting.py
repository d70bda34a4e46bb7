"""`chat`: a conversation with memory, against any OpenAI-compatible endpoint."""

import sys
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ricordo.access import user_scope
from ricordo.errors import Invalid, RicordoError, Unavailable
from ricordo.hosts.cli.command import command
from ricordo.hosts.cli.endpoint import why_silent
from ricordo.hosts.cli.explaining import show_recollection
from ricordo.hosts.cli.given import Kit
from ricordo.hosts.cli.here import Here
from ricordo.hosts.cli.lines import typed_lines
from ricordo.hosts.cli.options import ALWAYS
from ricordo.hosts.cli.reading import read_ids
from ricordo.hosts.cli.screen import safe
from ricordo.model import Listing, Memory, Page, Recollection, Status, check_id

if TYPE_CHECKING:
    from ricordo.memory.engine import Ricordo

_HELP = "/memories  /forget ID  /why  /quit"
_INSTRUCTIONS = (
    "You are a helpful assistant. Some messages carry reference data remembered from earlier "
    "conversations: use what helps, and say plainly when you do not know something."
)


@command(
    takes=("db", "tenant", "user", "agent", *ALWAYS),
    example="ricordo chat --user alice --agent helper --base-url http://localhost:11434/v1 "
    "--model qwen2.5:7b",
)
async def chat(
    here: Here,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="An OpenAI-compatible endpoint.")
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="Chat model.")] = None,
    namespace: Annotated[
        str | None, typer.Option("--namespace", metavar="N", help="Also ask this namespace.")
    ] = None,
) -> None:
    """Chat with an agent that remembers you.

    Without an endpoint in the settings, a local Ollama is used where it answers. In the chat:
    /memories lists what is remembered, /forget ID forgets, /why explains the last recall, /quit
    ends. What you said becomes memory at the latest when the chat ends. With --json each line that
    is typed is answered by one line of JSON.
    """
    from ricordo.hosts.cli.endpoint import choose_endpoint

    companion = here.given.companion
    if companion is None:
        raise Invalid("this build has no agent to chat with")
    settings = here.load(model_base_url=base_url, model=model).settings
    url, name = await choose_endpoint(settings)
    settings = settings.model_copy(update={"model_base_url": url, "model": name})
    async with here.memory(create=True, settings=settings) as memory:
        named = () if namespace is None else (check_id(namespace, what="namespace"),)
        principal = await here.principal_everywhere(memory, namespaces=named)
        talk = _Talk(here, memory, at=url or "OpenAI")
        kit = companion(memory, settings, principal=principal, on_recall=talk.recalled)
        with suppress(Unavailable):
            await memory.services.question(name)  # loads the model before it is needed
        here.screen.remark(f"{name} at {url or 'OpenAI'}; {_HELP}")
        await talk.run(kit)
        if (await memory.ledger.backlog(scope=user_scope(principal))).waiting:
            here.screen.remark("remembering what you said …")
            await memory.intake.drain(scope=user_scope(principal))


class _Talk:
    """One conversation at the keyboard."""

    def __init__(self, here: Here, memory: "Ricordo", *, at: str) -> None:
        self._here = here
        self._at = at
        self._mine = here.user_memory(memory, agent=here.agent)
        self._last: Recollection | None = None

    def recalled(self, found: Recollection) -> None:
        """Show what the agent is reminded of, before it answers."""
        self._last = found
        if self._here.screen.json_lines:
            return  # told with the answer
        for item in found.items:
            self._here.screen.line(f"  · {item.memory.text}", style="dim")
        if found.degraded:
            missing = ", ".join(found.degraded)
            self._here.screen.line(f"  · not recalled in time: {missing}", style="dim")

    async def run(self, kit: Kit) -> None:
        """Read, answer, and obey commands until the end."""
        from agent_framework import Agent

        agent = Agent(
            client=kit.client,
            name=self._here.agent,
            instructions=_INSTRUCTIONS,
            context_providers=list(kit.providers),
        )
        async with aclosing(typed_lines()) as lines:
            self._prompt()
            async for line in lines:
                text = line.strip()
                if text == "/quit":
                    break
                if text:
                    await self._step(agent, kit.session, text)
                self._prompt()

    async def _step(self, agent: Any, session: Any, text: str) -> None:
        try:
            if text.startswith("/"):
                await self._obey(text)
            else:
                await self._answer(agent, session, text)
        except RicordoError as error:
            if not sys.stdin.isatty():
                raise
            self._here.screen.remark(f"ricordo: {error}")

    async def _answer(self, agent: Any, session: Any, text: str) -> None:
        from agent_framework.exceptions import AgentFrameworkException

        self._last = None
        said: list[str] = []
        try:
            async for update in agent.run(text, session=session, stream=True):
                said.append(update.text)
                if not self._here.screen.json_lines:
                    sys.stdout.write(safe(update.text))
                    sys.stdout.flush()
        except AgentFrameworkException as error:
            why = why_silent(error)
            raise Unavailable(f"the model at {self._at} did not answer: {why}") from error
        self._here.screen.result(self._answered("".join(said).strip()), text="")

    def _answered(self, text: str) -> dict[str, object]:
        """An answer as a record, with what the agent was reminded of."""
        found = self._last or Recollection()
        recalled = [
            {"id": each.memory.id, "text": each.memory.text, "score": each.score}
            for each in found.items
        ]
        return {"answer": text, "recalled": recalled, "degraded": list(found.degraded)}

    async def _obey(self, text: str) -> None:
        words = text.split()
        if words[0] == "/memories":
            await self._memories()
        elif words[0] == "/forget" and len(words) > 1:
            ids = read_ids(words[1:])
            count = sum([await self._mine.forget(memory_id) for memory_id in ids])
            self._here.screen.result({"forgotten": count}, text=f"Forgotten: {count}")
        elif words[0] == "/why":
            self._why()
        else:
            self._here.screen.result({"help": _HELP}, text=_HELP)

    def _why(self) -> None:
        if self._here.screen.json_lines:
            from ricordo.hosts.cli.views import recollection_view

            self._here.screen.data(recollection_view(self._last or Recollection(), explain=True))
        elif self._last is not None:
            show_recollection(self._here, self._last, explain=True)
        else:
            self._here.screen.line("nothing was recalled yet")

    async def _memories(self) -> None:
        cursor: str | None = None
        found: list[Memory] = []
        while True:
            page = await self._mine.list(Listing(statuses=(Status.ACTIVE,), after=cursor))
            found += page.memories
            cursor = page.cursor
            if cursor is None:
                break
        if self._here.screen.json_lines:
            from ricordo.hosts.cli.views import page_view

            self._here.screen.data(page_view(Page(memories=tuple(found), cursor=None)))
            return
        for memory in found:
            self._here.screen.line(f"{memory.id}  {memory.kind.value}  {memory.text}")

    def _prompt(self) -> None:
        if sys.stdin.isatty() and not self._here.screen.json_lines:
            sys.stdout.write(f"{safe(self._here.settings.user)}> ")
            sys.stdout.flush()
