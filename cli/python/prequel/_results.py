"""What prequel answers: read-only, with units in the names."""

from __future__ import annotations

import html
import json
import os
from typing import Any, Callable, Iterable, Iterator, Sequence

from ._error import Error
from ._fields import (
    ComparisonFields, FoundPlanFields, PredictionFields, RunFitFields, SearchResultFields, ValidationFields,
)
from ._prequel import write_data
from ._record import Record, records, table, texts


class Result(Record):
    """A whole document of prequel. ``to_json`` is the text that the program prints."""

    __slots__ = ("_text", "_page", "remarks")

    #: lines on what was read, assumed and left out of other tools' files
    remarks: str
    #: whether the report takes no longer than showing it
    _is_soon_reported = True

    def __init__(self, text: str, remarks: str = "", page: Callable[[], str] | None = None) -> None:
        super().__init__({})
        self._parsed = None
        self._text = text
        self._page = page
        self.remarks = remarks

    @property
    def _document(self) -> Any:
        if self._parsed is None:
            self._parsed = json.loads(self._text)
        return self._parsed

    context = table(doc="Version, the program's call that answers the same, and all inputs with a hash each.")

    def to_json(self) -> str:
        """The document as the program prints it, byte for byte."""
        return self._text

    def to_dict(self) -> dict[str, Any]:
        """The document; a copy, free to change."""
        copy: dict[str, Any] = json.loads(self._text)
        return copy

    def to_html(self) -> str:
        """The report, one page that opens without a network, as ``--report`` writes it. Raises
        ``Error`` where there is none for this kind of answer, or in this build."""
        if self._page is None:
            raise Error("report", [f"{type(self).__name__}: there is no report of it"])
        return self._page()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._text == getattr(other, "_text")

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> Any:
        return type(self), (self._text, self.remarks)

    def _repr_html_(self) -> str:
        summary = super()._repr_html_()
        if not self._is_soon_reported:
            return summary
        try:
            page = self.to_html()
        except ValueError:
            return summary
        return (
            f"{summary}<details><summary>Report</summary><iframe style='width:100%;height:40em;border:0' "
            f"srcdoc=\"{html.escape(page)}\"></iframe></details>"
        )


def _frame(rows: Iterable[Record]) -> Any:
    import pandas  # type: ignore[import]

    return pandas.DataFrame([row.to_row() for row in rows])


def _axes(of: Any) -> Any:
    """Returns the axes to draw on: those given, or those of a new figure (needs matplotlib)."""
    if of is not None:
        return of
    from matplotlib import pyplot  # type: ignore[import]

    return pyplot.subplots()[1]


def _spent(seconds: dict[str, float]) -> str:
    parts = sorted(seconds.items(), key=lambda part: -part[1])
    return ", ".join(f"{name} {value:.3g} s" for name, value in parts if value > 0)


def _layout(plan: dict[str, Any], axes: Sequence[str]) -> str:
    return " ".join(f"{axis} {plan[axis]}" for axis in axes)


