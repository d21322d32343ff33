"""Every `>>>` example of README and docs runs and prints what the page says."""

import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if ">>>" in page.read_text("utf-8")
]


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # by torch itself
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples(page):
    if page.parent.name == "interop":  # a page for each system, which has its name
        pytest.importorskip("pymc" if page.stem == "pytensor" else page.stem)
    if page.stem == "packages":  # by `make systems` and `make test-packages`
        for package in ("pandas", "astropy", "pvlib"):
            pytest.importorskip(package)
    # The fence that closes a code block is no part of the output above it.
    lines = page.read_text("utf-8").splitlines()
    text = "\n".join("" if line.lstrip().startswith("```") else line for line in lines)
    names = {"__name__": "__main__"}
    test = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), 0)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    if runner.run(test, out=report.append).failed:
        pytest.fail("".join(report), pytrace=False)
