"""The page about packages, whose examples need those that are installed here alone."""

from tests.docs.test_examples import ROOT, test_examples as run_examples


def test_the_page_about_packages():
    run_examples(ROOT / "docs" / "users" / "packages.md")
