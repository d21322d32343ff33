"""Check the pages that Sphinx has built: python tools/check_site.py docs/_build/html.

Each link within the site leads to a page, and to a place on it, that exists. No page loads anything
from another site, so all work without a network. Tags are closed in the order in which they were
opened, no id stands twice on a page, and each picture has a text. Links to other sites are listed
with ``--external``, not followed.
"""

import argparse
import functools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

VOID = frozenset(["br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"])
"""Tags that nothing closes."""
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
NOT_LOADED = frozenset(["canonical", "index", "search", "next", "prev", "help", "alternate"])


@dataclass
class Page(HTMLParser):
    """One page: where its links lead, what it loads, which places it has."""

    path: Path
    links: list[tuple[int, str]] = field(default_factory=list)
    loaded: list[tuple[int, str]] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    opened: list[tuple[str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text("utf-8"))
        self.close()
        self.problems += [f"line {line}: <{tag}> is not closed" for tag, line in self.opened]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the tag links to, loads and names."""
        line, values = self.getpos()[0], dict(attrs)
        if tag not in VOID:
            self.opened.append((tag, line))
        name = values.get("id")
        if name:
            if name in self.ids:
                self.problems.append(f"line {line}: the id {name!r} stands twice")
            self.ids.add(name)
        if tag == "a" and values.get("href"):
            self.links.append((line, values["href"] or ""))
        if tag == "img" and values.get("alt") is None:
            self.problems.append(f"line {line}: a picture without a text (alt)")
        target = values.get(LOADED.get(tag, ""))
        if target and not (tag == "link" and values.get("rel") in NOT_LOADED):
            self.loaded.append((line, target))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag that closes itself."""
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.opened.pop()

    def handle_endtag(self, tag: str) -> None:
        """Compare with the tag that was opened last."""
        if self.opened and self.opened[-1][0] == tag:
            self.opened.pop()
        elif tag not in VOID:
            self.problems.append(f"line {self.getpos()[0]}: </{tag}> closes nothing")


def is_elsewhere(target: str) -> bool:
    """Whether a link leads to another site."""
    parts = urlsplit(target)
    return bool(parts.scheme or parts.netloc)


def pages_of(site: Path) -> list[Page]:
    """Read the pages; those among the files of the theme are its templates."""
    return [Page(path) for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]


def problems(site: Path) -> Iterator[str]:
    """Find what is wrong on the pages of a site.

    Parameters
    ----------
    site : Path
        The directory with ``index.html``.

    Yields
    ------
    str
        The page, the line and what is wrong there.
    """
    pages = {page.path.resolve(): page for page in pages_of(site)}
    file_of = functools.cache(file_behind)  # most links stand on each page of a folder
    for page in pages.values():
        name = page.path.relative_to(site)
        for problem in page.problems:
            yield f"{name}: {problem}"
        for line, target in page.loaded:
            if is_elsewhere(target) and not target.startswith("data:"):
                yield f"{name}: line {line}: loads {target} from another site"
        for line, target in [*page.links, *page.loaded]:
            if not is_elsewhere(target) and (wrong := dead(page, target, pages, file_of)):
                yield f"{name}: line {line}: {wrong}"


def dead(page: Page, target: str, pages: dict[Path, Page], file_of: Callable) -> str | None:
    """Say what is wrong with a link within the site, None if nothing is."""
    parts = urlsplit(target)
    if not parts.path:
        there: Page | None = page
    else:
        path = file_of(page.path.parent, parts.path)
        if path is None:
            return f"{target} does not exist"
        there = pages.get(path)
    if parts.fragment and there is not None and unquote(parts.fragment) not in there.ids:
        return f"{target}: no such place on the page"
    return None


def file_behind(folder: Path, link: str) -> Path | None:
    """Return the file to which a link on a page of this folder leads, None if there is none."""
    path = folder / unquote(link)
    if path.is_dir():
        path /= "index.html"
    return path.resolve() if path.exists() else None


def external(site: Path) -> list[str]:
    """List the links that lead to other sites."""
    return sorted(
        {target for page in pages_of(site) for _, target in page.links if is_elsewhere(target)}
    )


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit code is 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("--external", action="store_true", help="list links to other sites")
    options = parser.parse_args(arguments)
    if not (options.site / "index.html").exists():
        print(f"check_site: {options.site} has no index.html; build it by make docs")
        return 1
    if options.external:
        print(*external(options.site), sep="\n")
        return 0
    found = list(problems(options.site))
    print(*found, sep="\n")
    print(f"{len(pages_of(options.site))} pages, {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
