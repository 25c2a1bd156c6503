"""Tables of plans, as data frames or as lists of rows: columns out, columns in."""

from __future__ import annotations

import math
from typing import Any, Iterable, Iterator, Mapping, Sequence

#: columns that say which files a row is predicted with; rows that share them are predicted together
INPUTS = ("model", "cluster", "software", "device")


class Space:
    """Every combination of the values of some axes, of which no more is made than a slice.

    >>> space = Space(nodes=range(16, 129, 8), tp=(1, 2, 4, 8), pp=(1, 2, 4, 8))
    >>> len(space), space[3:5]
    (240, {'nodes': [16, 16], 'tp': [1, 2], 'pp': [8, 1]})

    A slice is a table of columns for ``predict_many`` and ``search(plans=…)``; the last axis changes
    first. A space pickles, whatever its size, so that workers anywhere make their own slices.
    """

    def __init__(self, **axes: Iterable[Any]) -> None:
        self.axes: dict[str, tuple[Any, ...]] = {name: tuple(values) for name, values in axes.items()}

    def __len__(self) -> int:
        return math.prod(len(values) for values in self.axes.values())

    def __getitem__(self, where: slice) -> dict[str, list[Any]]:
        """Returns the columns of a slice."""
        places = range(*where.indices(len(self)))
        columns, stride = {}, len(self)
        for name, values in self.axes.items():
            stride //= len(values) or 1
            columns[name] = [values[place // stride % len(values)] for place in places]
        return columns

    def slices(self, size: int) -> Iterator[slice]:
        """Yields slices of at most ``size`` plans that cover the space."""
        for first in range(0, len(self), size):
            yield slice(first, min(first + size, len(self)))


def is_frame(table: Any) -> bool:
    """Tells a data frame of pandas, or of a library like it, from rows."""
    return hasattr(table, "columns") and hasattr(table, "assign")


def plain(cell: Any) -> Any:
    """Returns a cell as JSON has it; None where it says nothing."""
    if hasattr(cell, "item"):
        cell = cell.item()
    if cell is None or cell == "":
        return None
    if isinstance(cell, float):
        if math.isnan(cell):
            return None
        if cell.is_integer():  # whole numbers of a column in which other cells are empty
            return int(cell)
    return cell


def columns_of(table: Any) -> dict[str, list[Any]]:
    """Returns the columns of a data frame, a dict of columns, or rows."""
    if is_frame(table):
        return {str(name): [plain(cell) for cell in table[name]] for name in table.columns}
    if isinstance(table, Mapping):
        return {str(name): [plain(cell) for cell in cells] for name, cells in table.items()}
    rows: Sequence[Mapping[str, Any]] = list(table)
    names = dict.fromkeys(str(name) for row in rows for name in row)
    return {name: [plain(row.get(name)) for row in rows] for name in names}


def with_columns(table: Any, added: Mapping[str, list[Any]]) -> Any:
    """Returns the table in its own kind with more columns behind; the table stays as it is."""
    if is_frame(table):
        return table.assign(**added)
    if isinstance(table, Mapping):
        return {**table, **added}
    return [
        {**row, **{name: cells[i] for name, cells in added.items()}} for i, row in enumerate(table)
    ]


def groups_of(columns: Mapping[str, list[Any]]) -> Iterable[tuple[dict[str, Any], list[int]]]:
    """Yields the inputs that rows have in common, with the places of those rows."""
    said = [name for name in INPUTS if name in columns]
    places: dict[tuple[Any, ...], list[int]] = {}
    rows = len(next(iter(columns.values()), []))
    for i in range(rows):
        places.setdefault(tuple(columns[name][i] for name in said), []).append(i)
    for key, of in places.items():
        yield {name: value for name, value in zip(said, key) if value is not None}, of
