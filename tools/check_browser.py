"""Open the built pages in a browser: python tools/check_browser.py docs/_build/html.

Every page is opened at the width of a phone and of a desk. Nothing may be wrong on the console or
fail to load, no page may be wider than the window, and each link on it, those that scripts made
too, leads to a page and to a place that exists. The search finds `rrule`. Pictures of all pages are
kept.
"""

import argparse
import functools
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

WIDTHS = {"phone": (390, 844), "desk": (1280, 900)}
PATIENCE = 120_000  # milliseconds: the machine may be busy, and some pages are long
BROWSERS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
NO_BROWSER = (
    "check_browser: no Chromium is found: install it (on Debian: apt-get install chromium), or "
    "name the program in the environment variable CHROMIUM"
)

# What sticks out of the window, unless something around it scrolls or cuts it off.
LOOK = """() => {
    const width = document.documentElement.clientWidth;
    const inside = element => {
        for (let e = element; e && e !== document.body; e = e.parentElement) {
            const style = getComputedStyle(e);
            if (style.position === "fixed") return true;
            if (e !== element && style.overflowX !== "visible") return true;
        }
        return false;
    };
    let wide = null;
    if (document.documentElement.scrollWidth > width + 1) {
        const found = [...document.body.querySelectorAll("*")].find(
            e => e.getBoundingClientRect().right > width + 1 && !inside(e));
        wide = found ? found.outerHTML.slice(0, 80) : "something";
    }
    return {
        wide,
        ids: [...document.querySelectorAll("[id]")].map(e => e.id),
        links: [...new Set([...document.querySelectorAll("a[href]")].map(e => e.href))],
    };
}"""


def find_browser() -> str | None:
    """Return the path of a Chromium, None if there is none."""
    named = os.environ.get("CHROMIUM")
    return next(filter(None, map(shutil.which, [named] if named else BROWSERS)), None)


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and does not print each request."""

    def log_message(self, *args: Any) -> None:
        """Print nothing."""


@contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve a directory while the block runs; yield its address."""
    handler = functools.partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("localhost", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://localhost:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


@dataclass
class Visit:
    """What the visits to all pages at one width have found."""

    window: Any
    home: str
    problems: list[str] = field(default_factory=list)
    ids: dict[str, set[str]] = field(default_factory=dict)
    links: dict[str, list[str]] = field(default_factory=dict)
    place: str = ""

    def __post_init__(self) -> None:
        self.window.on("console", self.see_message)
        self.window.on("pageerror", lambda error: self.note(f"a script failed: {error}"))
        self.window.on("requestfailed", lambda sent: self.note(f"{sent.url} was not loaded"))
        self.window.on("response", self.see_response)

    def note(self, problem: str) -> None:
        """Note what is wrong on the page that is open."""
        self.problems.append(f"{self.place}: {problem}")

    def see_message(self, message: Any) -> None:
        """Note an error on the console."""
        if message.type == "error":
            self.note(f"error on the console: {message.text}")

    def see_response(self, response: Any) -> None:
        """Note what the server did not have."""
        if response.status >= 400:
            self.note(f"{response.url} was answered with {response.status}")

    def open(self, name: str, picture: Path) -> None:
        """Open a page, look at it, and take its picture."""
        self.place = name
        self.window.goto(self.home + name)
        seen = self.window.evaluate(LOOK)
        if seen["wide"]:
            self.note(f"wider than the window: {seen['wide']}")
        self.ids[self.home + name] = set(seen["ids"])
        self.links[name] = [link for link in seen["links"] if link.startswith(self.home)]
        picture.parent.mkdir(parents=True, exist_ok=True)
        self.window.screenshot(path=picture, type="jpeg", quality=60, full_page=True)

    def check_links(self, site: Path) -> None:
        """Note links that lead nowhere, when all pages have been opened."""
        for name, links in self.links.items():
            self.place = name
            for link in links:
                address, fragment = urldefrag(link)
                path = unquote(address.removeprefix(self.home).partition("?")[0])
                if (site / path).is_dir():
                    path += "index.html"
                ids = self.ids.get(self.home + path)
                if not (site / path).exists():
                    self.note(f"{link.removeprefix(self.home)} does not exist")
                elif ids is not None and fragment and unquote(fragment) not in ids:
                    self.note(f"{link.removeprefix(self.home)}: no such place on the page")

    def check_search(self, word: str) -> None:
        """Search for a word as a reader does, by the keyboard, and open the first result."""
        self.place = "search"
        self.window.goto(self.home)
        self.window.keyboard.press("Control+k")
        self.window.locator("input[type=search]:focus").wait_for()
        self.window.keyboard.type(word)
        self.window.keyboard.press("Enter")
        first = self.window.locator("#search-results li a", has_text=word).first
        first.wait_for()
        self.window.wait_for_load_state("networkidle")  # the pages found are read for extracts
        first.click()
        self.window.wait_for_url(lambda url: "search.html" not in url)
        if word not in self.window.locator("main").inner_text():
            self.note(f"{self.window.url} was found for {word!r}, which is not on it")


def problems(site: Path, pictures: Path, browser: str, word: str | None) -> Iterator[str]:
    """Open all pages of a site at each width.

    Parameters
    ----------
    site : Path
        The directory with ``index.html``.
    pictures : Path
        Where to keep the pictures.
    browser : str
        The path of the browser.
    word : str, optional
        What the search has to find, if the site has one.

    Yields
    ------
    str
        The width, the page and what is wrong there.
    """
    from playwright.sync_api import Error, sync_playwright

    names = [
        str(path.relative_to(site))
        for path in sorted(site.rglob("*.html"))
        if "_static" not in path.parts
    ]
    options = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses it to root
    with served(site) as home, sync_playwright() as play:
        program = play.chromium.launch(executable_path=browser, args=options)
        for kind, (width, height) in WIDTHS.items():
            window = program.new_page(viewport={"width": width, "height": height})
            window.set_default_timeout(PATIENCE)
            visit = Visit(window, home)
            for name in names:
                visit.open(name, (pictures / kind / name).with_suffix(".jpg"))
            visit.check_links(site)
            if word is not None:
                try:
                    visit.check_search(word)
                except Error as error:
                    visit.note(f"does not find {word!r}: {error.message.splitlines()[0]}")
            window.close()
            yield from (f"{kind}: {problem}" for problem in visit.problems)
        program.close()


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit code is 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("site", type=Path, nargs="?", default=Path("docs/_build/html"))
    parser.add_argument("--find", action="store_true", help="look for the browser, and no further")
    parser.add_argument("--pictures", type=Path, help="where to keep pictures of the pages")
    parser.add_argument("--search", default="rrule", help="a word that the search finds")
    options = parser.parse_args(arguments)
    browser = find_browser()
    if browser is None:
        print(NO_BROWSER)
        return 1
    if options.find:
        return 0
    if not (options.site / "index.html").exists():
        print(f"check_browser: {options.site} has no index.html; build it by make docs")
        return 1
    pictures = options.pictures or options.site.parent / "pictures"
    found = list(problems(options.site, pictures, browser, options.search or None))
    print(*found, f"{len(found)} problems; pictures of the pages are in {pictures}", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
