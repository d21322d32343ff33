"""The check of the pages in a browser: what it finds, and that it is silent about what is right.

`make docs-browser` runs all of it. Elsewhere the tests that need a browser are skipped.
"""

import os

import pytest

from tools.check_browser import NO_BROWSER, find_browser, main

RIGHT = """<!DOCTYPE html><html><head><meta charset="utf-8"><link rel="icon" href="i.svg"></head>
<body>
<h1 id="top">Title</h1><a href="other.html#there">x</a><a href="other.html?q=1">y</a>
<div style="overflow-x: auto"><p style="width: 2000px">It scrolls.</p></div>{}</body></html>"""
OTHER = '<link rel="icon" href="i.svg"><p id="there">here</p>'

needs_browser = pytest.mark.skipif(
    not os.environ.get("CHAINRULES_BROWSER"), reason="make docs-browser runs it"
)


@pytest.fixture
def check(tmp_path, capsys):
    def check(more, word=""):
        site = tmp_path / "site"
        site.mkdir()
        (site / "index.html").write_text(RIGHT.format(more), "utf-8")
        (site / "other.html").write_text(OTHER, "utf-8")
        (site / "i.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
        result = main([str(site), "--search", word])
        return result, capsys.readouterr().out.splitlines()

    return check


@pytest.mark.parametrize("arguments", [["--find"], ["no/site"]])
def test_without_a_browser_one_sentence_says_what_to_install(arguments, monkeypatch, capsys):
    monkeypatch.setenv("CHROMIUM", "no-such-browser")
    assert main(arguments) == 1
    assert capsys.readouterr().out == NO_BROWSER + "\n"
    assert "apt-get install chromium" in NO_BROWSER


def test_the_browser_that_is_named_is_taken(monkeypatch):
    monkeypatch.setenv("CHROMIUM", "sh")  # some program that is there
    assert os.path.basename(find_browser()) == "sh"
    assert main(["--find"]) == 0


def test_a_site_that_is_not_built(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("CHROMIUM", "sh")
    assert main([str(tmp_path)]) == 1
    assert "build it by make docs" in capsys.readouterr().out


@needs_browser
def test_pages_without_faults(check, tmp_path):
    assert check("") == (0, [f"0 problems; pictures of the pages are in {tmp_path / 'pictures'}"])
    for kind in ("phone", "desk"):
        assert (tmp_path / "pictures" / kind / "index.jpg").read_bytes().startswith(b"\xff\xd8")


ON_CONSOLE = "error on the console"
FAULTS = {
    '<script>console.error("bad")</script>': [f"{ON_CONSOLE}: bad"],
    "<script>absent()</script>": ["a script failed: absent is not defined"],
    '<img src="none.png">': ["none.png was answered with 404", f"{ON_CONSOLE}: Failed to load"],
    '<a href="none.html">x</a>': ["none.html does not exist"],
    '<a href="#none">x</a>': ["index.html#none: no such place on the page"],
    '<script>document.body.append(Object.assign(document.createElement("a"), '
    '{href: "made.html"}))</script>': ["made.html does not exist"],
}


@needs_browser
@pytest.mark.parametrize("text", FAULTS)
def test_each_fault_is_found_at_each_width(check, text):
    result, printed = check(text)
    assert result == 1
    for fault in FAULTS[text]:
        for kind in ("phone", "desk"):
            assert any(line.startswith(f"{kind}: index.html") and fault in line for line in printed)


@needs_browser
@pytest.mark.parametrize("around", ["{}", '<main style="overflow-x: auto">{}</main>'])
def test_what_is_too_wide_for_a_phone_alone(around, check):
    result, printed = check(around.format('<p style="width: 900px">wide</p>'))
    assert result == 1
    assert printed[0].startswith("phone: index.html: wider than its column: <p style=")
    assert len(printed) == 2


@needs_browser
def test_a_search_that_is_not_there(check):
    result, printed = check("", "rrule")
    assert result == 1
    assert [line.partition(" does not find")[0] for line in printed[:2]] == [
        "phone: search:",
        "desk: search:",
    ]
