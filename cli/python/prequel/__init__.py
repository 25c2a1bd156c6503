"""Predicts time, memory and utilisation of distributed LLM training, before you reserve a node.

    >>> import prequel
    >>> answer = prequel.predict("bloom-176b-jean-zay", mbs=2)
    >>> answer.sec_per_iter, answer.peak_memory_gib, answer.verdict  # doctest: +SKIP

Every function takes what the program's flags of the same name take, with underscores
(``seq_len=2048`` is ``--seq-len 2048``), and answers with the program's document. Model, cluster,
software, device and job are names, paths, or dicts in the formats of ``data/schema``; a model may
also be a Hugging Face config. ``prequel.Error`` says what is wrong and what would do.
"""

from __future__ import annotations

import csv
import json
import os
import tempfile
from typing import Any, Callable, Iterable, Mapping, TypeVar, Union

from ._error import Error
from ._prequel import Session, __version__
from ._record import Record
from ._tables import INPUTS, Space, columns_of, groups_of, with_columns
from ._fields import ComparedSide, Constant, ErrorGroup, Interval, Kernel, NearestPlan, Stage, ValidatedRun
from ._results import Comparison, FoundPlan, Import, Prediction, Result, RunFit, SearchResult, Validation

__all__ = [
    "ComparedSide", "Comparison", "Constant", "Error", "ErrorGroup", "FoundPlan", "Import", "Interval", "Kernel",
    "NearestPlan", "Prediction", "Record", "Result", "RunFit", "SearchResult", "Space", "Stage", "ValidatedRun", "Validation", "__version__",
    "calibrate_runs", "compare", "explain", "import_files", "predict", "predict_many", "search", "show", "validate",
]

#: a name, a path, or a whole document
Input = Union[str, "os.PathLike[str]", Mapping[str, Any], None]

R = TypeVar("R", bound=Result)

_session = Session()


def _plain(value: Any) -> Any:
    """What JSON has no word for: paths, records, and numbers of numpy."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Record):
        return value.to_dict()
    if hasattr(value, "item"):
        return value.item()
    if isinstance(value, (set, frozenset, range)):
        return list(value)
    raise TypeError(f"{type(value).__name__} {value!r}: expected text, a number, a list or a dict")


def _question(arguments: Mapping[str, Any], data_dirs: Iterable[Any]) -> tuple[str, list[str]]:
    said = {name: value for name, value in arguments.items() if value is not None}
    return json.dumps(said, default=_plain), [os.fspath(folder) for folder in data_dirs]


def _answer(
    of: Callable[[str, str, Callable[[], str]], R], command: str, arguments: Mapping[str, Any],
    data_dirs: Iterable[Any], progress: Callable[[int, int], Any] | None = None,
) -> R:
    """The answer, and what makes its report."""
    question, folders = _question(arguments, data_dirs)
    document, remarks, _ = _session.call(command, question, folders, progress)
    return of(document, remarks, lambda: _session.report(command, question, folders, document))


def predict(
    job: Input = None,
    *,
    model: Input = None,
    cluster: Input = None,
    software: Input = None,
    device: Input = None,
    data_dirs: Iterable[Any] = (),
    **plan: Any,
) -> Prediction:
    """Seconds per iteration, memory (GiB) and utilisation of one plan.

    ``plan`` holds the axes (``nodes``, ``dp``, ``tp``, ``pp``, ``mbs``, ``gbs`` in sequences,
    ``zero``, ``recompute``, …) and all else that ``prequel predict`` takes: ``contention=True``,
    ``tokens=3e11``, ``slow_node={"7": 0.9}``, ``set={"software.launch": "async"}``. A plan that is
    out of memory is answered, with the verdict ``oom``; one that is illegal raises ``Error``.
    """
    inputs = dict(job=job, model=model, cluster=cluster, software=software, device=device)
    return _answer(Prediction, "predict", {**inputs, **plan}, data_dirs)


def explain(job: Input = None, kernels: Iterable[str] | str = "all", **arguments: Any) -> Prediction:
    """As ``predict``, with ``kernels``: the shape of each, its seconds, FLOPs and bytes, and the
    limit that binds."""
    names = [kernels] if isinstance(kernels, str) else list(kernels)
    return predict(job, explain=names, **arguments)


def predict_many(
    plans: Any,
    *,
    job: Input = None,
    model: Input = None,
    cluster: Input = None,
    software: Input = None,
    device: Input = None,
    keep: Iterable[str] = (),
    data_dirs: Iterable[Any] = (),
    **common: Any,
) -> Any:
    """A table of plans, predicted: tens of thousands of rows a second.

    ``plans`` is a DataFrame, a list of dicts, or a dict of columns. Its columns are axes of a plan,
    and ``model``, ``cluster``, ``software`` and ``device``; ``keep`` names columns of your own. An
    empty cell takes what all rows share (``job`` and ``common``, as for ``predict``). The answer is
    the same table with ``sec_per_iter``, ``tokens_per_sec``, ``tokens_per_sec_per_gpu``, ``mfu``,
    ``peak_memory_gib``, ``verdict`` and ``problem``: a plan that the rules refuse has its problem
    alone. Any slice of a table may be predicted by itself, on another process or machine.
    """
    columns = columns_of(plans)
    own = set(keep)
    axes = {name: cells for name, cells in columns.items() if name not in own and name not in INPUTS}
    inputs = dict(job=job, model=model, cluster=cluster, software=software, device=device)
    rows = len(next(iter(columns.values()), []))
    found: dict[str, list[Any]] = {name: [None] * rows for name in _PREDICTED}
    for said, places in groups_of({name: cells for name, cells in columns.items() if name not in own}):
        question, folders = _question({**inputs, **said, **common}, data_dirs)
        part = {name: [cells[i] for i in places] for name, cells in axes.items()}
        part = part or {"mbs": [None] * len(places)}
        answer = json.loads(_session.predict_many(question, json.dumps(part, default=_plain), folders))
        for name, cells in found.items():
            for place, value in zip(places, answer[name]):
                cells[place] = value
    return with_columns(plans, found)


_PREDICTED = (
    "sec_per_iter", "tokens_per_sec", "tokens_per_sec_per_gpu", "mfu", "peak_memory_gib", "verdict", "problem",
)


def search(
    job: Input = None,
    *,
    model: Input = None,
    cluster: Input = None,
    software: Input = None,
    device: Input = None,
    progress: Callable[[int, int], Any] | None = None,
    data_dirs: Iterable[Any] = (),
    **limits: Any,
) -> SearchResult:
    """Every legal plan under the limits, the fastest first.

    ``limits`` are the flags of ``prequel search``: lists of values an axis (``tp=[4, 8]``),
    ``max_nodes``, ``require=["dp % 4 == 0"]``, ``memory_headroom`` (a fraction), ``tokens``,
    ``price`` (of a GPU-hour), ``within="30d"``, ``fewest_gpus=True``, ``risk=0.9``,
    ``explain=["tp=4,pp=12"]``, ``top``. ``plans`` is a table whose rows alone are ranked: a path, a
    DataFrame, a list of dicts, a slice of a ``Space``. Several clusters are written
    ``cluster="a,b"``. ``progress(done, of)`` hears how many plans were looked at, some times a
    second; what it raises ends the search. Ctrl-C raises KeyboardInterrupt.
    """
    inputs = dict(job=job, model=model, cluster=cluster, software=software, device=device)
    plans = limits.get("plans")
    if plans is None or isinstance(plans, (str, os.PathLike)):
        return _answer(SearchResult, "search", {**inputs, **limits}, data_dirs, progress)
    with tempfile.TemporaryDirectory(prefix="prequel-") as folder:
        limits["plans"] = os.path.join(folder, "plans.csv")
        _write_table(columns_of(plans), limits["plans"])
        found = _answer(SearchResult, "search", {**inputs, **limits}, data_dirs, progress)
    return SearchResult(found.to_json(), found.remarks)  # its report would need the table again


def _write_table(columns: Mapping[str, list[Any]], path: str) -> None:
    """Writes columns as the CSV that ``search`` reads."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(columns)
        for row in zip(*columns.values()):
            table.writerow("" if cell is None else _cell(cell) for cell in row)


