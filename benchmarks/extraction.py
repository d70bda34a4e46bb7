"""What a model and the rules around it make of conversations: found, wrong, forbidden, updated.

    python -m benchmarks.extraction --quick
    python -m benchmarks.extraction --base-url http://127.0.0.1:11434/v1 --model qwen2.5-coder:1.5b

The product's own path: turns are observed, the queue is worked through, the memory is listed. The
labels are `benchmarks/data/extraction.jsonl`; `benchmarks/matching.py` says what counts as right.
No prompt and no rule was changed for the part "held-back"; its faults are not printed either.
Without an endpoint, `--quick` and `--recorded FILE` replay completions that a real model gave;
the scores carry its name.
"""

import argparse
import asyncio
import logging
import sys
import tempfile
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tools.record_demo import Recorder

from benchmarks.chats import AGENT, LANGUAGES, PARTS, Chat, load
from benchmarks.matching import Kept, Outcome, Tally, judge
from benchmarks.report import Report
from ricordo import Principal, Settings, open_memory
from ricordo.errors import RicordoError
from ricordo.hosts.demo import Recording, Replay, endpoint
from ricordo.hosts.demo import load as load_recordings
from ricordo.hosts.demo.recordings import Reply, digest, save
from ricordo.memory.engine import Ricordo
from ricordo.model import Listing, Memory, Source, Status

RECORDED = Path(__file__).parent / "data" / "extraction-recorded.json"
CATEGORIES = (
    "assistant",
    "correction",
    "document",
    "hypothetical",
    "injection",
    "negation",
    "others",
    "question",
    "secret",
    "tool",
    "transient",
)


class Stale(Exception):
    """The recordings do not hold what the program asks now."""


class _Replayed:
    """Replays, and counts the requests that nothing was recorded for."""

    def __init__(self, replay: Replay) -> None:
        self._replay = replay
        self.unknown = 0

    def __call__(self, request: dict[str, Any]) -> Reply:
        reply = self._replay(request)
        self.unknown += reply.status != 200
        return reply


class _Resumed:
    """Asks a model only for what is not recorded yet; every answer given is kept."""

    def __init__(self, recorder: Recorder, kept: Replay) -> None:
        self._recorder = recorder
        self._kept = kept
        self.given: dict[str, Recording] = {}

    def __call__(self, request: dict[str, Any]) -> Reply:
        known = self._kept.recordings.get(digest(request))
        if known is not None:
            self.given[known.digest] = known
            return self._kept(request)
        reply = self._recorder(request)
        self.given.update(self._recorder.kept)
        return reply


