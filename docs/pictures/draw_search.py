#!/usr/bin/env python3
"""Draws a search: memory over seconds of the plans of its front and of its table, each with its 80 % interval.

usage: prequel search … --pareto --json | docs/pictures/draw_search.py > docs/pictures/search.svg
"""

import json
import sys

WIDTH, HEIGHT = 900, 400
LEFT, TOP, WIDE, HIGH = 70, 46, 790, 290

STYLE = """
  .back { fill: #ffffff } .ink { fill: #1f2933 } .faint { fill: #6b7785 } .line { stroke: #c9d1d9 }
  .front { stroke: #6b7785; fill: none } .plan { fill: #1668b8 } .first { fill: #c2410c } .band { stroke: #1668b8; stroke-opacity: .25; stroke-width: 2 }
  .limit { stroke: #b42318; stroke-dasharray: 6 4 } text { font: 13px system-ui, sans-serif } .title { font-weight: 600; font-size: 14px }
  @media (prefers-color-scheme: dark) {
    .back { fill: #0d1117 } .ink { fill: #e6edf3 } .faint { fill: #9198a1 } .line { stroke: #3d444d }
    .front { stroke: #9198a1 } .plan { fill: #58a6ff } .first { fill: #ff9e64 } .band { stroke: #58a6ff }
  }
"""


def text(x, y, words, kind="ink", anchor="start"):
    """Returns a text element."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{words}</text>'


def picture(found):
    """Yields the elements of the picture."""
    plans, capacity = found["plans"], found["plans"][0]["memory"]["capacity_gib"]
    low = 0.98 * min(plan["sec_per_iter"] for plan in plans)
    high = 1.25 * max(plan["sec_per_iter"] for plan in plans)
    front = sorted((one["sec_per_iter"], one["memory"]["peak_gib"]) for one in found["pareto"])
    front = [one for one in front if one[0] <= high]
    low = min(low, 0.99 * front[0][0])
    most = 1.2 * capacity

    def x(seconds):
        return LEFT + (seconds - low) / (high - low) * WIDE

    def y(gib):
        return TOP + HIGH - gib / most * HIGH

    yield text(LEFT, 24, f"{found['model']} on {found['cluster']}: memory over seconds an iteration, 80 % intervals", "ink title")
    for part in range(5):
        gib, seconds = capacity * part / 4, low + (high - low) * part / 4
        yield f'<path class="line" d="M{LEFT} {y(gib):.1f}H{LEFT + WIDE}"/>'
        yield text(LEFT - 8, y(gib) + 4, f"{gib:.0f} GiB", "faint", "end")
        yield text(x(seconds), TOP + HIGH + 18, f"{seconds:.1f} s", "faint", "middle")
    yield f'<path class="limit" d="M{LEFT} {y(capacity):.1f}H{LEFT + WIDE}"/>'
    yield text(LEFT + WIDE, y(capacity) - 6, f"{capacity:.0f} GiB of the device", "faint", "end")
    yield f'<polyline class="front" points="{" ".join(f"{x(s):.1f},{y(g):.1f}" for s, g in front)}"/>'
    for plan in plans:
        seconds, gib = plan["sec_per_iter"], plan["memory"]["peak_gib"]
        least, highest = plan["interval"]["memory_gib"]
        yield f'<path class="band" d="M{x(seconds):.1f} {y(least):.1f}V{y(highest):.1f}"/>'
    for plan in reversed(plans):
        kind = "first" if plan["rank"] == 1 else "plan"
        at = x(plan["sec_per_iter"]), y(plan["memory"]["peak_gib"])
        yield f'<circle class="{kind}" cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="4"/>'
    first = plans[0]
    yield text(x(first["sec_per_iter"]) - 8, y(first["memory"]["peak_gib"]) + 18, "take this", "ink", "end")
    yield text(LEFT + WIDE, TOP + HIGH + 42,
               f"line: the front of {found['fitting']} plans that fit; dots: the rows of the table", "faint", "end")


def main():
    """Reads the answer of search and prints the picture."""
    found = json.load(sys.stdin)
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
          'aria-label="Memory over seconds of the plans of a search">')
    print(f"<style>{STYLE}</style>")
    print(f'<rect class="back" width="{WIDTH}" height="{HEIGHT}"/>')
    print("\n".join(picture(found)))
    print("</svg>")


main()
