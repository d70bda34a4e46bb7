"""What recall returns, and how an index answers."""

from dataclasses import dataclass, field
from enum import StrEnum

from ricordo.model.graph import Path
from ricordo.model.memory import Memory
from ricordo.model.scope import Partition


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """The space that vectors and words live in; only equal spaces can be compared.

    Args:
        model: name of the embedding model.
        dimension: length of its vectors.
        transform: name of what is applied after the model, ``"none"`` without.
        words: name of the analyzer that split the texts.
    """

    model: str
    dimension: int
    transform: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """A text made ready to be found; stored beside its memory so that loading needs no model.

    Args:
        vector: unit vector, little-endian float32, `Space.dimension` of them.
        terms: sorted distinct 64-bit hashes of the text's words, little-endian uint64.
        counts: how often each term occurs, uint16, as many as terms.
        length: number of words in the text.
    """

    vector: bytes
    terms: bytes
    counts: bytes
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What each signal counts when an index finds memories by all of them together.

    Meaning is in standard deviations above the mean of everything visible, words in the share of
    the question's information that is matched.

    Args:
        meaning, words: of the memory itself, and of its words with its neighbours'.
        before, earlier, after: meaning of what was said just before in its thread, before that,
            and just after.
        sitting_meaning, sitting_words: the best of what was said in the same sitting.
        date: what was said in a month or year that the question names; as much again on its day.
        unknown: how many times more a memory's own meaning counts, where it stands out, when no
            memory holds a word of the question; the less, the more of them are known.
    """

    meaning: float = 0.0
    words: float = 0.0
    before: float = 0.0
    earlier: float = 0.0
    after: float = 0.0
    sitting_meaning: float = 0.0
    sitting_words: float = 0.0
    date: float = 0.0
    unknown: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Dates:
    """Years, months and days of the month; empty ones are any. All empty is no date."""

    years: tuple[int, ...] = ()
    months: tuple[int, ...] = ()
    days: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """A question made ready for an index.

    Args:
        vector: unit vector as in `Indexed`, or None to search by words only.
        words: per word of the question its alternative terms (surface, stems, parts); a memory's
            score for the word is that of its best alternative.
        weights: of the signals; all 0 finds by cosine and by BM25 alone.
        dates: that the question names.
    """

    vector: bytes | None
    words: tuple[tuple[int, ...], ...] = ()
    weights: Weights = Weights()
    dates: Dates = Dates()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A memory that an index found.

    Args:
        cosine, bm25: in [-1, 1] and ≥ 0, both exact; 0 where unknown.
        meaning, words, nearby, sitting, date: what each signal counts by the asked weights.
        emphasis: what meaning counts more, since words of the question are unknown.
        length: words of the text.
        in_company: whether others of its thread that are visible were said around it.
    """

    memory_id: str
    partition: Partition
    cosine: float
    bm25: float
    meaning: float = 0.0
    words: float = 0.0
    nearby: float = 0.0
    sitting: float = 0.0
    date: float = 0.0
    emphasis: float = 0.0
    length: int = 0
    in_company: bool = False

    @property
    def fused(self) -> float:
        """All signals together."""
        found = self.meaning + self.words + self.nearby + self.sitting + self.date
        return found + self.emphasis


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """Hits, best first by any signal.

    `visible`, how many memories the asker may see, and `length`, their mean number of words, cover
    exactly those. `missing` names what had no part in the answer, because a view did not answer,
    with ``"late"`` or the name of the error.
    """

    hits: tuple[Hit, ...] = ()
    visible: int = 0
    length: float = 0.0
    missing: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """A memory that was found for a question, and why.

    Args:
        score: what it is ordered by, higher first.
        signals: each signal's part, for example ``{"meaning": 0.41, "words": 0.5, "graph": 0.2}``.
        path: the walk that led to it, where one did.
    """

    memory: Memory
    score: float
    signals: dict[str, float] = field(default_factory=dict[str, float])
    path: Path | None = None


class Cut(StrEnum):
    """Why something that was found is not given."""

    LIMIT = "limit"
    """Others scored higher, and no more were asked for."""
    TOKENS = "tokens"
    """It did not fit into what was left of the token budget."""
    DUPLICATE = "duplicate"
    """It says the same as one that is given, or that was ranked before it."""
    EXPIRED = "expired"
    """Its time to be recalled is over."""
    SUPERSEDED = "superseded"
    """Something newer took its place."""
    NOT_VALID = "not valid"
    """It is not true yet, or no more."""
    NOT_APPROVED = "not approved"
    """A person has not said yes to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """A memory that nearly made it, and what kept it out.

    Args:
        score, signals: as of what is given.
        of: id of the memory that says the same, of a duplicate.
    """

    memory: Memory
    score: float
    cut: Cut
    signals: dict[str, float] = field(default_factory=dict[str, float])
    of: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    """Everything that was found for one question.

    Args:
        items: best first, near-duplicates removed, within the token budget.
        paths: walks from entities of the question (or the user) into the graphs.
        degraded: what was missing because of the deadline or a fault: ``"meaning"``, ``"graph"``, …
        visible: how many memories could have been found.
        took_ms: time spent, milliseconds.
        left_out: how many found memories did not fit the budget.
        nearly: what came next and was not given, best first; as many as were asked for.
        stages: milliseconds by stage; some of them ran side by side.
        faults: for each of `degraded`, ``"late"`` or the name of the error.
    """

    items: tuple[Recalled, ...] = ()
    paths: tuple[Path, ...] = ()
    degraded: tuple[str, ...] = ()
    visible: int = 0
    took_ms: float = 0.0
    left_out: int = 0
    nearly: tuple[Missed, ...] = ()
    stages: dict[str, float] = field(default_factory=dict[str, float])
    faults: dict[str, str] = field(default_factory=dict[str, str])