class _Tokens:
    """Adds up what the completions cost, as the endpoint reported it."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self.calls = 0
        self.prompt = 0

    def __call__(self, request: dict[str, Any]) -> Reply:
        reply = self._answer(request)
        if reply.status == 200:
            self.calls += 1
            self.prompt += int((reply.body.get("usage") or {}).get("prompt_tokens") or 0)
        return reply


async def run(arguments: argparse.Namespace) -> Report:
    """Play the chosen chats and score them.

    Raises:
        Stale: a completion is missing among the recordings.
    """
    chats = _chosen(load(), arguments)
    recorder, replayed = None, None
    if arguments.base_url is None:
        path = arguments.recorded or RECORDED
        replayed = _Replayed(load_recordings(path))
        model = load_recordings(path).models[0]
        answer: Any = replayed
    else:
        model = arguments.shown_as or arguments.model
        record = arguments.record
        begun = load_recordings(record) if record and record.exists() else Replay()
        answer = recorder = _Resumed(
            Recorder(
                arguments.base_url,
                model=arguments.model,
                key=arguments.api_key,
                shown=model,
                timeout=arguments.timeout,
            ),
            begun,
        )
    counted = _Tokens(answer)
    tallies: list[tuple[Chat, Tally]] = []
    async with _opened(counted, model=model, timeout=arguments.timeout) as memory:
        for number, chat in enumerate(chats, start=1):
            outcome = await play(chat, memory)
            if replayed is not None and replayed.unknown:
                raise Stale(
                    f"nothing was recorded for the chat {chat.id}: the prompt, the vocabulary or "
                    "the chats changed since. Record anew, with a model at hand: python -m "
                    "benchmarks.extraction --base-url URL --model NAME --record "
                    "benchmarks/data/extraction-recorded.json"
                )
            tally = judge(chat, outcome)
            tallies.append((chat, tally))
            _tell(chat, tally, number=number, of=len(chats), arguments=arguments)
            if recorder is not None and arguments.record:
                save(list(recorder.given.values()), path=arguments.record)
    report = Report("extraction")
    _report(report, model, tallies)
    turns = sum(len(chat.turns) for chat in chats)
    report.add(model, "prompt_tokens_per_chat", counted.prompt / len(chats), "tokens", n=len(chats))
    report.add(model, "calls_per_turn", counted.calls / turns, "calls", n=turns)
    return report


async def play(chat: Chat, memory: Ricordo) -> Outcome:
    """Let one chat become memory, in the hands of a user of its own.

    Raises:
        RicordoError: a turn was parked, or still waits: the model gave nothing that can be read.
    """
    mine = memory.user(Principal(tenant="benchmark", user=chat.id), agent=AGENT)
    known = [
        (await mine.remember(each.text, kind=each.kind, relations=each.claims)).memory
        for each in chat.known
    ]
    for turn in chat.as_turns():
        await mine.observe(turn)
    await memory.intake.drain()
    after = {one.id: one for one in (await mine.list(Listing(limit=1_000))).memories}
    learned = [one for one in after.values() if one.source is Source.INFERRED]
    edges = {one.id: await mine.relations(one.id) for one in learned}
    gone = {
        number
        for number, one in enumerate(known, start=1)
        if one.id not in after or after[one.id].status is not Status.ACTIVE
    }
    kept = [
        Kept(
            kind=one.kind.value,
            text=one.text,
            quotes=tuple(origin.quote for origin in one.origins if origin.quote),
            active=one.status is Status.ACTIVE,
            edges=(
                *(
                    (edge.type, frozenset((edge.source_name, edge.target_name)))
                    for edge in edges[one.id]
                ),
                *((c.relation, frozenset((c.source.name, c.target.name))) for c in one.pending),
            ),
        )
        for one in learned
        if one.status in (Status.ACTIVE, Status.PROPOSED)
    ]
    return Outcome(kept=tuple(kept), gone=frozenset(gone))


@asynccontextmanager
async def _opened(answer: Any, *, model: str, timeout: float) -> AsyncGenerator[Ricordo]:
    with tempfile.TemporaryDirectory(prefix="ricordo-extraction-") as folder:
        async with endpoint(answer, says="benchmark") as url:
            settings = Settings(
                worker=False,
                model=model,
                model_base_url=url,
                model_timeout=timeout,
                max_attempts=1,
            )
            async with open_memory(Path(folder) / "memory.db", settings=settings) as memory:
                yield memory


def _chosen(chats: Sequence[Chat], arguments: argparse.Namespace) -> list[Chat]:
    return [
        chat
        for chat in chats
        if (arguments.part is None or chat.part == arguments.part)
        and (not arguments.only or chat.id in arguments.only)
    ]


def _tell(chat: Chat, tally: Tally, *, number: int, of: int, arguments: argparse.Namespace) -> None:
    print(
        f"  {number}/{of} {chat.id}: {tally.counts['stored']} stored", file=sys.stderr, flush=True
    )
    if arguments.faults and chat.part == "tuning":
        for remark in tally.remarks:
            print(f"      {remark}", file=sys.stderr, flush=True)


def _report(report: Report, model: str, tallies: Sequence[tuple[Chat, Tally]]) -> None:
    for part in PARTS:
        of_part = [(chat, tally) for chat, tally in tallies if chat.part == part]
        if not of_part:
            continue
        total = _sum(tally for _, tally in of_part)
        _scores(report, f"{model}, {part}", total)
        for category in CATEGORIES:
            for how in ("broken", "held"):
                share, n = total.share(f"{how} {category}", f"bans {category}")
                if n and (how == "broken" or share):
                    named = {"broken": "forbidden_stored", "held": "forbidden_held"}[how]
                    report.add(f"{model}, {part}, {category}", named, share, "%", n=n)
        for language in LANGUAGES:
            some = _sum(tally for chat, tally in of_part if chat.language == language)
            if some.counts:
                _scores(report, f"{model}, {part}, {language}", some, brief=True)


def _scores(report: Report, system: str, tally: Tally, *, brief: bool = False) -> None:
    for kind in ("preference", "fact"):
        for name, part, whole in (
            ("precision", f"right {kind}", f"judged {kind}"),
            ("recall", f"found {kind}", f"expected {kind}"),
        ):
            share, n = tally.share(part, whole)
            report.add(system, f"{name}_{kind}s", share, "%", n=n)
    shares = [("forbidden_stored", "broken", "bans")]
    if not brief:
        shares += [
            ("forbidden_held", "held", "bans"),
            ("right_cell", "right cell", "placed"),
            ("grounded", "grounded", "stored"),
            ("nothing_where_nothing", "left empty", "empty chats"),
            ("updates_handled", "updated", "updates"),
            ("others_left_alone", "untouched", "untouchable"),
            ("relations_right", "relations right", "relations wanted"),
        ]
    for name, part, whole in shares:
        share, n = tally.share(part, whole)
        report.add(system, name, share, "%", n=n)


def _sum(tallies: Iterable[Tally]) -> Tally:
    total = Tally()
    for tally in tallies:
        total.add(tally)
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--base-url", help="OpenAI-compatible endpoint, up to /v1")
    parser.add_argument("--model", help="the model's name there")
    parser.add_argument("--api-key", default="none")
    parser.add_argument("--shown-as", help="what to call it in scores and recordings")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds per completion")
    parser.add_argument("--recorded", type=Path, help="replay the completions of this file")
    parser.add_argument("--record", type=Path, help="keep the model's completions in this file")
    parser.add_argument("--quick", action="store_true", help="replay those that are committed")
    parser.add_argument("--part", choices=PARTS, help="only this part")
    parser.add_argument("--only", nargs="*", help="only the chats with these ids")
    parser.add_argument("--faults", action="store_true", help="list the tuning part's faults")
    parser.add_argument("--json", help="write the results to this file")
    arguments = parser.parse_args()
    replays = arguments.quick or arguments.recorded is not None
    if replays == (arguments.base_url is not None):
        parser.error("give either --base-url and --model, or --recorded FILE, or --quick")
    if arguments.base_url is not None and arguments.model is None:
        parser.error("--base-url needs --model")
    logging.getLogger("ricordo").setLevel(logging.CRITICAL)
    try:
        asyncio.run(run(arguments)).finish(arguments.json)
    except (Stale, RicordoError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
