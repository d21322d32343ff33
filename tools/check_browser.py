"""Open the built pages in a browser: python tools/check_browser.py docs/_build/html.

Every page is opened at the width of a phone and of a desk. Nothing may be wrong on the console or
fail to load, nothing may be wider than the window or than the column of the text, and each link on
the page, including those that scripts have made, must lead to a page and to a place that exist. The
search must find `rrule`. Pictures of all pages are kept, of the top of very long ones.

All pages are opened in one browser, which keeps what they share (styles, scripts, fonts) in its
cache. Several tabs of each width load their pages at the same time.
"""

import argparse
import asyncio
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
TABS = 2  # of each width
TALLEST = 6000  # pixels of a page on its picture: all of the longest pages would take a minute each
PATIENCE = 120_000  # milliseconds: the machine may be busy, and some pages are long
BROWSERS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
NO_BROWSER = (
    "check_browser: no Chromium is found: install it (on Debian: apt-get install chromium), or "
    "name the program in the environment variable CHROMIUM"
)

# What sticks out of the window, or of the column of the text, unless something around it scrolls.
LOOK = """() => {
    const inside = (element, column) => {
        for (let e = element; e && e !== column && e !== document.body; e = e.parentElement) {
            const style = getComputedStyle(e);
            if (style.position === "fixed") return true;
            if (e !== element && style.overflowX !== "visible") return true;
        }
        return false;
    };
    let wide = null;
    const columns = "main, .bd-article-container, .prev-next-footer";
    for (const column of [document.documentElement, ...document.querySelectorAll(columns)]) {
        if (wide || column.scrollWidth <= column.clientWidth + 1) continue;
        const end = column.getBoundingClientRect().left + column.clientWidth;
        const found = [...column.querySelectorAll("*")].find(
            e => e.getBoundingClientRect().right > end + 1 && !inside(e, column));
        wide = found ? found.outerHTML.slice(0, 80) : "something";
    }
    return {
        wide,
        height: document.documentElement.scrollHeight,
        ids: [...document.querySelectorAll("[id]")].map(e => e.id),
        links: [...new Set([...document.querySelectorAll("a[href]")].map(e => e.href))],
    };
}"""

# Ends when the page has been drawn anew, or after a second where nothing is drawn.
PAINTED = """() => new Promise(done => {
    requestAnimationFrame(() => requestAnimationFrame(done));
    setTimeout(done, 1000);
})"""


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
class Tab:
    """One tab of the browser; it notes what is wrong on the page that is open."""

    window: Any
    problems: dict[str, list[str]]
    place: str = ""

    def __post_init__(self) -> None:
        self.window.set_default_timeout(PATIENCE)
        self.window.on("console", self.see_message)
        self.window.on("pageerror", lambda error: self.note(f"a script failed: {error}"))
        self.window.on("requestfailed", self.see_failure)
        self.window.on("response", self.see_response)

    def note(self, problem: str) -> None:
        """Note what is wrong on the page that is open."""
        self.problems.setdefault(self.place, []).append(problem)

    def see_message(self, message: Any) -> None:
        """Note an error on the console."""
        if message.type == "error":
            self.note(f"error on the console: {message.text}")

    def see_failure(self, sent: Any) -> None:
        """Note what could not be loaded, unless the page was left before it came."""
        if "ERR_ABORTED" not in (sent.failure or ""):
            self.note(f"{sent.url} was not loaded")

    def see_response(self, response: Any) -> None:
        """Note what the server did not have."""
        if response.status >= 400:
            self.note(f"{response.url} was answered with {response.status}")


