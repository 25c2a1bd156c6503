#!/bin/sh
# Makes every picture and every output of the README and the pages again, by PROGRAM.
# usage: sh docs/pictures/refresh.sh PROGRAM [--check]: with --check nothing is written, and the exit
# status is 1 where one is out of date.
set -eu
program=$(realpath "$1")
check=${2:-}
cd "$(dirname "$0")/../.."
drawn=$(mktemp)
trap 'rm -f "$drawn"' EXIT
"$program" validate --all --json 2>/dev/null | python3 docs/pictures/draw_accuracy.py >"$drawn"
if [ -z "$check" ]; then
  cp "$drawn" docs/pictures/accuracy.svg
elif ! cmp -s "$drawn" docs/pictures/accuracy.svg; then
  echo "docs/pictures/accuracy.svg is out of date: sh docs/pictures/refresh.sh PROGRAM" >&2
  exit 1
fi
python3 docs/pictures/refresh_outputs.py "$program" README.md docs/*.md $check
