"""Write the badges of the README, docs/_static/badge_*.svg, from what the project states itself.

Run ``python -m tools.badges`` after a change of the version, of the supported versions of Python or
of the table of coverage; a test compares.
"""

import re
import tomllib
from pathlib import Path

from chainrules_core import __version__

ROOT = Path(__file__).parents[1]
STATIC = ROOT / "docs" / "_static"
LETTER = 6.6  # the width of one, in pixels


def facts() -> dict[str, tuple[str, str]]:
    """Return the label and the text of each badge."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    pythons = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    return {
        "version": ("version", __version__),
        "python": ("Python", f"{pythons[0]} to {pythons[-1]}"),
        "licence": ("licence", project["license"]),
        "coverage": ("differentiable functions of NumPy and SciPy", coverage()),
    }


def coverage() -> str:
    """Return which part of the differentiable names of NumPy and SciPy has a derivative."""
    page = (ROOT / "docs" / "coverage.md").read_text("utf-8")
    works = fails = 0
    for row in re.findall(r"^\| `(?:numpy|scipy)[\w.]*` \|(.*)\|$", page, re.M):
        ruled, traced, _, error, _, missing = (int(cell) for cell in counts(row))
        works += ruled + traced
        fails += error + missing
    return f"{100 * works // (works + fails)} % covered"


def counts(row: str) -> list[str]:
    """Return the numbers of a row of the table; an empty cell is 0."""
    return [cell.strip() or "0" for cell in row.split("|")]


def badge(label: str, text: str) -> str:
    """Return a badge as SVG."""
    left, whole = (round(LETTER * len(part) + 12) for part in (label, label + text))
    whole += 12
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="20" role="img" '
        f'aria-label="{label}: {text}">\n'
        f"<title>{label}: {text}</title>\n"
        f'<rect width="{whole}" height="20" rx="3" fill="#2a6f97"/>\n'
        f'<path d="M3 0h{left - 3}v20H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3" fill="#444"/>\n'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">\n'
        f'<text x="6" y="14" textLength="{left - 12}">{label}</text>\n'
        f'<text x="{left + 6}" y="14" textLength="{whole - left - 12}">{text}</text>\n'
        "</g>\n</svg>\n"
    )


def main() -> None:
    """Write the files."""
    for name, (label, text) in facts().items():
        (STATIC / f"badge_{name}.svg").write_text(badge(label, text), "utf-8")


if __name__ == "__main__":
    main()
