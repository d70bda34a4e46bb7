"""Who answers the benchmark `extraction`: a model, or what one said when it was recorded."""

from dataclasses import dataclass, field
from typing import Any

from tools.record_demo import Recorder

from ricordo.hosts.demo import Recording, Replay
from ricordo.hosts.demo.recordings import Answer, Reply, digest


class Replayed:
    """Gives what was recorded, and counts the requests that nothing was recorded for."""

    def __init__(self, replay: Replay) -> None:
        self._replay = replay
        self.unknown = 0

    def __call__(self, request: dict[str, Any]) -> Reply:
        reply = self._replay(request)
        self.unknown += reply.status != 200
        return reply


class Resumed:
    """Asks a model only for what is not recorded yet; every answer given is kept."""

    def __init__(self, recorder: Recorder, *, begun: Replay) -> None:
        self._recorder = recorder
        self._begun = begun
        self.given: dict[str, Recording] = {}

    def __call__(self, request: dict[str, Any]) -> Reply:
        known = self._begun.recordings.get(digest(request))
        if known is not None:
            self.given[known.digest] = known
            return self._begun(request)
        reply = self._recorder(request)
        self.given.update(self._recorder.kept)
        return reply


@dataclass
class Counted:
    """Adds up calls and tokens, as the endpoint reported them."""

    answer: Answer
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    fewest: int = field(default=0)
    """Prompt tokens of the smallest call: about what the prompt itself costs."""

    def __call__(self, request: dict[str, Any]) -> Reply:
        reply = self.answer(request)
        if reply.status == 200:
            usage: dict[str, int] = reply.body.get("usage") or {}
            prompt = int(usage.get("prompt_tokens") or 0)
            self.calls += 1
            self.prompt_tokens += prompt
            self.completion_tokens += int(usage.get("completion_tokens") or 0)
            self.fewest = min(self.fewest or prompt, prompt)
        return reply
