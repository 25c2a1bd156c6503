"""Builds the documentation and checks it: every link leads somewhere, and the search knows every page.

Arguments: a folder to build in. Exit status 77: mkdocs or its theme is missing.
"""

import json
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[2]


class Page(HTMLParser):
    """The links and the places of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.places = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        said = dict(attributes)
        self.places.update(said[name] for name in ("id", "name") if said.get(name))
        self.links += [said[name] for name in ("href", "src") if said.get(name)]


def problems_of(site):
    """Returns the links of a site that lead nowhere, and the pages that its search does not know."""
    pages = {file: Page(file.read_text()) for file in site.rglob("*.html") if file.name != "404.html"}
    problems = []
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                problems.append(f"{file.name}: {link}: no such file")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].places:
                problems.append(f"{file.name}: {link}: no such place")
    known = {entry["location"].split("#")[0] for entry in json.loads((site / "search/search_index.json").read_text())["docs"]}
    return problems + [f"{file.name}: not in the search" for file in pages if file.name not in known]


def is_theme(name):
    """Tells whether mkdocs has a theme."""
    from mkdocs.utils import get_theme_names

    return name in get_theme_names()


def main():
    """Builds the site in the folder that is named."""
    if not find_spec("mkdocs") or not is_theme("material"):
        print("skipped: there is no mkdocs with mkdocs-material")
        sys.exit(77)
    site = Path(sys.argv[1]).resolve()
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "--quiet", "--config-file", str(ROOT / "cmake/docs/mkdocs.yml"),
                    "--site-dir", str(site)], check=True)
    problems = problems_of(site)
    for problem in problems:
        print(problem)
    pages = len(list(site.glob("*.html")))
    print(f"{pages} pages, {len(problems)} problems")
    sys.exit(1 if problems or pages < 20 else 0)


main()
