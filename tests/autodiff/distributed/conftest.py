"""A cluster of Dask on this machine: a scheduler and two worker processes."""

import os

import pytest


@pytest.fixture(scope="module")
def client():
    """Return a client of the cluster. Without Dask its tests are left out; `make cluster` fails."""
    if os.environ.get("CHAINRULES_CLUSTER") != "1":
        pytest.importorskip("distributed")
    from dask import distributed

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as found,
    ):  # fmt: skip
        yield found
