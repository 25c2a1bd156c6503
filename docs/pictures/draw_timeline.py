#!/usr/bin/env python3
"""Draws timelines of pipelines, one below the other: what the stages compute, and when they wait.

usage: docs/pictures/draw_timeline.py NAME TRACE [NAME TRACE …] > docs/pictures/timeline.svg
"""

import json
import sys

KINDS = {"forward": "forward", "backward": "backward", "input": "backward", "weight": "weight", "optimizer": "other",
         "fixed": "other"}
WIDTH, LEFT, TOP, WIDE, ROW = 900, 70, 20, 810, 22

STYLE = """
  .back { fill: #ffffff } .ink { fill: #1f2933 } .faint { fill: #6b7785 } .idle { fill: #eef1f4 }
  .forward { fill: #1668b8 } .backward { fill: #2e9e6b } .weight { fill: #7dc9a4 } .other { fill: #a8b3bf } rect { stroke: none }
  text { font: 13px system-ui, sans-serif } .title { font-weight: 600; font-size: 14px }
  @media (prefers-color-scheme: dark) {
    .back { fill: #0d1117 } .ink { fill: #e6edf3 } .faint { fill: #9198a1 } .idle { fill: #1b2027 }
    .forward { fill: #58a6ff } .backward { fill: #56d364 } .weight { fill: #2b7a44 } .other { fill: #565e68 }
  }
"""


def passes(path):
    """Returns the passes of a trace by stage: when each begins, how long it takes, and its kind."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    stages = {}
    for event in events:
        if event["ph"] != "X" or event["tid"] != 0:
            continue
        kind = KINDS.get(event["name"].split()[0])
        if kind:
            stages.setdefault(event["pid"], []).append((event["ts"] / 1e6, event["dur"] / 1e6, kind))
    return [stages[pid] for pid in sorted(stages)]


def main():
    """Reads the traces and prints the picture."""
    drawn = [(name, passes(path)) for name, path in zip(sys.argv[1::2], sys.argv[2::2])]
    end = max(begin + took for _, stages in drawn for row in stages for begin, took, _ in row)
    height = TOP + sum(46 + ROW * len(stages) for _, stages in drawn) + 10
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
          'aria-label="What pipeline stages compute, and when they wait">')
    print(f'<style>{STYLE}</style>\n<rect class="back" width="{WIDTH}" height="{height}"/>')
    top = TOP
    for name, stages in drawn:
        last = max(begin + took for row in stages for begin, took, _ in row)
        print(f'<text x="{LEFT}" y="{top + 14}" class="ink title">{name}: {last:.2f} s</text>')
        for stage, row in enumerate(stages):
            y = top + 24 + ROW * stage
            print(f'<text x="{LEFT - 8}" y="{y + 13}" class="faint" text-anchor="end">stage {stage}</text>')
            print(f'<rect class="idle" x="{LEFT}" y="{y}" width="{last / end * WIDE:.1f}" height="{ROW - 4}"/>')
            for begin, took, kind in row:
                width = max(0.3, took / end * WIDE - 0.6)
                print(f'<rect class="{kind}" x="{LEFT + begin / end * WIDE:.1f}" y="{y}" width="{width:.1f}" height="{ROW - 4}"/>')
        top += 46 + ROW * len(stages)
    print(f'<text x="{LEFT + WIDE}" y="{top}" class="faint" text-anchor="end">blue: forward; green: backward, pale green: weights alone; empty: waits</text>')
    print("</svg>")


main()
