"""Makes a site of the pages: those at the top of the tree join docs/, and links out of it are settled.

A link to a file of the source becomes one below $PREQUEL_SOURCE_URL; where that is not set, its words stay alone.
"""

import os
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
# Pages of the top of the tree, by their names in the site.
TOP = {"index.md": "README.md", "changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}
LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^)#\s]*)(?P<anchor>#[^)\s]*)?\)")


class TopPage(File):
    """A page whose text lies at the top of the tree."""

    def __init__(self, name, config):
        super().__init__(name, str(ROOT), config["site_dir"], config["use_directory_urls"])
        self.abs_src_path = str(ROOT / TOP[name])


def on_files(files, config):
    """Adds the pages of the top, and leaves out what no page shows."""
    for file in [*files]:
        if Path(file.src_path).suffix in (".py", ".sh", ".ipynb") or file.src_path.startswith("skill/"):
            files.remove(file)
    for name in TOP:
        files.append(TopPage(name, config))
    return files


def on_page_markdown(markdown, page, config, files):
    """Points links at pages of the site, or at the source."""
    folder = ROOT if page.file.src_path in TOP else ROOT / "docs"
    source = os.environ.get("PREQUEL_SOURCE_URL", "").rstrip("/")

    def settled(link):
        text, target, anchor = link["text"], link["target"], link["anchor"] or ""
        if not target or re.match(r"[a-z]+:", target):
            return link[0]
        path = (folder / target).resolve().relative_to(ROOT)
        name = next((name for name, top in TOP.items() if top == str(path)), None)
        name = name or (str(path.relative_to("docs")) if path.is_relative_to("docs") else None)
        if name and files.get_file_from_path(name):
            return f"[{text}]({name}{anchor})"
        if not (ROOT / path).exists():
            raise SystemExit(f"{page.file.src_path}: {target}: no such file")
        return f"[{text}]({source}/{path}{anchor})" if source else text

    markdown = LINK.sub(settled, markdown)
    return markdown.replace("](docs/pictures/", "](pictures/")
