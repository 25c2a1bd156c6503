#!/usr/bin/env python3
"""Draws predicted against measured times of all shipped runs.

usage: prequel validate --all --json | docs/pictures/draw_accuracy.py > docs/pictures/accuracy.svg
"""

import json
import math
import sys

WIDTH, HEIGHT = 900, 430
LEFT, TOP, SIDE = 70, 46, 330  # of the square plot
BARS = 500  # left end of the bars
LEAST, MOST = -1.5, 3.75  # log10 of seconds

# Medians of |predicted / measured - 1| in per cent on rows of the same kind that each tool answers:
# docs/peers.md, "all but nanotron".
PEERS = [("SimuMax", 13), ("llm-analysis", 14), ("one rate a card", 18), ("Calculon", 19), ("zhebrak", 21)]

STYLE = """
  .back { fill: #ffffff } .ink { fill: #1f2933 } .faint { fill: #6b7785 } .line { stroke: #c9d1d9 }
  .dot { fill: #1668b8; fill-opacity: .45 } .band { fill: #1668b8; fill-opacity: .10 }
  .own { fill: #1668b8 } .peer { fill: #a8b3bf } .even { stroke: #1f2933 }
  text { font: 13px system-ui, sans-serif } .title { font-weight: 600; font-size: 14px }
  @media (prefers-color-scheme: dark) {
    .back { fill: #0d1117 } .ink { fill: #e6edf3 } .faint { fill: #9198a1 } .line { stroke: #3d444d }
    .dot, .band, .own { fill: #58a6ff } .peer { fill: #565e68 } .even { stroke: #e6edf3 }
  }
"""


def place(seconds):
    """Returns how far along an axis a time lies, in pixels."""
    return (math.log10(seconds) - LEAST) / (MOST - LEAST) * SIDE


def text(x, y, words, kind="ink", anchor="start"):
    """Returns a text element."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{words}</text>'


def scatter(runs):
    """Yields the plot of all runs with a measured time."""
    yield text(LEFT, 24, f"Seconds per iteration, {len(runs)} measured runs", "ink title")
    corner = TOP + SIDE
    shift = math.log10(1.1) / (MOST - LEAST) * SIDE
    yield (f'<polygon class="band" points="{LEFT},{corner - shift:.1f} {LEFT + SIDE - shift:.1f},{TOP} {LEFT + SIDE},{TOP} '
           f'{LEFT + SIDE},{TOP + shift:.1f} {LEFT + shift:.1f},{corner} {LEFT},{corner}"/>')
    for label in (0.1, 1, 10, 100, 1000):
        at = place(label)
        yield f'<path class="line" d="M{LEFT + at:.1f} {TOP}V{corner}M{LEFT} {corner - at:.1f}H{LEFT + SIDE}"/>'
        yield text(LEFT + at, corner + 18, f"{label:g} s", "faint", "middle")
        yield text(LEFT - 8, corner - at + 4, f"{label:g} s", "faint", "end")
    yield f'<path class="even" d="M{LEFT} {corner}L{LEFT + SIDE} {TOP}"/>'
    for measured, predicted in runs:
        yield f'<circle class="dot" cx="{LEFT + place(measured):.1f}" cy="{corner - place(predicted):.1f}" r="2.6"/>'
    yield text(LEFT + SIDE / 2, corner + 40, "measured (band: ± 10 %)", "faint", "middle")
    yield (f'<text class="faint" text-anchor="middle" transform="translate(18 {TOP + SIDE / 2}) rotate(-90)">'
           "predicted</text>")


def bars(runs):
    """Yields the medians of prequel and of other tools."""
    errors = sorted(abs(predicted / measured - 1) for measured, predicted in runs)
    own = 100 * errors[len(errors) // 2]
    yield text(BARS, 24, "Median error, %", "ink title")
    rows = [("prequel", own, "own"), *((name, value, "peer") for name, value in PEERS)]
    for i, (name, value, kind) in enumerate(rows):
        y = TOP + 14 + 46 * i
        yield text(BARS, y, name)
        yield f'<rect class="{kind}" x="{BARS}" y="{y + 7}" width="{value * 12:.1f}" height="16" rx="2"/>'
        yield text(BARS + value * 12 + 8, y + 20, f"{value:.1f}" if kind == "own" else f"{value}")
    y = TOP + 14 + 46 * len(rows) + 6
    yield text(BARS, y, "prequel: shipped tables, on part of which its", "faint")
    yield text(BARS, y + 18, "constants were chosen. Others: as shipped, on", "faint")
    yield text(BARS, y + 36, "the rows that each answers (docs/peers.md).", "faint")


def main():
    """Reads the answer of validate and prints the picture."""
    runs = [
        (run["measured"]["sec_per_iter"], run["predicted"]["sec_per_iter"])
        for run in json.load(sys.stdin)["runs"]
        if run["status"] == "predicted" and "sec_per_iter" in run["measured"]
        and "apart" not in run and run["predicted"].get("sec_per_iter")
    ]
    inside = [run for run in runs if all(LEAST < math.log10(time) < MOST for time in run)]
    parts = [*scatter(inside), *bars(inside)]
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
          'aria-label="Predicted against measured seconds per iteration, and median errors of tools">')
    print(f"<style>{STYLE}</style>")
    print(f'<rect class="back" width="{WIDTH}" height="{HEIGHT}"/>')
    print("\n".join(parts))
    print("</svg>")


main()
