#!/usr/bin/env python3
"""Writes prequel/__init__.pyi, by which editors complete arguments, from the program's own arguments.
The build runs it once the module stands.

usage: PYTHONPATH=BUILD/cli/python cmake/make_stub.py FILE
"""

import json
import keyword
import re
import sys
from pathlib import Path

from prequel._prequel import arguments_schema

INPUTS = ("job", "model", "cluster", "software", "device")
WHOLE = r"^(?!layers of each)(?!.*in host memory).*(?:degree|nodes in use|stages|chunks|sequences|tokens of a sequence|layers|seed|iterations|how many)"

HEAD = '''"""Written by make_stub.py: what editors complete."""

import os
from typing import Any, Callable, Iterable, Literal, Mapping, TypeAlias, TypeVar

from ._error import Error as Error
from ._prequel import __version__ as __version__
from ._fields import (
    ComparedSide as ComparedSide, Constant as Constant, ErrorGroup as ErrorGroup, Interval as Interval, Kernel as Kernel,
    NearestPlan as NearestPlan, Stage as Stage, ValidatedRun as ValidatedRun,
)
from ._record import Record as Record
from ._results import (
    Comparison as Comparison, FoundPlan as FoundPlan, Import as Import, Prediction as Prediction, Result as Result,
    RunFit as RunFit, SearchResult as SearchResult, Validation as Validation,
)
from ._tables import Space as Space

_Path: TypeAlias = str | os.PathLike[str]
_Input: TypeAlias = _Path | Mapping[str, Any] | None
_Table = TypeVar("_Table")
'''


def kind_of(name, schema, is_search):
    """Returns the type of an argument."""
    if schema["type"] == "boolean":
        return "bool | None"
    if schema["type"] == ["string", "array", "object"]:
        return "str | Iterable[str] | Mapping[str, Any] | None"
    words = re.search(r": ([\w.+-]+(?:\|[\w.+-]+)+)$", schema["description"])
    if words:
        kind = "Literal[" + ", ".join(f'"{word}"' for word in words[1].split("|")) + "] | str"
        kind += " | int" if words[1].replace("|", "").isdigit() else ""
    elif re.search(WHOLE, schema["description"]):
        kind = "int | str"
    else:
        kind = "str | int | float | Iterable[str]"
    return f"{kind} | Iterable[Any] | None" if is_search else f"{kind} | None"


def function(name, command, answer, leading, extra=()):
    """Returns the stub of a function that takes what a command takes."""
    properties = json.loads(arguments_schema(command))["properties"]
    lines = [f"def {name}("]
    lines += [f"    {line}," for line in leading]
    lines += [f"    {argument}: _Input = None," for argument in INPUTS if not any(argument in line for line in leading)]
    for argument, schema in properties.items():
        if argument in INPUTS or keyword.iskeyword(argument) or any(line.startswith(f"{argument}:") for line in [*leading, *extra]):
            continue
        lines.append(f"    {argument}: {kind_of(argument, schema, command == 'search')} = None,")
    lines += [f"    {line}," for line in extra]
    return "\n".join([*lines, "    data_dirs: Iterable[Any] = (),", f") -> {answer}: ..."]) + "\n"


def main():
    """Writes the stub."""
    parts = [
        HEAD,
        function("predict", "predict", "Prediction", ["job: _Input = None", "*"]),
        function("explain", "predict", "Prediction",
                 ["job: _Input = None", 'kernels: Iterable[str] | str = "all"', "*"], ["explain: None = None"]),
        function("predict_many", "predict", "_Table", ["plans: _Table", "*", "keep: Iterable[str] = ()"]),
        function("search", "search", "SearchResult", ["job: _Input = None", "*"],
                 ["plans: Any = None", "progress: Callable[[int, int], Any] | None = None"]),
        "def compare(a: _Input, b: _Input, *, data_dirs: Iterable[Any] = (), **shared: Any) -> Comparison: ...\n",
        "def validate(tables: Any, *, data_dirs: Iterable[Any] = (), **options: Any) -> Validation: ...\n",
        "def calibrate_runs(\n    tables: Any,\n    *,\n    fit: Iterable[str] | str | None = None,\n"
        "    suffix: str | None = None,\n    output_dir: _Path | None = None,\n    data_dirs: Iterable[Any] = (),\n"
        "    **options: Any,\n) -> RunFit: ...\n",
        "def import_files(\n    paths: Any,\n    *,\n    cluster: str | None = None,\n    software: str | None = None,\n"
        "    data_dirs: Iterable[Any] = (),\n    **options: Any,\n) -> Import: ...\n",
        "def show(kind: str | None = None, name: str | None = None, *, data_dirs: Iterable[Any] = ()) -> Any: ...\n",
    ]
    Path(sys.argv[1]).write_text("\n".join(parts))


main()
