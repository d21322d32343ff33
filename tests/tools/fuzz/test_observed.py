"""What the fuzzer observes of calls in every tier, and the programs that mix features."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tests.helpers import one_in
from tools.fuzz.generators import mixtures
from tools.fuzz.judge import load
from tools.fuzz.observed import observed_difference

HEADER = "import warnings\nimport numpy as np\n\nSEEN = []\n\n\n"
ARGUMENTS = "\n\n\nARGUMENTS = (np.array([0.7, -1.3]), 0.4)\n"
COUNTING = "def program(x, y):\n    SEEN.append(x.size)\n    return np.sum(x * x) * y"

# What a wrong engine could do: the text in place of the one above in the last of three modules.
WRONG = {
    "the value": COUNTING.replace("* y", "* y * 1.1"),
    "the state": COUNTING.replace("x.size", "x.ndim"),
    "raises": COUNTING.replace("SEEN", "NONE"),
    "with the warnings": COUNTING.replace("SEEN", "warnings.warn('w'); SEEN"),
}


def test_it_finds_nothing_where_nothing_is_wrong():
    assert observed_difference(lambda: load(HEADER + COUNTING + ARGUMENTS), 0) == ""


@pytest.mark.parametrize("what", WRONG)
def test_it_finds_what_differs_in_one_tier(what):
    texts = [COUNTING, COUNTING, WRONG[what]]

    def next_module():
        texts.append(texts.pop(0))
        return load(HEADER + texts[-1] + ARGUMENTS)

    assert what in observed_difference(next_module, 0)


@pytest.mark.parametrize("number", range(0, len(mixtures.ideas()), max(one_in(2), 1)))
def test_every_idea_is_written(number, monkeypatch):
    idea = mixtures.ideas()[number]
    monkeypatch.setattr(mixtures, "ideas", lambda: [idea])
    monkeypatch.setattr(mixtures, "SHARE", 1.0)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert any(written(seed) for seed in range(20))


def written(seed: int) -> bool:
    writer = mixtures.MixtureWriter(seed)
    for value in ("np.array([0.7, -1.1, 0.3])", "0.8", "np.ones((2, 3)) * 0.5"):
        writer.arguments[writer.fresh("x")] = value
    writer.restart()
    return writer.statement()