@dataclass
class Visit:
    """The visits to all pages at one width, and what they have found."""

    context: Any
    kind: str
    home: str
    site: Path
    pictures: Path
    problems: dict[str, list[str]] = field(default_factory=dict)
    ids: dict[str, set[str]] = field(default_factory=dict)
    links: dict[str, list[str]] = field(default_factory=dict)

    async def new_tab(self) -> Tab:
        """Open a tab of this width."""
        window = await self.context.new_page()
        width, height = WIDTHS[self.kind]
        await window.set_viewport_size({"width": width, "height": height})
        return Tab(window, self.problems)

    async def open_all(self, names: Iterator[str]) -> None:
        """Open pages in one tab, as long as there are any left."""
        from playwright.async_api import Error

        tab = await self.new_tab()
        for name in names:
            tab.place = name
            try:
                await self.open(tab, name)
            except Error as error:
                tab.note(f"could not be looked at: {error.message.splitlines()[0]}")
        await tab.window.close()

    async def open(self, tab: Tab, name: str) -> None:
        """Open a page, look at it, and take its picture."""
        await tab.window.goto(self.home + name)
        seen = await tab.window.evaluate(LOOK)
        if seen["wide"]:
            tab.note(f"wider than its column: {seen['wide']}")
        self.ids[self.home + name] = set(seen["ids"])
        self.links[name] = [link for link in seen["links"] if link.startswith(self.home)]
        # A window as tall as the page: a picture of more than the window takes far longer.
        width, height = WIDTHS[self.kind]
        tall = max(height, min(seen["height"], TALLEST))
        await tab.window.set_viewport_size({"width": width, "height": tall})
        await tab.window.evaluate(PAINTED)
        picture = (self.pictures / self.kind / name).with_suffix(".jpg")
        picture.parent.mkdir(parents=True, exist_ok=True)
        await tab.window.screenshot(path=picture, type="jpeg", quality=60)
        await tab.window.set_viewport_size({"width": width, "height": height})

    def check_links(self) -> None:
        """Note links that lead nowhere, when all pages have been opened."""
        for name, links in self.links.items():
            for link in links:
                address, fragment = urldefrag(link)
                path = unquote(address.removeprefix(self.home).partition("?")[0])
                if (self.site / path).is_dir():
                    path += "index.html"
                ids = self.ids.get(self.home + path)
                there = link.removeprefix(self.home)
                if not (self.site / path).exists():
                    self.problems.setdefault(name, []).append(f"{there} does not exist")
                elif ids is not None and fragment and unquote(fragment) not in ids:
                    self.problems.setdefault(name, []).append(f"{there}: no such place on the page")

    async def check_search(self, word: str) -> None:
        """Search for a word as a reader does, by the keyboard, and open the first result."""
        from playwright.async_api import Error

        tab = await self.new_tab()
        tab.place = "search"
        window = tab.window
        try:
            await window.goto(self.home)
            await window.keyboard.press("Control+k")
            await window.locator("input[type=search]:focus").wait_for()
            await window.keyboard.type(word)
            await window.keyboard.press("Enter")
            first = window.locator("#search-results li a", has_text=word).first
            await first.wait_for()
            await window.wait_for_load_state("networkidle")  # extracts of the pages are loaded
            await first.click()
            await window.wait_for_url(lambda url: "search.html" not in url)
            if word not in await window.locator("main").inner_text():
                tab.note(f"{window.url} was found for {word!r}, which is not on it")
        except Error as error:
            tab.note(f"does not find {word!r}: {error.message.splitlines()[0]}")


async def problems(site: Path, pictures: Path, browser: str, word: str | None) -> list[str]:
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

    Returns
    -------
    list of str
        The width, the page and what is wrong there.
    """
    from playwright.async_api import async_playwright

    names = [
        str(path.relative_to(site))
        for path in sorted(site.rglob("*.html"))
        if "_static" not in path.parts
    ]
    options = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses it to root
    with served(site) as home:
        async with async_playwright() as play:
            program = await play.chromium.launch(executable_path=browser, args=options)
            context = await program.new_context()
            visits = [Visit(context, kind, home, site, pictures) for kind in WIDTHS]
            left = {visit.kind: iter(names) for visit in visits}
            await asyncio.gather(
                *(visit.open_all(left[visit.kind]) for visit in visits for _ in range(TABS))
            )
            for visit in visits:
                visit.check_links()
                if word is not None:
                    await visit.check_search(word)
            await program.close()
    return [
        f"{visit.kind}: {name}: {problem}"
        for visit in visits
        for name, found in visit.problems.items()
        for problem in found
    ]


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
    found = asyncio.run(problems(options.site, pictures, browser, options.search or None))
    print(*found, f"{len(found)} problems; pictures of the pages are in {pictures}", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
