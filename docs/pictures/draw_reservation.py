#!/usr/bin/env python3
"""Draws a reservation: tokens over days as a band, and hours lost by cause.

usage: prequel predict … --reservation 30d --json | docs/pictures/draw_reservation.py > docs/pictures/reservation.svg
"""

import json
import sys

WIDTH, HEIGHT = 900, 380
LEFT, TOP, WIDE, HIGH = 70, 46, 420, 270  # of the band
BARS = 540  # left end of the bars

STYLE = """
  .back { fill: #ffffff } .ink { fill: #1f2933 } .faint { fill: #6b7785 } .line { stroke: #c9d1d9 }
  .band { fill: #1668b8; fill-opacity: .25 } .middle { stroke: #1668b8; stroke-width: 2; fill: none } .lost { fill: #a8b3bf }
  text { font: 13px system-ui, sans-serif } .title { font-weight: 600; font-size: 14px }
  @media (prefers-color-scheme: dark) {
    .back { fill: #0d1117 } .ink { fill: #e6edf3 } .faint { fill: #9198a1 } .line { stroke: #3d444d }
    .band { fill: #58a6ff } .middle { stroke: #58a6ff } .lost { fill: #565e68 }
  }
"""


def text(x, y, words, kind="ink", anchor="start"):
    """Returns a text element."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{words}</text>'


def band(reservation):
    """Yields the plot of tokens over days."""
    days, tokens = reservation["curve"]["days"], reservation["curve"]["tokens"]
    end, most = days[-1], 1.05 * max(high for _, _, high in tokens)
    bottom = TOP + HIGH

    def at(day, amount):
        return f"{LEFT + day / end * WIDE:.1f},{bottom - amount / most * HIGH:.1f}"

    yield text(LEFT, 24, f"Tokens over {end:.0f} days: median, and 80 % of all ways", "ink title")
    for part in range(5):
        day, amount = end * part / 4, most * part / 4
        yield f'<path class="line" d="M{LEFT} {bottom - part * HIGH / 4:.1f}H{LEFT + WIDE}"/>'
        yield text(LEFT + part * WIDE / 4, bottom + 18, f"{day:.0f}", "faint", "middle")
        yield text(LEFT - 8, bottom - part * HIGH / 4 + 4, f"{amount / 1e12:.2g}T" if part else "0", "faint", "end")
    upper = [at(0, 0), *(at(day, row[2]) for day, row in zip(days, tokens))]
    lower = [at(day, row[0]) for day, row in reversed(list(zip(days, tokens)))]
    yield f'<polygon class="band" points="{" ".join([*upper, *lower])}"/>'
    middle = [at(0, 0), *(at(day, row[1]) for day, row in zip(days, tokens))]
    yield f'<polyline class="middle" points="{" ".join(middle)}"/>'
    yield text(LEFT + WIDE / 2, bottom + 40, "days", "faint", "middle")


def bars(reservation):
    """Yields the hours lost, the most first."""
    lost = sorted(((hours, cause) for cause, hours in reservation["lost_hours"].items() if hours > 0), reverse=True)[:9]
    yield text(BARS, 24, "Hours lost, in the mean", "ink title")
    for i, (hours, cause) in enumerate(lost):
        y = TOP + 4 + 34 * i
        yield text(BARS, y + 8, cause.replace("_", " "))
        width = hours / lost[0][0] * 240
        yield f'<rect class="lost" x="{BARS}" y="{y + 13}" width="{width:.1f}" height="9" rx="2"/>'
        yield text(BARS + width + 8, y + 22, f"{hours:.1f} h", "faint")


def main():
    """Reads the answer of predict and prints the picture."""
    reservation = json.load(sys.stdin)["reservation"]
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
          'aria-label="Tokens over days as a band, and hours lost by cause">')
    print(f"<style>{STYLE}</style>")
    print(f'<rect class="back" width="{WIDTH}" height="{HEIGHT}"/>')
    print("\n".join([*band(reservation), *bars(reservation)]))
    print("</svg>")


main()
