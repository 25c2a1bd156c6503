#!/usr/bin/env python3
"""Thins the table of all points of the Ultra-Scale Playbook's figure to nanotron-playbook.csv.

usage: thin_nanotron.py ALL-POINTS.csv > nanotron-playbook.csv

The input has a row each point, with the columns of the output. Kept are whole cells, a model on a
number of nodes with all layouts that were tried, so that choosing among them can be judged: of
each model every second number of nodes below 64, the first model from its second number on, the
next one from its first, in turn. Of points that failed, crashed or out of memory, every fourth is
kept, in the order of the table.

`check` of a kept row begins with "contradicts" where

- its batch is not what its data-parallel degree, micro batch and accumulation make,
- each transfer between stages took half a second whatever its size (`p2p_mode` slow): a fault of
  those jobs,
- it took more than 1.5 times as long as its fastest twin: a repeat, or the same plan with the
  other of ZeRO 0 and 1. Twins differ by -14 to +14 % (10th and 90th percentile).

None of this looks at a prediction.
"""
import collections
import csv
import sys

TWIN = ("model", "nodes", "dp", "tp", "pp", "cp", "mbs", "gbs", "seq_len")
SLOWER_THAN_TWIN = 1.5
FAILED_KEPT = 4


def kept_cells(rows):
    """(model, nodes) of the cells that stay."""
    nodes = collections.defaultdict(set)
    for row in rows:
        if int(row["nodes"]) < 64:
            nodes[row["model"]].add(int(row["nodes"]))
    cells = set()
    for place, model in enumerate(nodes):
        chosen = sorted(nodes[model])[1 - place % 2::2]
        cells.update((model, str(one)) for one in chosen)
    return cells


def contradiction(row, twins):
    if row["check"].startswith("dp*mbs*gradacc"):
        return "contradicts: " + row["check"]
    if row["p2p_mode"] == "slow":
        return "contradicts: half a second for each transfer between stages, a fault of the job"
    fastest = min(twins, key=lambda twin: float(twin["sec_per_iter"]))
    ratio = float(row["sec_per_iter"]) / float(fastest["sec_per_iter"])
    if ratio > SLOWER_THAN_TWIN:
        return f"contradicts: {ratio:.1f} times as long as its twin {fastest['id']}"
    return row["check"]


def main():
    with open(sys.argv[1], newline="") as file:
        reader = csv.DictReader(file)
        columns, rows = reader.fieldnames, list(reader)
    twins = collections.defaultdict(list)
    for row in rows:
        if row["status"] == "ok":
            twins[tuple(row[key] for key in TWIN)].append(row)
    cells = kept_cells(rows)
    out = csv.DictWriter(sys.stdout, columns, lineterminator="\n")
    out.writeheader()
    failed = 0
    for row in rows:
        if (row["model"], row["nodes"]) not in cells:
            continue
        if row["status"] == "ok":
            row["check"] = contradiction(row, twins[tuple(row[key] for key in TWIN)])
        else:
            failed += 1
            if failed % FAILED_KEPT != 1:
                continue
        # The README beside this file states what holds for every point.
        row["source"] = "Ultra-Scale Playbook, benchmarks_interactive.html"
        row["notes"] = "; ".join(part for part in row["notes"].split("; ") if part.startswith("GradAcc"))
        out.writerow(row)


main()
