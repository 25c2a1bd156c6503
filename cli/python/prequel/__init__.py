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

import json
import os
from typing import Any, Iterable, Mapping, Union

from ._error import Error
from ._prequel import Session, __version__
from ._results import Import, Prediction, Result, SearchResult, Validation

__all__ = [
    "Error", "Import", "Prediction", "Result", "SearchResult", "Validation", "__version__",
    "explain", "import_files", "predict", "search", "show", "validate",
]

#: a name, a path, or a whole document
Input = Union[str, "os.PathLike[str]", Mapping[str, Any], None]

_session = Session()


def _plain(value: Any) -> Any:
    """What JSON has no word for: paths, and numbers of numpy."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "item"):
        return value.item()
    if isinstance(value, (set, frozenset, range)):
        return list(value)
    raise TypeError(f"{type(value).__name__} {value!r}: expected text, a number, a list or a dict")


def _call(command: str, arguments: Mapping[str, Any], data_dirs: Iterable[Any]) -> tuple[str, str]:
    said = {name: value for name, value in arguments.items() if value is not None}
    folders = [os.fspath(folder) for folder in data_dirs]
    text = json.dumps(said, default=_plain)
    document, _, remarks = _session.call(command, text, folders)
    return document, remarks


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
    said = dict(job=job, model=model, cluster=cluster, software=software, device=device, **plan)
    return Prediction(*_call("predict", said, data_dirs))


def explain(job: Input = None, kernels: Iterable[str] | str = "all", **arguments: Any) -> Prediction:
    """As ``predict``, with ``kernels``: the shape of each, its seconds, FLOPs and bytes, and the
    limit that binds."""
    names = [kernels] if isinstance(kernels, str) else list(kernels)
    return predict(job, explain=names, **arguments)


def search(
    job: Input = None,
    *,
    model: Input = None,
    cluster: Input = None,
    software: Input = None,
    device: Input = None,
    data_dirs: Iterable[Any] = (),
    **limits: Any,
) -> SearchResult:
    """Every legal plan under the limits, the fastest first.

    ``limits`` are the flags of ``prequel search``: lists of values an axis (``tp=[4, 8]``),
    ``max_nodes``, ``require=["dp % 4 == 0"]``, ``memory_headroom`` (a fraction), ``tokens``,
    ``price`` (of a GPU-hour), ``within="30d"``, ``fewest_gpus=True``, ``risk=0.9``,
    ``explain=["tp=4,pp=12"]``, ``top``. Several clusters are written ``cluster="a,b"``. Ctrl-C raises
    KeyboardInterrupt.
    """
    said = dict(job=job, model=model, cluster=cluster, software=software, device=device, **limits)
    return SearchResult(*_call("search", said, data_dirs))


def validate(tables: Any, *, data_dirs: Iterable[Any] = (), **options: Any) -> Validation:
    """Measured runs (CSV files, columns as in ``data/runs``) beside their predictions.

    ``by=["cluster", "table"]`` chooses the groups, ``set={…}`` overrides fields of the files.
    """
    return Validation(*_call("validate", dict(runs=_list(tables), **options), data_dirs))


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
    return Import(*_call("import", said, data_dirs))


def show(kind: str | None = None, name: str | None = None, *, data_dirs: Iterable[Any] = ()) -> Any:
    """The names of a ``kind`` (models, devices, clusters, software, jobs), of all kinds as a dict
    of lists, or, with a ``name``, that file as a dict: a good start for a file of your own."""
    document = json.loads(_call("show", dict(kind=kind, name=name), data_dirs)[0])
    return next(iter(document.values())) if kind and not name else document


def _list(paths: Any) -> list[str]:
    one = isinstance(paths, (str, os.PathLike))
    return [os.fspath(path) for path in ([paths] if one else paths)]
