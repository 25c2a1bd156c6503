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
# usage: keep PICTURE: what was drawn becomes the picture, or is compared with it
keep() {
  if [ -z "$check" ]; then
    cp "$drawn" "$1"
  elif ! cmp -s "$drawn" "$1"; then
    echo "$1 is out of date: sh docs/pictures/refresh.sh PROGRAM" >&2
    exit 1
  fi
}
"$program" validate --all --json 2>/dev/null | python3 docs/pictures/draw_accuracy.py >"$drawn"
keep docs/pictures/accuracy.svg
"$program" predict --model llama-3-70b --cluster dgx-h100 --nodes 128 --tp 4 --pp 4 --vpp 5 --gbs 1024 --seq-len 8192 \
  --tokens 2e12 --reservation 30d --spares 4 --json 2>/dev/null | python3 docs/pictures/draw_reservation.py >"$drawn"
keep docs/pictures/reservation.svg
"$program" search --model llama-3-70b --cluster dgx-h100 --nodes 16 --gbs 512 --seq-len 8192 --pareto --json 2>/dev/null |
  python3 docs/pictures/draw_search.py >"$drawn"
keep docs/pictures/search.svg
traces=$(mktemp -d)
trap 'rm -rf "$drawn" "$traces"' EXIT
for schedule in 1f1b interleaved-1f1b zb-h1; do
  chunks=$([ $schedule = interleaved-1f1b ] && echo 5 || echo 1)
  "$program" predict --model llama-3-70b --cluster dgx-h100 --nodes 4 --tp 8 --pp 4 --vpp $chunks --mbs 1 --gbs 8 \
    --seq-len 8192 --recompute full --schedule $schedule --trace "$traces/$schedule" --quiet >/dev/null
done
python3 docs/pictures/draw_timeline.py 1F1B "$traces/1f1b" "interleaved, 5 chunks a stage" "$traces/interleaved-1f1b" \
  "zero bubble, ZB-H1" "$traces/zb-h1" >"$drawn"
keep docs/pictures/timeline.svg
python3 docs/pictures/refresh_outputs.py "$program" README.md docs/*.md $check
