#!/bin/sh
# Tests of `prequel calibrate measure` as a user runs it: measure_program.sh TEST PREQUEL
set -eu
test=$1
prequel=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
file=$folder/measured.jsonl

fail() {
  echo "failed: $*" >&2
  exit 1
}

points() { grep -c '^{"op"' "$file"; }

# The points without their times: none twice.
check_no_point_twice() {
  twice=$(grep '^{"op"' "$file" | sed 's/,"time_s".*//' | sort | uniq -d)
  [ -z "$twice" ] || fail "measured twice: $twice"
}

# Runs $@ as N processes of this machine.
run_mpi() {
  processes=$1
  shift
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_mechanism=none \
    mpirun --oversubscribe -n "$processes" "$@"
}

# Until the file has so many points, however long the one that is measuring takes.
await_points() {
  until [ -e "$file" ] && [ "$(points)" -ge "$1" ]; do
    kill -0 "$measuring" 2>/dev/null || fail "ended before $1 points"
    sleep 0.2
  done
}

absent_device() {
  for backend in cuda nccl hip rccl; do
    status=0
    CUDA_VISIBLE_DEVICES='' HIP_VISIBLE_DEVICES='' "$prequel" calibrate measure --backend $backend --output "$file" \
      2>"$folder/error" || status=$?
    [ "$status" -eq 3 ] || fail "$backend: exit status $status"
    grep -q '^prequel-measure: .*\(no NVIDIA GPU\|no AMD GPU\|built without\)' "$folder/error" ||
      fail "no clear message"
    [ ! -e "$file" ] || fail "a file was made"
  done
}

budget() {
  begin=$(date +%s)
  "$prequel" calibrate measure --backend cpu --budget 20s --output "$file"
  took=$(($(date +%s) - begin))
  [ "$took" -le 25 ] || fail "took $took s"
  [ "$(points)" -ge 1 ] || fail "no point"
  check_no_point_twice
  "$prequel" calibrate compare "$file" "$file" | grep -q '^  all .* 0 .*+0.0' ||
    fail "it differs from itself"
}

resume() {
  "$prequel" calibrate measure --backend cpu --budget 60s --output "$file" &
  measuring=$!
  await_points 2
  kill -9 "$measuring"
  wait "$measuring" || true
  before=$(points)
  cp "$file" "$folder/before"
  printf '{"op":"cut o' >>"$file"
  "$prequel" calibrate measure --backend cpu --budget 60s --resume --output "$file" &
  measuring=$!
  await_points $((before + 1))
  kill "$measuring"
  wait "$measuring" || true
  check_no_point_twice
  head -n "$(wc -l <"$folder/before")" "$file" | cmp - "$folder/before" || fail "something was lost"
}

two_writers() {
  "$prequel" calibrate measure --backend cpu --budget 60s --output "$file" &
  measuring=$!
  await_points 1
  status=0
  "$prequel" calibrate measure --backend cpu --resume --output "$file" 2>"$folder/error" || status=$?
  kill "$measuring"
  wait "$measuring" || true
  [ "$status" -eq 2 ] || fail "exit status $status"
  grep -q 'another process is writing to it' "$folder/error" || fail "no clear message"
}

# The shapes of a job stand first, in the job's own numbers.
job_shapes() {
  "$prequel" calibrate measure --model gpt2-124m --cluster fugaku --nodes 1 --mbs 2 --gbs 2 --seq-len 128 \
    --backend cpu --budget 60s --output "$file" &
  measuring=$!
  await_points 1
  kill "$measuring"
  wait "$measuring" || true
  sed -n 2p "$file" | grep -q '"m":256,"n":2304,"k":768' || fail "no product of the job first"
}

mpi_two() {
  run_mpi 2 "$prequel" calibrate measure --backend mpi --budget 15s --output "$file"
  check_no_point_twice
  "$prequel" calibrate fit "$file" --kind cluster --cluster cpu-node --name here \
    --output "$folder/here.json"
}

mpi_four() {
  run_mpi 4 "$prequel" calibrate measure --backend mpi --budget 15s --output "$file"
  check_no_point_twice
  grep -q '"ranks":2,' "$file" || fail "no group of two"
  grep -q '"ranks":4,' "$file" || fail "no group of four"
}

case $test in
  absent_device | budget | resume | two_writers | job_shapes | mpi_two | mpi_four) "$test" ;;
  *) fail "no test $test" ;;
esac
