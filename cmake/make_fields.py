#!/usr/bin/env python3
"""Writes prequel/_fields.py: the attributes of Python's answers, with their types and meanings, as
data/schema lists them. An object with "record" (its name, and what it is) is a class; a property with
"attribute" is one of its fields, wherever in the object it stands, and "attributes" names those of an
object that several schemas share. A class that the package adds methods to ends in Fields.

usage: cmake/make_fields.py SCHEMAS FILE [CLASS_WITH_METHODS…]
"""

import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # beside the sources
from schemas import Schemas  # noqa: E402

FILES = ("prediction", "search", "job-comparison", "validation", "run-fit")
KINDS = {"integer": "count", "number": "number", "boolean": "flag", "string": "text"}


class Maker:
    """Collects the classes, those that others name first."""

    def __init__(self, schemas, with_methods):
        self.schemas, self.with_methods, self.classes = schemas, with_methods, {}

    def kind(self, schema, file, is_there):
        """Returns the function that declares a field, and the class that it holds."""
        types = schema.get("type", "string" if "enum" in schema else "object")
        kind = types if isinstance(types, str) else types[0]
        optional = "" if is_there else "optional_"
        if kind == "array":
            items, where = self.schemas.plain(schema.get("items", {}), file)
            if "record" in items:
                return "records", self.add(items, where)
            if schema.get("maxItems") == 2:
                return "pair", None
            return ("texts" if items.get("type") == "string" else "tables"), None
        if kind != "object":
            return (optional if KINDS[kind] == "number" else "") + KINDS[kind], None
        if "record" in schema:
            return optional + "record", self.add(schema, file)
        is_numbers = "properties" not in schema and isinstance(schema.get("additionalProperties"), dict)
        return ("numbers" if is_numbers else "table"), None

    def fields(self, schema, file, path=(), is_there=True, renamed=None):
        """Yields the declaration of each field of an object, and of those inside it."""
        for key, value in schema.get("properties", {}).items():
            one, where = self.schemas.plain(value, file)
            here = is_there and key in schema.get("required", ())
            name, meaning = one.get("attribute"), one.get("description", "")
            if renamed is not None:
                name, meaning = renamed.get(key, (None, ""))
            if name:
                kind, of = self.kind(one, where, here)
                if of in self.with_methods:
                    continue
                words = [f'"{word}"' for word in (*path, key)] if (*path, key) != (name,) else []
                arguments = ", ".join([*([of] if of else []), *words, f"doc={json.dumps(meaning, ensure_ascii=False)}"])
                yield f"    {name} = {kind}({arguments})"
            elif "record" not in one:
                yield from self.fields(one, where, (*path, key), here, one.get("attributes", renamed))

    def add(self, schema, file):
        """Makes the class of an object; returns its name."""
        name, _, meaning = schema["record"].partition(": ")
        if name not in self.classes:
            lines = list(self.fields(schema, file))
            suffix = "Fields" if name in self.with_methods else ""
            self.classes[name] = "\n".join([
                f"class {name}{suffix}(Record):", f'    """{meaning or schema["title"]}"""', "", "    __slots__ = ()", "", *lines])
        return name


def main():
    """Writes the file."""
    folder, file, *with_methods = sys.argv[1:]
    maker = Maker(Schemas(Path(folder)), with_methods)
    for name in FILES:
        maker.add(maker.schemas.files[f"{name}-1.json"], f"{name}-1.json")
        found = maker.schemas.files[f"{name}-1.json"].get("$defs", {}).values()
        for each in found:
            if "record" in each:
                maker.add(each, f"{name}-1.json")
    head = '"""Written by make_fields.py from data/schema: what prequel answers."""\n\nfrom __future__ import annotations\n\n' \
        "from ._record import (\n    Record, count, flag, number, numbers, optional_number, optional_record, pair, record, records, table,\n" \
        "    tables, text, texts,\n)\n"
    Path(file).write_text("\n\n\n".join([head.rstrip("\n"), *maker.classes.values()]) + "\n")


main()
