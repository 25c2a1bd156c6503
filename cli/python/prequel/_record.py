"""Read-only views of prequel's documents, with typed fields."""

from __future__ import annotations

import copy
import html
import json
from typing import Any, Callable, Generic, Mapping, Sequence, TypeVar, overload

T = TypeVar("T")


class Field(Generic[T]):
    """A field of a record: where it stands in the document, its type and its meaning."""

    def __init__(self, read: Callable[[Any], T], *path: str, doc: str, is_cell: bool = False) -> None:
        self._read = read
        self.is_cell = is_cell  #: whether the value is one cell of a table
        self._path = path
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name
        self._path = self._path or (name,)

    @overload
    def __get__(self, record: None, owner: type) -> Field[T]: ...
    @overload
    def __get__(self, record: Record, owner: type) -> T: ...
    def __get__(self, record: Record | None, owner: type) -> Field[T] | T:
        if record is None:
            return self
        value: Any = record._document
        for key in self._path:
            value = value.get(key)
            if value is None:
                break
        return self._read(value)

    def __set__(self, record: Record, value: Any) -> None:
        raise AttributeError(f"{type(record).__name__}.{self._name} is read-only")


def number(*path: str, doc: str) -> Field[float]:
    return Field(float, *path, doc=doc, is_cell=True)


def optional_number(*path: str, doc: str) -> Field[float | None]:
    return Field(lambda value: None if value is None else float(value), *path, doc=doc, is_cell=True)


def count(*path: str, doc: str) -> Field[int]:
    return Field(int, *path, doc=doc, is_cell=True)


def pair(*path: str, doc: str) -> Field[tuple[float, float]]:
    """Two numbers, such as low and high."""
    return Field(lambda value: (float(value[0]), float(value[1])), *path, doc=doc)


def text(*path: str, doc: str) -> Field[str]:
    return Field(lambda value: "" if value is None else str(value), *path, doc=doc, is_cell=True)


def flag(*path: str, doc: str) -> Field[bool]:
    return Field(bool, *path, doc=doc, is_cell=True)


def texts(*path: str, doc: str) -> Field[list[str]]:
    return Field(lambda value: list(value or ()), *path, doc=doc)


def numbers(*path: str, doc: str) -> Field[dict[str, float]]:
    """Numbers by name."""
    return Field(lambda value: dict(value or {}), *path, doc=doc)


def table(*path: str, doc: str) -> Field[dict[str, Any]]:
    return Field(lambda value: copy.deepcopy(dict(value or {})), *path, doc=doc)


def tables(*path: str, doc: str) -> Field[list[dict[str, Any]]]:
    return Field(lambda value: copy.deepcopy(list(value or ())), *path, doc=doc)


class Record:
    """A JSON object of prequel: typed attributes for what is asked for most, and all its keys."""

    __slots__ = ("_parsed",)

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._parsed: Any = document

    @property
    def _document(self) -> Any:
        return self._parsed

    def to_dict(self) -> dict[str, Any]:
        """All of it; a copy, free to change."""
        return dict(copy.deepcopy(self._document))

    def __getitem__(self, key: str) -> Any:
        return copy.deepcopy(self._document[key])

    def __contains__(self, key: object) -> bool:
        return key in self._document

    def keys(self) -> list[str]:
        return list(self._document)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._document == getattr(other, "_document")

    def __hash__(self) -> int:
        return hash(json.dumps(self._document, sort_keys=True))

    def to_row(self) -> dict[str, Any]:
        """One row of a table: the attributes that are one number or text, by their names; then the
        axes of the plan, and the parts of the time as ``PART_s``. A record without attributes gives
        its keys."""
        row: dict[str, Any] = {}
        for owner in reversed(type(self).__mro__):
            for name, field in vars(owner).items():
                if isinstance(field, Field) and field.is_cell:
                    try:
                        row[name] = getattr(self, name)
                    except (TypeError, ValueError):  # the document says nothing of it
                        row[name] = None
        if not row:
            return self.to_dict()
        row.update({axis: value for axis, value in self._document.get("plan", {}).items() if axis not in row})
        row.update({f"{part}_s": value for part, value in self._document.get("breakdown_s", {}).items()})
        return row

    def _lines(self) -> list[tuple[str, str]]:
        """What to show of it, a name and a value each."""
        return [(key, str(value)) for key, value in self._document.items()]

    def __repr__(self) -> str:
        lines = self._lines()
        width = max((len(name) for name, _ in lines), default=0)
        shown = "\n".join(f"  {name:<{width}}  {value}" for name, value in lines)
        return f"<prequel {type(self).__name__}>\n{shown}"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for name, value in self._lines()
        )
        return f"<table>{rows}</table>"


R = TypeVar("R", bound=Record)


def record(of: type[R], *path: str, doc: str) -> Field[R]:
    return Field(of, *path, doc=doc)


def optional_record(of: type[R], *path: str, doc: str) -> Field[R | None]:
    return Field(lambda value: None if value is None else of(value), *path, doc=doc)


def records(of: type[R], *path: str, doc: str) -> Field[Sequence[R]]:
    return Field(lambda value: tuple(of(each) for each in value or ()), *path, doc=doc)
