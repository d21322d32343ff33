"""Collections of Dask as shards: delayed, blocks of arrays. Dask itself is never imported here."""

from __future__ import annotations

from typing import Any, NamedTuple

from autodiff.errors import ArgumentError


def is_lazy(part: Any) -> bool:
    """Whether something is a collection of Dask: delayed, or an array."""
    return hasattr(type(part), "__dask_graph__")


def computed_there(collection: Any) -> Computed:
    """Return what computes a collection on a worker that is not Dask's own.

    Raises
    ------
    ArgumentError
        If the collection is on the workers of a cluster.
    """
    if _is_on_cluster(collection):
        raise ArgumentError(
            "a shard is on the workers of a cluster of Dask, and the executor is another. Give "
            "the cluster's client as executor, or a collection that is not persisted."
        )
    return Computed(collection)


class Computed(NamedTuple):
    """A collection that is computed by the one who calls it."""

    collection: Any

    def __call__(self) -> Any:
        """Return its value."""
        return self.collection.compute(scheduler="synchronous")


def _is_on_cluster(collection: Any) -> bool:
    """Whether a graph refers to results that are on the workers of a cluster (persisted)."""
    graph = dict(collection.__dask_graph__())
    tasks = [getattr(task, "value", task) for task in graph.values()]
    kinds = {(type(task).__module__.partition(".")[0], type(task).__name__) for task in tasks}
    return ("distributed", "Future") in kinds or not graph.keys() >= _keys(collection)


def _keys(collection: Any) -> set:
    found, waiting = set(), list(collection.__dask_keys__())
    while waiting:
        key = waiting.pop()
        if isinstance(key, list):
            waiting += key
        else:
            found.add(key)
    return found
