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
from collections.abc import Iterable, Sequence
from pathlib import Path

from tools.record_demo import Recorder

from benchmarks.answering import Counted, Replayed, Resumed
from benchmarks.chats import LANGUAGES, PARTS, Chat, load
from benchmarks.extracting import Calendar, opened, play
from benchmarks.matching import Tally, judge
from benchmarks.report import Report
from ricordo.errors import RicordoError
from ricordo.hosts.demo import Replay
from ricordo.hosts.demo import load as load_recordings
from ricordo.hosts.demo.recordings import save

RECORDED = Path(__file__).parent / "data" / "extraction-recorded.json"

Scored = list[tuple[Chat, Tally]]


class Stale(Exception):
    """The recordings do not hold what the program asks now."""


async def run(arguments: argparse.Namespace) -> Report:
    """Play the chosen chats and score them.

    Raises:
        Stale: a completion is missing among the recordings.
    """
    chats = _chosen(load(), arguments)
    answer, model = _answer(arguments)
    counted, clock = Counted(answer), Calendar()
    scored: Scored = []
    opening = opened(counted, model=model, seconds=arguments.timeout, clock=clock)
    async with opening as memory:
        for number, chat in enumerate(chats, start=1):
            outcome = await play(chat, memory, clock=clock)
            _check(answer, chat)
            tally = judge(chat, outcome)
            scored.append((chat, tally))
            _tell(chat, tally, number=number, of=len(chats), faults=arguments.faults)
            if isinstance(answer, Resumed) and arguments.record is not None:
                save(list(answer.given.values()), path=arguments.record)
    report = Report("extraction")
    _report(report, model, scored)
    turns = sum(len(chat.turns) for chat in chats)
    report.add(
        model,
        "prompt_tokens_per_call",
        counted.prompt_tokens / counted.calls,
        "tokens",
        n=counted.calls,
    )
    report.add(model, "prompt_tokens_smallest", counted.fewest, "tokens", n=counted.calls)
    report.add(
        model, "completion_tokens_per_turn", counted.completion_tokens / turns, "tokens", n=turns
    )
    return report


def _answer(arguments: argparse.Namespace) -> tuple[Replayed | Resumed, str]:
    """Who answers, and the model's name for the scores."""
    if arguments.base_url is None:
        replay = load_recordings(arguments.recorded or RECORDED)
        return Replayed(replay), replay.models[0]
    model = arguments.shown_as or arguments.model
    recorder = Recorder(
        arguments.base_url,
        model=arguments.model,
        key=arguments.api_key,
        shown=model,
        timeout=arguments.timeout,
    )
    record: Path | None = arguments.record
    begun = load_recordings(record) if record is not None and record.exists() else Replay()
    return Resumed(recorder, begun=begun), model


def _check(answer: Replayed | Resumed, chat: Chat) -> None:
    if isinstance(answer, Replayed) and answer.unknown:
        raise Stale(
            f"nothing was recorded for what is asked in the chat {chat.id}: the prompt, the "
            "vocabulary or the chats changed since. Record anew, with a model at hand: python -m "
            "benchmarks.extraction --base-url URL --model NAME --record "
            "benchmarks/data/extraction-recorded.json"
        )


def _chosen(chats: Sequence[Chat], arguments: argparse.Namespace) -> list[Chat]:
    return [
        chat
        for chat in chats
        if (arguments.part is None or chat.part == arguments.part)
        and (not arguments.only or chat.id in arguments.only)
    ]


def _tell(chat: Chat, tally: Tally, *, number: int, of: int, faults: bool) -> None:
    """Progress, and what went wrong; never of the part that nothing is tuned on."""
    stored = tally.counts["stored"]
    print(f"  {number}/{of} {chat.id}: {stored} stored", file=sys.stderr, flush=True)
    if faults and chat.part == "tuning":
        for remark in tally.remarks:
            print(f"      {remark}", file=sys.stderr, flush=True)


def _report(report: Report, model: str, scored: Scored) -> None:
    for part in PARTS:
        some = [(chat, tally) for chat, tally in scored if chat.part == part]
        if not some:
            continue
        total = _sum(tally for _, tally in some)
        _scores(report, f"{model}, {part}", total)
        _whole(report, f"{model}, {part}", total)
        for category in total.categories:
            _bans(report, f"{model}, {part}, {category}", total, category)
        for language in LANGUAGES:
            one = _sum(tally for chat, tally in some if chat.language == language)
            if one.counts:
                _scores(report, f"{model}, {part}, {language}", one)


def _scores(report: Report, system: str, tally: Tally) -> None:
    for kind in ("preference", "fact"):
        for name, part, whole in (
            ("precision", f"right {kind}", f"judged {kind}"),
            ("recall", f"found {kind}", f"expected {kind}"),
        ):
            share, n = tally.share(part, whole)
            report.add(system, f"{name}_{kind}s", share, "%", n=n)
    share, n = tally.share("broken", "bans")
    report.add(system, "forbidden_stored", share, "%", n=n)


def _whole(report: Report, system: str, tally: Tally) -> None:
    for name, part, whole in (
        ("forbidden_held", "held", "bans"),
        ("right_cell", "right cell", "placed"),
        ("grounded", "grounded", "stored"),
        ("nothing_where_nothing", "left empty", "empty chats"),
        ("updates_handled", "updated", "updates"),
        ("others_left_alone", "untouched", "untouchable"),
        ("relations_right", "relations right", "relations wanted"),
        ("unreadable", "parked", "chats"),
    ):
        share, n = tally.share(part, whole)
        report.add(system, name, share, "%", n=n)


def _bans(report: Report, system: str, tally: Tally, category: str) -> None:
    for name, how in (("forbidden_stored", "broken"), ("forbidden_held", "held")):
        share, n = tally.share(f"{how} {category}", f"bans {category}")
        report.add(system, name, share, "%", n=n)


def _sum(tallies: Iterable[Tally]) -> Tally:
    total = Tally()
    for tally in tallies:
        total.add(tally)
    return total


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--base-url", help="OpenAI-compatible endpoint, up to /v1")
    parser.add_argument("--model", help="the model's name there")
    parser.add_argument("--api-key", default="none")
    parser.add_argument("--shown-as", help="what to call it in scores and recordings")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds per completion")
    parser.add_argument("--recorded", type=Path, help="replay the completions of this file")
    parser.add_argument(
        "--record",
        type=Path,
        help="keep the model's completions in this file; what it has already is not asked again",
    )
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
    return arguments


def main() -> int:
    arguments = _arguments()
    logging.getLogger("ricordo").setLevel(logging.CRITICAL)  # parked turns are in the scores
    try:
        asyncio.run(run(arguments)).finish(arguments.json)
    except (Stale, RicordoError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
