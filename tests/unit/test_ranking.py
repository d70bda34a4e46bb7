"""Fusing: what counts, and that the order depends on nothing else."""

from datetime import UTC, datetime

from ricordo.memory import ranking
from ricordo.model import Hit, Hits, Kind, Memory, Partition, UserScope

SCOPE = UserScope(tenant="acme", user="alice")
FACTS = Partition(scope=SCOPE, kind=Kind.FACT)
AT = datetime(2026, 3, 1, tzinfo=UTC)


def _memory(number: int, text: str) -> Memory:
    return Memory(
        id=f"m_{number}", scope=SCOPE, kind=Kind.FACT, text=text, recorded_at=AT, updated_at=AT
    )


def _order(
    question: str, texts: list[str], *, length: float = 8, company: bool = True
) -> list[str]:
    memories = [_memory(number, text) for number, text in enumerate(texts)]
    hits = Hits(
        hits=tuple(
            Hit(
                memory_id=memory.id,
                partition=FACTS,
                cosine=0.5,
                bm25=0.0,
                length=len(memory.text.split()),
                in_company=company,
            )
            for memory in memories
        ),
        visible=len(memories),
        length=length,
    )
    found = ranking.rank(question, hits, (), {memory.id: memory for memory in memories})
    return [item.memory.text for item in found]


def test_what_the_named_person_said_comes_first() -> None:
    texts = ["Bob: I like tea", "Ann: I like tea"]
    assert _order("What does Ann like?", texts) == texts[::-1]
    assert _order("What do they like?", texts) == texts
    assert _order("What do Ann and Bob like?", texts) == texts


def test_short_turns_and_questions_hold_little() -> None:
    texts = ["ok great", "we moved to a house by the lake", "we moved to a house by the lake?"]
    assert _order("What happened?", texts) == [texts[1], texts[2], texts[0]]


def test_turns_of_a_chat_that_tell_a_time_answer_when() -> None:
    texts = ["we went there and then I think", "we went there last week I think"]
    assert _order("When did they go?", texts) == texts[::-1]
    assert _order("Where did they go?", texts) == texts


def test_length_says_nothing_of_statements_and_documents() -> None:
    """A memory that stands alone, or among long texts, is not worse for being short."""
    texts = ["Is vegan", "Lives in a house by the lake since last week"]
    assert _order("What does she eat?", texts, company=False) == texts
    assert _order("What does she eat?", texts, length=100) == texts


def _found(question: str, *rows: tuple[str, float, float]) -> list[str]:
    memories = [_memory(number, text) for number, (text, _, _) in enumerate(rows)]
    hits = Hits(
        hits=tuple(
            Hit(
                memory_id=memory.id,
                partition=FACTS,
                cosine=0.5,
                bm25=0.0,
                meaning=meaning,
                words=words,
            )
            for memory, (_, meaning, words) in zip(memories, rows, strict=True)
        ),
        visible=len(memories),
    )
    found = ranking.rank(question, hits, (), {memory.id: memory for memory in memories})
    return [item.memory.text for item in found]


def test_another_language_is_not_held_against_a_memory() -> None:
    """It cannot match a word; where others could, closeness makes up for a part of that."""
    german = "Auf langen Flügen trage ich immer Stützstrümpfe, das hilft"
    english = "Visitors must wear shoes in hall three, it is the rule"
    rows = ((english, 0.20, 0.15), (german, 0.30, 0.0))
    assert _found("What do I wear on planes?", *rows) == [german, english]
    assert _found("Planes: wear?", *rows) == [english, german], "no language is known"
    alike = ((english, 0.20, 0.15), ("He was in the air with stockings", 0.30, 0.0))
    assert _found("What do I wear on planes?", *alike)[0] == english, "all in one language"


def test_ties_are_broken_by_id() -> None:
    assert _order("x", ["b c", "a c"]) == ["b c", "a c"]
