"""What prequel answers: read-only, with units in the names."""

from __future__ import annotations

import html
import json
from typing import Any, Iterator


class Result:
    """A JSON document of prequel. ``to_json`` is the text that the program prints."""

    __slots__ = ("_text", "_parsed", "remarks")

    #: lines on what was read, assumed and left out of other tools' files
    remarks: str

    def __init__(self, text: str, remarks: str = "") -> None:
        self._text = text
        self._parsed: Any = None
        self.remarks = remarks

    @property
    def _document(self) -> Any:
        if self._parsed is None:
            self._parsed = json.loads(self._text)
        return self._parsed

    def to_json(self) -> str:
        """The document as the program prints it, byte for byte."""
        return self._text

    def to_dict(self) -> dict[str, Any]:
        """The document; a copy, free to change."""
        copy: dict[str, Any] = json.loads(self._text)
        return copy

    def __getitem__(self, key: str) -> Any:
        return self._document[key]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._text == getattr(other, "_text")

    def __hash__(self) -> int:
        return hash(self._text)

    @property
    def context(self) -> dict[str, Any]:
        """Version, the program's call that answers the same, and all inputs with a hash each."""
        return dict(self._document["context"])

    def _lines(self) -> list[tuple[str, str]]:
        """What to show of it, a name and a value each."""
        return []

    def __repr__(self) -> str:
        lines = self._lines()
        width = max((len(name) for name, _ in lines), default=0)
        shown = "\n".join(f"  {name:<{width}}  {value}" for name, value in lines)
        return f"<prequel {type(self).__name__}>\n{shown}"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
            for name, value in self._lines()
        )
        return f"<table>{rows}</table>"


def _frame(rows: list[dict[str, Any]]) -> Any:
    import pandas  # type: ignore[import]

    return pandas.json_normalize(rows)


class Prediction(Result):
    """One plan, predicted."""

    __slots__ = ()

    @property
    def sec_per_iter(self) -> float:
        """Seconds of one iteration."""
        return float(self._document["sec_per_iter"])

    @property
    def relative_error(self) -> float:
        """The stated error of ``sec_per_iter``, a fraction of it."""
        return float(self._document["error"]["sec_per_iter"])

    @property
    def samples_per_sec(self) -> float:
        """Sequences a second, of the whole job."""
        return float(self._document["samples_per_sec"])

    @property
    def tokens_per_sec(self) -> float:
        """Tokens a second, of the whole job."""
        return float(self._document["tokens_per_sec"])

    @property
    def tokens_per_sec_per_gpu(self) -> float:
        """Tokens a second and GPU."""
        return self.tokens_per_sec / int(self._document["plan"]["gpus"])

    @property
    def model_tflops_per_gpu(self) -> float:
        """10^12 model FLOPs a second and GPU."""
        return float(self._document["tflops_per_gpu"]["model"])

    @property
    def hardware_tflops_per_gpu(self) -> float:
        """10^12 hardware FLOPs (recomputed ones included) a second and GPU."""
        return float(self._document["tflops_per_gpu"]["hardware"])

    @property
    def mfu(self) -> float:
        """Model FLOPs, a fraction of the peak."""
        return float(self._document["mfu"])

    @property
    def hfu(self) -> float:
        """Hardware FLOPs, a fraction of the peak."""
        return float(self._document["hfu"])

    @property
    def peak_memory_gib(self) -> float:
        """GiB (2^30 bytes) on the fullest GPU."""
        return float(self._document["memory"]["peak_gib"])

    @property
    def capacity_gib(self) -> float:
        """GiB (2^30 bytes) of a GPU."""
        return float(self._document["memory"]["capacity_gib"])

    @property
    def verdict(self) -> str:
        """``fits``, ``tight`` (the allocator may thrash) or ``oom``."""
        return str(self._document["memory"]["verdict"])

    @property
    def fits(self) -> bool:
        """Whether the plan runs at all."""
        return bool(self._document["memory"]["fits"])

    @property
    def breakdown_s(self) -> dict[str, float]:
        """Seconds by what they are spent on; they add up to ``sec_per_iter``."""
        return dict(self._document["breakdown_s"])

    @property
    def plan(self) -> dict[str, Any]:
        """Every axis of the plan, resolved."""
        return dict(self._document["plan"])

    @property
    def kernels(self) -> list[dict[str, Any]]:
        """Which model priced which kernel; empty unless it was asked for (``explain``)."""
        return list(self._document.get("kernels", []))

    @property
    def warnings(self) -> list[str]:
        """What is unwise about the plan, or uncertain about the answer."""
        return list(self._document["warnings"])

    def to_frame(self) -> Any:
        """Memory and time of the pipeline stages, a row each (needs pandas)."""
        return _frame(self._document["memory"]["stages"])

    def _lines(self) -> list[tuple[str, str]]:
        document = self._document
        plan = document["plan"]
        degrees = " ".join(f"{axis} {plan[axis]}" for axis in ("dp", "tp", "pp", "mbs", "gbs"))
        parts = sorted(self.breakdown_s.items(), key=lambda part: -part[1])
        lines = [
            ("what", f"{document['model']} on {plan['nodes']} nodes of {document['cluster']}"),
            ("plan", degrees),
            ("time per iteration", f"{self.sec_per_iter:.4g} s ± {100 * self.relative_error:.0f} %"),
            ("throughput", f"{self.tokens_per_sec:,.0f} tokens/s"),
            ("MFU", f"{100 * self.mfu:.1f} %"),
            ("peak memory", f"{self.peak_memory_gib:.1f} of {self.capacity_gib:.1f} GiB, {self.verdict}"),
            ("spent on", ", ".join(f"{name} {value:.3g} s" for name, value in parts if value > 0)),
        ]
        return lines + [("warning", warning) for warning in self.warnings]