class Prediction(PredictionFields, Result):
    """One plan, predicted."""

    __slots__ = ()

    def to_frame(self) -> Any:
        """One row: attributes, axes of the plan, parts of the time (needs pandas)."""
        return _frame([self])

    def stages_frame(self) -> Any:
        """Memory and time of the pipeline stages, a row each (needs pandas)."""
        return _frame(self.stages)

    def plot(self, axes: Any = None) -> Any:
        """Draws the parts of the time; returns the axes of matplotlib."""
        axes = _axes(axes)
        parts = [(name, value) for name, value in self.breakdown_s.items() if value > 0]
        axes.barh([name for name, _ in parts], [value for _, value in parts])
        axes.invert_yaxis()
        axes.set_xlabel("seconds of an iteration")
        axes.set_title(f"{self.sec_per_iter:.4g} s, {self.peak_memory_gib:.1f} GiB, {self.verdict}")
        return axes

    def _lines(self) -> list[tuple[str, str]]:
        document = self._document
        plan = document["plan"]
        lines = [
            ("what", f"{document['model']} on {plan['nodes']} nodes of {document['cluster']}"),
            ("plan", _layout(plan, ("dp", "tp", "pp", "mbs", "gbs"))),
            ("time per iteration", f"{self.sec_per_iter:.4g} s ± {100 * self.relative_error:.0f} %"),
            ("throughput", f"{self.tokens_per_sec:,.0f} tokens/s, {self.tokens_per_sec_per_gpu:,.0f} a GPU"),
            ("MFU", f"{100 * self.mfu:.1f} %"),
            ("peak memory", f"{self.peak_memory_gib:.1f} of {self.capacity_gib:.1f} GiB, {self.verdict}"),
            ("spent on", _spent(self.breakdown_s)),
        ]
        if self.interval is not None:
            low, high = self.interval.sec_per_iter
            lines.insert(3, (f"{100 * self.interval.level:.0f} % interval", f"{low:.4g} to {high:.4g} s"))
        if self.nearest is not None:
            lines.append(("nearest that fits", f"{self.nearest.flags}; {self.nearest.sec_per_iter:.4g} s"))
        return lines + [("warning", warning) for warning in self.warnings]


class FoundPlan(FoundPlanFields):
    """A plan of a search."""

    __slots__ = ()

    def _lines(self) -> list[tuple[str, str]]:
        plan = self._document["plan"]
        return [
            ("rank", str(self.rank)),
            ("time per iteration", f"{self.sec_per_iter:.4g} s"),
            ("peak memory", f"{self.peak_memory_gib:.1f} GiB"),
            ("plan", _layout(plan, ("nodes", "dp", "tp", "pp", "mbs", "gbs", "recompute"))),
        ]


class SearchResult(SearchResultFields, Result):
    """Plans that fit, the best first."""

    __slots__ = ()

    plans = records(FoundPlan, doc="The best plans.")


    @property
    def best(self) -> FoundPlan | None:
        """The first plan; None where nothing fits."""
        plans = self.plans
        return plans[0] if plans else None

    def __len__(self) -> int:
        return len(self.plans)

    def __iter__(self) -> Iterator[FoundPlan]:
        return iter(self.plans)

    def to_frame(self) -> Any:
        """The plans, a row each (needs pandas)."""
        return _frame(self.plans)

    def plot(self, axes: Any = None) -> Any:
        """Draws the plans by memory and time; returns the axes of matplotlib."""
        axes = _axes(axes)
        axes.scatter([plan.peak_memory_gib for plan in self.plans], [plan.sec_per_iter for plan in self.plans])
        for plan in self.plans[:10]:
            axes.annotate(str(plan.rank), (plan.peak_memory_gib, plan.sec_per_iter))
        axes.set_xlabel("peak memory, GiB")
        axes.set_ylabel("seconds of an iteration")
        return axes

    def _lines(self) -> list[tuple[str, str]]:
        document = self._document
        lines = [
            ("what", f"{document['model']} on {document['cluster']}, {document['software']}"),
            ("plans", f"{self.considered} considered, {self.legal} legal, {self.fitting} fit"),
        ]
        for plan in self.plans:
            layout = _layout(plan.plan, ("nodes", "dp", "tp", "pp", "mbs", "recompute"))
            lines.append((f"{plan.rank}", f"{plan.sec_per_iter:.4g} s  {plan.peak_memory_gib:.1f} GiB  {layout}"))
        if not self.plans:
            lines += [("relax", f"{each['limit']}: {each['fitting']} plans fit") for each in self.relaxations]
        return lines


class Comparison(ComparisonFields, Result):
    """Two plans, clusters, stacks or releases side by side."""

    __slots__ = ()

    def to_frame(self) -> Any:
        """Seconds by kind of work, a row each (needs pandas)."""
        return _frame(Record(row) for row in self.by_work)

    def _lines(self) -> list[tuple[str, str]]:
        low, high = self.speed_ratio_interval
        unlike = [(each["path"], f"{each['a']}, {each['b']}") for each in self.differences]
        works = [
            (each["work"], f"{each['a_s']:.3f}, {each['b_s']:.3f} s: {each['difference_s']:+.3f}")
            for each in self.by_work if each["a_s"] or each["b_s"]
        ]
        return [
            ("a", self.a.asked), ("b", self.b.asked), *unlike, *works,
            ("speed of b over a", f"{self.speed_ratio:.3f} ({low:.3f} to {high:.3f})"),
            ("a is faster", f"with probability {self.odds_a_faster:.2f}"),
        ]


