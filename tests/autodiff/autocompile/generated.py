"""Generated functions: calls that programs may run, beside the same calls as they are written."""

from collections.abc import Callable, Iterable

from autodiff import automatic_compile
from autodiff.autocompile import call_records
from tests.autodiff.autocompile.test_objects_as_arguments import same


def check_generated(
    seeds: Iterable[int], calls: Iterable[int], made: Callable, outcome: Callable
) -> None:
    """Compare calls of the functions of some seeds; some calls must be run by programs.

    ``made(seed)`` returns the text of a function and its namespace, ``outcome(namespace, call,
    argnums)`` what a call does.
    """
    hits = 0
    for seed in seeds:
        text, by_programs = made(seed)
        _, as_written = made(seed)
        argnums = [None, 0, (0, 1)][seed % 3]
        for k in calls:
            before = automatic_compile(False)
            try:
                expected = outcome(as_written, k, argnums)
            finally:
                automatic_compile(before)
            found = outcome(by_programs, k, argnums)
            try:
                same(list(found), list(expected))
            except AssertionError as error:
                raise AssertionError(f"seed {seed}, call {k} of\n{text}") from error
        hits += sum(record.hits for record in call_records.records.values())
        call_records.records.clear()
    assert hits > 0
