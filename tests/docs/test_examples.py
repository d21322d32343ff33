"""Every `>>>` example of README and docs runs and prints what the page says."""

import doctest
import importlib
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# The pages that need a package which the other tests do not: `make systems` runs them.
NEED = {
    "docs/interop/autograd.md": ["autograd"],
    "docs/interop/jax.md": ["jax"],
    "docs/interop/nutpie.md": ["nutpie"],
    "docs/interop/pytensor.md": ["pymc"],
    "docs/interop/torch.md": ["torch"],
    "docs/users/packages.md": ["pywt", "skimage", "sklearn"],
}
PAGES = [
    str(page.relative_to(ROOT))
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if ">>>" in page.read_text("utf-8")
]


def run(page):
    # The fence that closes a code block is no part of the output above it.
    lines = (ROOT / page).read_text("utf-8").splitlines()
    text = "\n".join("" if line.lstrip().startswith("```") else line for line in lines)
    names = {"__name__": "__main__"}
    test = doctest.DocTestParser().get_doctest(text, names, page, str(ROOT / page), 0)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    if runner.run(test, out=report.append).failed:
        pytest.fail("".join(report), pytrace=False)


@pytest.mark.parametrize("page", [page for page in PAGES if page not in NEED])
def test_page(page):
    run(page)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # by torch itself
@pytest.mark.parametrize("page", [page for page in PAGES if page in NEED])
def test_page_with_packages(page):
    for package in NEED[page]:
        if os.environ.get("CHAINRULES_SYSTEMS"):
            importlib.import_module(package)
        else:
            pytest.importorskip(package)
    run(page)