class Validation(ValidationFields, Result):
    """Measured runs beside their predictions."""

    __slots__ = ()
    _is_soon_reported = False


    def to_frame(self) -> Any:
        """The runs, a row each (needs pandas)."""
        return _frame(self.runs)

    def plot(self, axes: Any = None) -> Any:
        """Draws predicted against measured seconds; returns the axes of matplotlib."""
        axes = _axes(axes)
        pairs = [
            (run.measured_sec_per_iter, run.predicted_sec_per_iter) for run in self.runs
            if run.measured_sec_per_iter is not None and run.predicted_sec_per_iter is not None
        ]
        axes.scatter([measured for measured, _ in pairs], [predicted for _, predicted in pairs])
        times = [time for pair in pairs for time in pair] or [1.0]
        ends = [min(times), max(times)]
        axes.plot(ends, ends)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("measured seconds of an iteration")
        axes.set_ylabel("predicted")
        return axes

    def _lines(self) -> list[tuple[str, str]]:
        return [
            (
                group.group,
                f"{group.predicted} of {group.runs} rows; time MAPE {100 * group.time_mape:.1f} %, "
                f"bias {100 * group.time_bias:+.1f} %",
            )
            for group in self.groups
        ]


class RunFit(RunFitFields, Result):
    """Constants of device, cluster and software files, fitted to measured runs."""

    __slots__ = ("_files",)

    def __init__(self, text: str, remarks: str = "", files: Sequence[tuple[str, str, str]] = ()) -> None:
        super().__init__(text, remarks)
        self._files = tuple(files)

    def __reduce__(self) -> Any:
        return type(self), (self._text, self.remarks, self._files)

    @property
    def files(self) -> dict[str, dict[str, Any]]:
        """Files that the fit changes, by their place in a data folder: ``clusters/ours.json``."""
        return {f"{folder}/{name}.json": json.loads(text) for folder, name, text in self._files}

    def write(self, directory: str | os.PathLike[str]) -> None:
        """Writes ``files`` into a data folder, for ``data_dirs``; it is made where it is missing."""
        write_data(list(self._files), os.fspath(directory))

    def to_frame(self) -> Any:
        """The constants, a row each (needs pandas)."""
        return _frame(self.constants)

    def _lines(self) -> list[tuple[str, str]]:
        errors = f"MAPE {100 * self.mape_before:.1f} % as the files are"
        if self._document["held_out"]["n"] > 0:
            errors += f", {100 * self.mape_held_out:.1f} % held out"
        told = [
            (each.path, f"{each.value:.4g} ({each.low:.3g} to {each.high:.3g}); files say {each.prior:.4g}")
            for each in self.constants if not each.kept_prior
        ]
        return [("rows", f"{self.rows}; {errors}"), *told, *(("changes", name) for name in self.files)]


class Import(Result):
    """What files of other tools say: a job, or the runs of a training log."""

    __slots__ = ()

    assumed = texts(doc="What no file said and prequel took as given.")
    left_out = texts(doc="What would change the prediction but is not used.")
    ignored = texts(doc="Flags and keys that were passed over.")

    @property
    def job(self) -> dict[str, Any] | None:
        """A job file; ``predict`` takes it. None where the files hold a log."""
        job: dict[str, Any] | None = self.to_dict().get("job")
        return job

    @property
    def runs(self) -> str | None:
        """A table of runs (CSV) of a log; None otherwise."""
        runs: str | None = self._document.get("runs")
        return runs

    def _lines(self) -> list[tuple[str, str]]:
        kinds = ("read", "assumed", "left_out", "ignored")
        return [(kind, line) for kind in kinds for line in self._document[kind]]
