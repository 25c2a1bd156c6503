"""The JSON Schemas of a folder, for what is made from them: Python's attributes, a page of fields."""

import json


class Schemas:
    """The schemas of a folder, with references between them."""

    def __init__(self, folder):
        self.files = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")}

    def whole(self, schema, file):
        """Returns a schema without references, its own members before those referred to, its file, and the
        name of the definition that it is, if any."""
        name = ""
        while "$ref" in schema:
            other, _, pointer = schema["$ref"].partition("#/")
            file = other or file
            target = self.files[file]
            for name in pointer.split("/"):
                target = target[name]
            properties = {**target.get("properties", {}), **schema.get("properties", {})}
            schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
            if properties:
                schema["properties"] = properties
            if "$ref" in target:
                schema["$ref"] = target["$ref"]
        return schema, file, name

    def plain(self, schema, file):
        """Returns the same, of alternatives the first, and the file."""
        schema, file, _ = self.whole(schema, file)
        if "anyOf" in schema:
            first, file = self.plain(schema["anyOf"][0], file)
            return {**first, **{key: value for key, value in schema.items() if key != "anyOf"}}, file
        return schema, file