class SearchResult(Result):
    """Plans that fit, the best first."""

    __slots__ = ()

    @property
    def plans(self) -> list[dict[str, Any]]:
        """The best plans: rank, ``sec_per_iter`` (s), memory (GiB), ``plan`` and more of each."""
        return list(self._document["plans"])

    @property
    def best(self) -> dict[str, Any] | None:
        """The first of them; None where nothing fits."""
        plans = self.plans
        return plans[0] if plans else None

    @property
    def considered(self) -> int:
        """Combinations looked at."""
        return int(self._document["considered"])

    @property
    def legal(self) -> int:
        """Of them, those that the framework would run."""
        return int(self._document["legal"])

    @property
    def fitting(self) -> int:
        """Of those, the ones that fit into memory."""
        return int(self._document["fitting"])

    @property
    def pareto(self) -> list[dict[str, Any]]:
        """Plans that no other beats in time, memory and nodes at once."""
        return list(self._document["pareto"])

    @property
    def relaxations(self) -> list[dict[str, Any]]:
        """Where nothing fits: which limit to relax, and what that would bring."""
        return list(self._document["relaxations"])

    @property
    def explanations(self) -> list[dict[str, Any]]:
        """Why layouts that were asked about (``explain``) are not the best."""
        return list(self._document.get("explanations", []))

    def to_frame(self) -> Any:
        """The plans, a row each (needs pandas)."""
        return _frame(self.plans)

    def __len__(self) -> int:
        return len(self._document["plans"])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.plans)

    def _lines(self) -> list[tuple[str, str]]:
        document = self._document
        lines = [
            ("what", f"{document['model']} on {document['cluster']}, {document['software']}"),
            ("plans", f"{self.considered} considered, {self.legal} legal, {self.fitting} fit"),
        ]
        for plan in self.plans:
            axes = plan["plan"]
            layout = " ".join(f"{axis} {axes[axis]}" for axis in ("nodes", "dp", "tp", "pp", "mbs", "recompute"))
            memory = plan["memory"]
            lines.append(
                (f"{plan['rank']}", f"{plan['sec_per_iter']:.4g} s  {memory['peak_gib']:.1f} GiB  {layout}")
            )
        return lines


class Validation(Result):
    """Measured runs beside their predictions."""

    __slots__ = ()

    @property
    def runs(self) -> list[dict[str, Any]]:
        """Each row: ``measured``, ``predicted`` (s, GiB), ``error`` (predicted / measured - 1)."""
        return list(self._document["runs"])

    @property
    def groups(self) -> list[dict[str, Any]]:
        """Errors by group, as fractions."""
        return list(self._document["groups"])

    def to_frame(self) -> Any:
        """The runs, a row each (needs pandas)."""
        return _frame(self.runs)

    def _lines(self) -> list[tuple[str, str]]:
        return [
            (
                group["group"],
                f"{group['predicted']} of {group['runs']} rows; time MAPE {100 * group['time']['mape']:.1f} %",
            )
            for group in self.groups
        ]


class Import(Result):
    """What files of other tools say: a job, or the runs of a training log."""

    __slots__ = ()

    @property
    def job(self) -> dict[str, Any] | None:
        """A job file; ``predict`` takes it. None where the files hold a log."""
        job: dict[str, Any] | None = self._document.get("job")
        return job

    @property
    def runs(self) -> str | None:
        """A table of runs (CSV) of a log; None otherwise."""
        runs: str | None = self._document.get("runs")
        return runs

    @property
    def assumed(self) -> list[str]:
        """What no file said and prequel took as given."""
        return list(self._document["assumed"])

    @property
    def left_out(self) -> list[str]:
        """What would change the prediction but is not used."""
        return list(self._document["left_out"])

    @property
    def ignored(self) -> list[str]:
        """Flags and keys that were passed over."""
        return list(self._document["ignored"])

    def _lines(self) -> list[tuple[str, str]]:
        kinds = ("read", "assumed", "left_out", "ignored")
        return [(kind, line) for kind in kinds for line in self._document[kind]]