def _cell(value: Any) -> Any:
    """Returns a cell as tables spell it: lists of words with spaces between."""
    if isinstance(value, bool):
        return int(value)
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else value


def compare(a: Input, b: Input, *, data_dirs: Iterable[Any] = (), **shared: Any) -> Comparison:
    """Tells two plans, clusters, stacks or releases apart, and how surely.

    Each side is a job (name, path or dict), or a dict of what is said otherwise:
    ``compare("bloom-176b-jean-zay", {"tp": 4, "software": "megatron-core-2024"})``; with ``job`` in
    it, of that job. ``shared`` is what both have in common, as for ``predict``.
    """
    return _answer(Comparison, "compare", dict(a=a, b=b, **shared), data_dirs)


def validate(tables: Any, *, data_dirs: Iterable[Any] = (), **options: Any) -> Validation:
    """Measured runs (CSV files, columns as in ``data/runs``) beside their predictions.

    ``by=["cluster", "table"]`` chooses the groups, ``set={…}`` overrides fields of the files.
    Ctrl-C raises KeyboardInterrupt, as it does in ``calibrate_runs``.
    """
    return _answer(Validation, "validate", dict(runs=_list(tables), **options), data_dirs)


def calibrate_runs(
    tables: Any,
    *,
    fit: Iterable[str] | str | None = None,
    suffix: str | None = None,
    output_dir: str | os.PathLike[str] | None = None,
    data_dirs: Iterable[Any] = (),
    **options: Any,
) -> RunFit:
    """The most probable constants of device, cluster and software files from measured runs.

    ``fit`` names constants to fit alone; left out: all that the runs tell. ``output_dir`` is a data
    folder to write the files into that change, under their names and ``suffix``; the same later by
    ``RunFit.write``. ``folds`` are those of the held-out error (5; 1: none).
    """
    names = [fit] if isinstance(fit, str) else fit and list(fit)
    question, folders = _question(dict(files=_list(tables), fit=names, suffix=suffix, **options), data_dirs)
    answer = RunFit(*_session.call("calibrate runs", question, folders))
    if output_dir is not None:
        answer.write(output_dir)
    return answer


def import_files(
    paths: Any,
    *,
    cluster: str | None = None,
    software: str | None = None,
    data_dirs: Iterable[Any] = (),
    **options: Any,
) -> Import:
    """Hugging Face configs, DeepSpeed configs, Megatron launch scripts and training logs to a job,
    or to a table of runs. Scripts are read, never run."""
    said = dict(files=_list(paths), cluster=cluster, software=software, **options)
    return _answer(Import, "import", said, data_dirs)


def show(kind: str | None = None, name: str | None = None, *, data_dirs: Iterable[Any] = ()) -> Any:
    """The names of a ``kind`` (models, devices, clusters, software, jobs), of all kinds as a dict
    of lists, or, with a ``name``, that file as a dict: a good start for a file of your own."""
    question, folders = _question(dict(kind=kind, name=name), data_dirs)
    document = json.loads(_session.call("show", question, folders)[0])
    return next(iter(document.values())) if kind and not name else document


def _list(paths: Any) -> list[str]:
    one = isinstance(paths, (str, os.PathLike))
    return [os.fspath(path) for path in ([paths] if one else paths)]
