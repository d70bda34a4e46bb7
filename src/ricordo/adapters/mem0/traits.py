"""What has to be known of mem0's stores one by one: what they cannot do, and what they must."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ricordo.errors import Invalid


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """How one of mem0's stores differs from the rest.

    Args:
        fixed: settings that a view needs; others are refused.
        dimension: name of the setting for the length of vectors; None where there is none.
        local: settings that tell that the store lies in this process, or is a file.
        apart: a folder that only one opened store may use; each build gets one of its own in it.
        filters_late: it filters what it found, so it must be asked for everything.
        most_listed: entries that it lists at most.
        refused: why it cannot hold a view at all.
    """

    fixed: Mapping[str, Any] = field(default_factory=dict[str, Any])
    dimension: str | None = "embedding_model_dims"
    local: tuple[str, ...] = ()
    apart: str | None = None
    filters_late: bool = False
    most_listed: int = 1_000_000
    refused: str = ""


_TRAITS: Mapping[str, Traits] = {
    "qdrant": Traits(local=("path",), apart="path"),
    "chroma": Traits(dimension=None, local=("path",)),
    "faiss": Traits(fixed={"distance_strategy": "cosine"}, local=("path",), filters_late=True),
    "milvus": Traits(fixed={"metric_type": "COSINE"}, most_listed=16_384),
    # Its one index over all tenants loses answers of small ones; without it the search is exact.
    "pgvector": Traits(fixed={"hnsw": False, "diskann": False}),
    "langchain": Traits(refused="it has no way to list what it holds by scope"),
    "s3_vectors": Traits(refused="it lists without a filter only, so erasure could not be proved"),
}

_PLAIN = Traits()


def traits_of(provider: str) -> Traits:
    """The traits of a store. Raises `Invalid` for one that cannot hold a view."""
    traits = _TRAITS.get(provider, _PLAIN)
    if traits.refused:
        raise Invalid(f"mem0's store {provider} cannot hold a view: {traits.refused}")
    return traits


def configured(
    provider: str, given: Mapping[str, Any], *, collection: str, dimension: int
) -> dict[str, Any]:
    """The store's configuration, with what a view needs. Raises `Invalid` for what hinders it."""
    traits = traits_of(provider)
    for name, value in traits.fixed.items():
        if given.get(name, value) != value:
            raise Invalid(f"{provider}: {name} must be {value!r} for a view; leave it out")
    if "collection_name" in given:
        raise Invalid(f"{provider}: leave collection_name out; each build of the view has its own")
    sizes = {} if traits.dimension is None else {traits.dimension: dimension}
    if traits.dimension is not None and given.get(traits.dimension, dimension) != dimension:
        raise Invalid(
            f"{provider}: {traits.dimension} is {given[traits.dimension]}, but the embedding "
            f"model's vectors have {dimension} numbers; leave it out"
        )
    folder = None if traits.apart is None else given.get(traits.apart)
    places = {} if traits.apart is None or not folder else {traits.apart: f"{folder}/{collection}"}
    return {**given, **traits.fixed, **sizes, **places, "collection_name": collection}
