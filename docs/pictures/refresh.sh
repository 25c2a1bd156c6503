#!/bin/sh
# Makes every picture and every output of the README and the pages again.
# usage: sh docs/pictures/refresh.sh PROGRAM
set -eu
program=$(realpath "$1")
cd "$(dirname "$0")/../.."
"$program" validate --all --json 2>/dev/null | python3 docs/pictures/draw_accuracy.py >docs/pictures/accuracy.svg
python3 docs/pictures/refresh_outputs.py "$program" README.md docs/*.md
