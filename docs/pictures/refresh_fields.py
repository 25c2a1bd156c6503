#!/usr/bin/env python3
"""Writes docs/fields.md: every field of prequel's JSON answers, with its type, its meaning and the
release that brought it, as data/schema lists them. A field without a meaning is an error.

usage: docs/pictures/refresh_fields.py [--check]    (--check: exits with 1 where the page is another)
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "cmake"))
sys.dont_write_bytecode = True  # beside the sources
from schemas import Schemas  # noqa: E402

ANSWERS = {
    "prediction": "predict --json", "search": "search --json", "job-comparison": "compare --json",
    "validation": "validate --json", "run-fit": "calibrate runs --json", "check": "calibrate check --json",
    "comparison": "calibrate compare --json",
}
HEAD = """# Fields of the answers

Every JSON answer names its schema, such as `prequel/prediction/1`. Fields may be added to it; those that
are there stay. Times are in seconds, sizes in bytes unless the name ends in `_gib`, and errors are
fractions. "Since" is the release that brought a field. [data/schema](../data/schema) holds the
schemas, which an editor or a validator reads. `docs/pictures/refresh_fields.py` writes this page from them.
"""


class Page:
    """The page as it grows: answers first, then the records that they share, each once."""

    def __init__(self, schemas):
        self.schemas = schemas
        self.records = {}  # schema, file and heading, by name
        self.silent = []   # fields without a meaning

    def rows(self, schema, file, path=""):
        """Yields path, type, release and meaning of each field of an object, one inside another."""
        for key, field in schema.get("properties", {}).items():
            field, where, name = self.schemas.whole(field, file)
            here = f"{path}.{key}" if path else key
            if not field.get("description"):
                self.silent.append(f"data/schema/{file}: {here}")
            kind, inside = self.kind(field, where, name, here)
            yield here, kind, field.get("since", "0.1.0"), field.get("description", "")
            yield from inside
        choices = [self.schemas.whole(choice, file) for choice in schema.get("anyOf", [])]
        if not any(choice.get("type") == "number" for choice, *_ in choices):  # files say more of a number
            for choice, where, _ in choices:
                yield from self.rows(choice, where, path)

    def kind(self, field, file, name, path):
        """Returns the type of a field in words, and the rows of what it holds."""
        if isinstance(field.get("items"), dict):
            items, where, name = self.schemas.whole(field["items"], file)
            kind, inside = self.kind(items, where, name, path + "[]")
            return f"list of {kind}", inside
        for choice in field.get("anyOf", []):
            if choice.get("$ref", "").endswith("plan"):  # or null
                field, file, name = self.schemas.whole(choice, file)
        if "properties" in field and name:  # a record
            self.records.setdefault(name, (field, file))
            return f"[{name}](#{name})", ()
        return kind_of(field), self.rows(field, file, path)

    def table(self, heading, schema, file):
        """Returns the section of an answer or a record."""
        rows = (tuple(cell.replace("|", "\\|") for cell in row) for row in self.rows(schema, file))
        lines = (f"| `{path}` | {kind} | {since} | {meaning} |\n" for path, kind, since, meaning in rows)
        return f"\n## {heading}\n\n| field | type | since | meaning |\n|---|---|---|---|\n" + "".join(lines)

    def text(self):
        """Returns the whole page."""
        parts = [HEAD]
        for name, command in ANSWERS.items():
            parts.append(self.table(command, self.schemas.files[f"{name}-1.json"], f"{name}-1.json"))
        done = {"resolved_plan"}
        parts.append("\n## resolved_plan\n\nEvery axis of a plan by its name, as `prequel predict --help` explains them.\n")
        while waiting := [name for name in self.records if name not in done]:
            done.add(waiting[0])
            parts.append(self.table(waiting[0], *self.records[waiting[0]]))
        return "".join(parts)


def kind_of(schema):
    """Returns what a JSON value of this schema is, in few words."""
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return " or ".join(f"`{word}`" for word in schema["enum"]) if len(schema["enum"]) < 5 else "text"
    if "anyOf" in schema and "type" not in schema:
        return kind_of(schema["anyOf"][0])
    kinds = schema.get("type", "object" if "properties" in schema else "number")
    words = {"integer": "count", "string": "text", "boolean": "true or false", "array": "list"}
    return " or ".join(words.get(kind, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds))


def main():
    """Writes or checks the page."""
    page = Page(Schemas(ROOT / "data" / "schema"))
    file, text = ROOT / "docs" / "fields.md", page.text()
    if page.silent:
        sys.exit("\n".join(["fields without a meaning:", *page.silent]))
    if "--check" not in sys.argv[1:]:
        file.write_text(text, encoding="utf-8")
    elif file.read_text(encoding="utf-8") != text:
        sys.exit("docs/fields.md is older than data/schema: docs/pictures/refresh_fields.py writes it anew")


main()
