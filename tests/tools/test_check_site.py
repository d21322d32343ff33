"""The check of the built pages: what it finds, and that it is silent about what is right."""

import pytest

from tools.check_site import main, problems

RIGHT = """<!DOCTYPE html><html><head><link rel="stylesheet" href="a.css"></head><body>
<h1 id="top">Title</h1><a href="other.html#there">x</a><a href="#top">y</a><a href="https://z.org">z</a>
<img src="p.png" alt="a picture"><br/></body></html>"""


@pytest.fixture
def site(tmp_path):
    (tmp_path / "index.html").write_text(RIGHT)
    (tmp_path / "other.html").write_text('<p id="there">here</p>')
    for name in ("a.css", "p.png"):
        (tmp_path / name).touch()
    return tmp_path


def test_a_site_without_faults(site, capsys):
    assert main([str(site)]) == 0
    assert "2 pages, 0 problems" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text, problem",
    [
        ('<a href="none.html">x</a>', "none.html does not exist"),
        ('<a href="index.html#none">x</a>', "index.html#none: no such place on the page"),
        ('<a href="#none">x</a>', "#none: no such place on the page"),
        ('<img src="none.png" alt="">', "none.png does not exist"),
        ('<img src="p.png">', "a picture without a text (alt)"),
        ('<script src="https://z.org/z.js"></script>', "loads https://z.org/z.js from another"),
        ('<link rel="stylesheet" href="//z.org/z.css">', "loads //z.org/z.css from another site"),
        ('<p id="a"></p><p id="a"></p>', "the id 'a' stands twice"),
        ("<div><p></div>", "</div> closes nothing"),
        ("<div>", "<div> is not closed"),
    ],
)
def test_a_fault_is_named(site, text, problem, capsys):
    (site / "faulty.html").write_text(text)
    found = list(problems(site))
    assert any(line.startswith("faulty.html: line 1:") and problem in line for line in found)
    assert main([str(site)]) == 1


def test_templates_of_the_theme_are_no_pages(site):
    (site / "_static").mkdir()
    (site / "_static" / "macros.html").write_text('<script src="{{ path }}"></script>')
    assert list(problems(site)) == []


def test_links_to_other_sites_are_listed(site, capsys):
    assert main([str(site), "--external"]) == 0
    assert capsys.readouterr().out == "https://z.org\n"


def test_no_site(tmp_path, capsys):
    assert main([str(tmp_path)]) == 1
    assert "build it by make docs" in capsys.readouterr().out
