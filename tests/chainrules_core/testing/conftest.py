"""What the tests of this folder share."""

import pytest

from chainrules_core import NoTangent, frule, rrule, unthunk
from chainrules_core.testing import RuleCheckError, check_rrule


@pytest.fixture
def registered():
    """Register hand-written rules for the length of a test: ``registered(f, rrule_=…)``."""
    added = []

    def register(f, *types, rrule_=None, frule_=None, **options):
        for table, rule in ((rrule, rrule_), (frule, frule_)):
            if rule is not None:
                table.register(f, *types, **options)(rule)
                added.append((table, f, types))

    yield register
    for table, f, types in reversed(added):
        table.unregister(f, *types)


@pytest.fixture
def raw():
    """Make an `rrule_f` of a rule without the frame: nothing is projected, counted or forced."""
    return lambda rule: lambda f, *args, **kwargs: rule(*args, **kwargs)


@pytest.fixture
def pulling():
    """Make an `rrule_f` for `f` whose pullback is ``bar(y_bar, *args)`` for each argument."""

    def make(f, *bars):
        def rrule_f(_, *args, **kwargs):
            def pullback(y_bar):
                y_bar = unthunk(y_bar)
                return NoTangent(), *[bar(y_bar, *args) for bar in bars]

            return f(*args, **kwargs), pullback

        return rrule_f

    return make


@pytest.fixture
def fails():
    """Assert that `check_rrule` fails with a message that matches, and return the message."""

    def check(match, f, *args, **options):
        with pytest.raises(RuleCheckError, match=match) as caught:
            check_rrule(f, *args, **options)
        return str(caught.value)

    return check


@pytest.fixture
def defined():
    """Take the rules of functions away at the end of a test."""
    functions = []
    yield functions.append
    for f in functions:
        for table in (rrule, frule):
            if table.methods(f):
                table.unregister(f)
