"""The tool as GradBench meets it: lines of JSON in, lines of JSON out."""

import json

import pytest

from benchmarks.gradbench import protocol
from tests.helpers import run_python


def session(*messages):
    """Run the tool on lines (objects, or text as it is); return the process and its responses."""
    lines = [m if isinstance(m, str) else json.dumps(m) for m in messages]
    given = "\n".join(lines) + "\n"
    run = run_python("-m", "benchmarks.gradbench", given=given, check=False)
    return run, [json.loads(line) for line in run.stdout.splitlines()]


@pytest.fixture(scope="module")
def responses():
    evaluate = {"kind": "evaluate", "module": "hello"}
    messages = [
        {"kind": "start", "eval": "hello", "config": {"a": 1}},
        {"kind": "define", "module": "hello"},
        {"kind": "define", "module": "os"},
        evaluate | {"function": "square", "input": 3.0, "description": "three"},
        evaluate | {"function": "double", "input": 4},
        evaluate | {"function": "cube", "input": 3.0},
        evaluate | {"function": "square", "input": "three"},
        evaluate | {"function": "square"},
        evaluate | {"module": "nothing", "function": "square", "input": 3.0},
        {
            "kind": "evaluate",
            "module": "lse",
            "function": "primal",
            "input": {"x": [0.0, 0.0], "min_runs": 7, "min_seconds": 0.001},
        },
        {"kind": "analysis", "of": 3, "valid": False, "error": "no"},
        {"kind": "something new"},
    ]
    run, found = session(*({"id": 10 + i} | m for i, m in enumerate(messages)))
    assert run.returncode == 0, run.stderr
    return found


def test_each_message_has_its_response(responses):
    assert [r["id"] for r in responses] == list(range(10, 22))


@pytest.mark.parametrize(
    "place, expected",
    [
        (0, {"tool": "autodiff"}),
        (1, {"success": True}),
        (3, {"success": True, "output": 9.0}),
        (4, {"success": True, "output": 8.0}),
        (10, {"id": 20}),
        (11, {"id": 21}),
    ],
)
def test_response(responses, place, expected):
    assert responses[place] | expected == responses[place]


@pytest.mark.parametrize(
    "place, said",
    [
        (2, "no module 'os'; there are hello, llsq"),
        (5, "module 'hello' has no function 'cube'; it has 'square', 'double'"),
        (6, "could not convert string to float: 'three'"),
        (7, "'input'"),
        (8, "no module 'nothing'"),
    ],
)
def test_error(responses, place, said):
    response = responses[place]
    assert response["success"] is False
    assert said in response["error"]
    assert "output" not in response


@pytest.mark.parametrize("place, runs", [(3, 1), (9, 7)])
def test_timings(responses, place, runs):
    timings = responses[place]["timings"]
    assert len(timings) >= runs
    assert all(t["name"] == "evaluate" and t["nanoseconds"] > 0 for t in timings)


def test_what_is_no_json_ends_the_session():
    run, found = session({"id": 0, "kind": "start"}, "{nonsense", {"id": 1, "kind": "start"})
    assert run.returncode == 2
    assert "a line is not JSON" in run.stderr
    assert "Traceback" not in run.stderr
    assert [r["id"] for r in found] == [0]


@pytest.mark.parametrize("line", ["[1]", "7", '{"kind": "start"}', '{"id": 3}'])
def test_what_is_no_message(line):
    with pytest.raises(protocol.ProtocolError, match="an object with an id and a kind, not"):
        protocol.message_in(line)
