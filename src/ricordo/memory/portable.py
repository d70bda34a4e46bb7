"""Memory as plain records, for export, files and machines. Field names are stable.

A record is a dictionary that `json.dumps` takes as it is; its ``record`` says what it is:
``memory``, ``entity``, ``merge``, ``refusal``, ``dead_letter`` or ``turn``. Times are ISO 8601 in
UTC.
"""

from datetime import UTC, datetime

from ricordo.model import (
    DeadLetter,
    Memory,
    Missed,
    OrganizationScope,
    Origin,
    Path,
    Recalled,
    Recollection,
    Refusal,
    Relation,
    RelationClaim,
    Revision,
    Scope,
    Step,
    Turn,
)

Record = dict[str, object]


def time_record(at: datetime | None) -> str | None:
    """ISO 8601 in UTC."""
    return None if at is None else at.astimezone(UTC).isoformat()


def scope_record(scope: Scope) -> Record:
    """``{"type": "user" | "organization", "tenant", "user" | "namespace"}``."""
    if isinstance(scope, OrganizationScope):
        return {"type": "organization", "tenant": scope.tenant, "namespace": scope.namespace}
    return {"type": "user", "tenant": scope.tenant, "user": scope.user}


def origin_record(origin: Origin) -> Record:
    """Where something comes from."""
    return {
        "thread_id": origin.thread_id,
        "display_id": origin.display_id,
        "run_id": origin.run_id,
        "agent": origin.agent,
        "author": origin.author,
        "at": time_record(origin.at),
        "message_ids": list(origin.message_ids),
        "quote": origin.quote,
    }


def memory_record(memory: Memory) -> Record:
    """A memory with all its fields; ``origin`` lists every turn that it came from."""
    return {
        "id": memory.id,
        "text": memory.text,
        "kind": memory.kind.value,
        "scope": scope_record(memory.scope),
        "agent": memory.agent,
        "status": memory.status.value,
        "source": memory.source.value,
        "origin": [origin_record(origin) for origin in memory.origins],
        "recorded_at": time_record(memory.recorded_at),
        "updated_at": time_record(memory.updated_at),
        "valid_from": time_record(memory.valid_from),
        "valid_until": time_record(memory.valid_until),
        "expires_at": time_record(memory.expires_at),
        "confidence": memory.confidence,
        "importance": memory.importance,
        "sensitivity": memory.sensitivity.value,
        "pinned": memory.pinned,
        "recalls": memory.recalls,
        "last_recalled_at": time_record(memory.last_recalled_at),
        "version": memory.version,
        "pending": [claim_record(claim) for claim in memory.pending],
        "reasons": list(memory.reasons),
        "replaces": list(memory.replaces),
        "prompt": memory.prompt,
        "model": memory.model,
        "demoted_at": time_record(memory.demoted_at),
        "merged_into": memory.merged_into,
    }


def claim_record(claim: RelationClaim) -> Record:
    """A relation as it was stated."""
    return {
        "source": claim.source.name,
        "source_type": claim.source.type,
        "relation": claim.relation,
        "target": claim.target.name,
        "target_type": claim.target.type,
        "valid_from": time_record(claim.valid_from),
        "valid_until": time_record(claim.valid_until),
        "confidence": claim.confidence,
    }


def relation_record(relation: Relation) -> Record:
    """An edge of the graph, with the names of its ends."""
    return {
        "id": relation.id,
        "source": relation.source_name,
        "relation": relation.type,
        "target": relation.target_name,
        "scope": scope_record(relation.scope),
        "evidence": list(relation.evidence),
        "valid_from": time_record(relation.valid_from),
        "valid_until": time_record(relation.valid_until),
        "recorded_at": time_record(relation.recorded_at),
        "closed_at": time_record(relation.closed_at),
        "confidence": relation.confidence,
    }


def revision_record(revision: Revision) -> Record:
    """An earlier text of a memory."""
    return {
        "memory_id": revision.memory_id,
        "version": revision.version,
        "text": revision.text,
        "replaced_at": time_record(revision.replaced_at),
        "by": revision.by,
    }


def refusal_record(refusal: Refusal) -> Record:
    """What was refused, and why."""
    return {
        "id": refusal.id,
        "rule": None if refusal.rule is None else refusal.rule.value,
        "reason": refusal.reason,
        "claim": None if refusal.claim is None else claim_record(refusal.claim),
        "text": refusal.text,
        "at": time_record(refusal.at),
        "scope": scope_record(refusal.scope),
        "origin": None if refusal.origin is None else origin_record(refusal.origin),
    }


def step_record(step: Step) -> Record:
    """One step of a walk, in its own direction."""
    return {
        "source": step.source,
        "relation": step.type,
        "target": step.target,
        "forward": step.forward,
        "scope": scope_record(step.scope),
        "evidence": list(step.evidence),
    }


def path_record(path: Path) -> Record:
    """A walk from one entity to another."""
    return {
        "start": path.start,
        "end": path.end,
        "steps": [step_record(step) for step in path.steps],
    }


def recalled_record(item: Recalled) -> Record:
    """A recalled memory: its own fields, and its score, signals and path."""
    return {
        **memory_record(item.memory),
        "score": item.score,
        "signals": dict(item.signals),
        "path": None if item.path is None else path_record(item.path),
    }


def recollection_record(found: Recollection) -> Record:
    """Everything that was found for one question."""
    return {
        "items": [recalled_record(item) for item in found.items],
        "paths": [path_record(path) for path in found.paths],
        "degraded": list(found.degraded),
        "visible": found.visible,
        "left_out": found.left_out,
        "took_ms": round(found.took_ms, 3),
        "stages": {name: round(ms, 3) for name, ms in found.stages.items()},
        "faults": dict(found.faults),
        "nearly": [missed_record(item) for item in found.nearly],
    }


def missed_record(item: Missed) -> Record:
    """A memory that nearly made it: its own fields, and what kept it out."""
    return {
        **memory_record(item.memory),
        "score": item.score,
        "signals": dict(item.signals),
        "cut": item.cut.value,
        "of": item.of,
    }


def turn_record(turn: Turn) -> Record:
    """A turn that waits, with what was said."""
    return {
        "thread_id": turn.thread_id,
        "display_id": turn.display_id,
        "run_id": turn.run_id,
        "agent": turn.agent,
        "at": time_record(turn.at),
        "messages": [
            {"role": s.speaker.value, "text": s.text, "id": s.id, "trusted": s.trusted}
            for s in turn.said
        ],
    }


def dead_letter_record(letter: DeadLetter) -> Record:
    """A job that could not be processed."""
    work = letter.job.work
    return {
        "id": letter.job.id,
        "scope": scope_record(letter.job.scope),
        "reason": letter.reason,
        "parked_at": time_record(letter.parked_at),
        "turn": turn_record(work) if isinstance(work, Turn) else None,
        "memory_id": None if isinstance(work, Turn) else work.memory_id,
    }
