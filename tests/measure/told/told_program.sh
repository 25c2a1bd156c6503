#!/bin/sh
# Faults of drivers, libraries, processes and disks, as a user meets them: told_program.sh PROGRAM
# FUNCTION, where PROGRAM is prequel-measure on the told machine. Each must end in a message, a whole
# file and the right exit status: 0 where points were skipped, 2 for what cannot be written, 3 for
# devices and communication.
set -eu
program=$1
fault=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TMPDIR="$folder"
file=$folder/measured.jsonl

fail() {
  echo "failed: $fault: $*" >&2
  cat "$folder/error" >&2 || true
  exit 1
}

# measure BACKEND STATUS ORDERS [ARGUMENT...]
measure() {
  backend=$1
  wanted=$2
  orders=$3
  shift 3
  status=0
  PREQUEL_TOLD=$orders "$program" --backend "$backend" --output "$file" --budget 3s "$@" \
    2>"$folder/error" || status=$?
  [ "$status" -eq "$wanted" ] || fail "exit status $status, not $wanted"
}

says() { grep -q -- "$1" "$folder/error" || fail "it does not say '$1'"; }
holds() { grep -q -- "$1" "$file" || fail "the file does not hold '$1'"; }

# Every line whole, a head first, none twice.
check_file() {
  [ -s "$file" ] || fail "no file"
  head -n 1 "$file" | grep -q '^{"schema":"prequel/measurement/1"' || fail "no head"
  [ -z "$(tail -c 1 "$file")" ] || fail "a line is cut off"
  [ "$(grep -vc '^{.*}$' "$file")" -eq 0 ] || fail "a line is not whole"
  twice=$(grep '^{"op"' "$file" | sed 's/,"time_s".*//; s/,"skipped".*//' | sort | uniq -d)
  [ -z "$twice" ] || fail "measured twice: $twice"
}

points() { grep -c '"time_s"' "$file" || true; }
some_points() { [ "$(points)" -ge 1 ] || fail "no point"; }

# A port that is free as far as one can tell.
port() { echo $((20000 + $$ % 20000)); }

# ranks N STATUS ORDERS_OF_THE_FIRST ORDERS_OF_THE_LAST [BUDGET]: processes that meet as torchrun's do.
ranks() {
  count=$1
  wanted=$2
  first=$3
  last=$4
  budget=${5:-3s}
  port=$(port)
  rank=$((count - 1))
  pids=""
  while [ "$rank" -ge 0 ]; do
    orders=$first
    [ "$rank" -eq $((count - 1)) ] && orders=$last
    log=$folder/error.$rank
    [ "$rank" -eq 0 ] && log=$folder/error
    RANK=$rank WORLD_SIZE=$count LOCAL_RANK=$rank MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
      PREQUEL_TOLD="devices=$count $orders" \
      "$program" --backend "$collectives" --output "$file" --budget "$budget" 2>"$log" &
    pids="$! $pids"
    rank=$((rank - 1))
  done
  status=0
  for pid in $pids; do
    one=0
    wait "$pid" || one=$?
    [ "$status" -ne 0 ] || [ "$pid" != "${pids%% *}" ] || status=$one
  done
  [ "$status" -eq "$wanted" ] || fail "exit status $status, not $wanted"
}

case $program in
  *hip*) gpu=hip collectives=rccl ;;
  *) gpu=cuda collectives=nccl ;;
esac

no_device() {
  measure $gpu 3 devices=0
  says 'no .* GPU that this program can use: there is none'
  [ ! -e "$file" ] || fail "a file was made"
}
old_driver() {
  measure $gpu 3 fault=cudaGetDeviceCount:1:old-driver:lasts
  says 'the driver is older than the runtime'
}
out_of_memory() {
  measure $gpu 0 memory=1.5e9
  says 'skipped (the file says why)'
  check_file
  holds 'cudaMalloc: out of memory'
  some_points
}
illegal_address() {
  measure $gpu 3 fault=launch_stream_kernel:40:illegal-address:sticky
  says "an illegal memory access"
  check_file
}
device_lost() {
  measure $gpu 3 fault=cudaEventQuery:300:ecc:sticky
  says 'uncorrectable ECC error'
  check_file
  some_points
}
kernel_hangs() {
  measure $gpu 3 hang=launch_stream_kernel:40
  says 'the device hangs: it did not finish what it was given within 120 s'
  check_file
}
no_kernel() {
  measure $gpu 0 fault=cublasLtMatmulAlgoGetHeuristic:1:blas-not-supported:lasts
  check_file
  holds 'has no kernel for this product'
  some_points
}
library_out_of_memory() {
  measure $gpu 0 fault=cublasLtMatmulAlgoGetHeuristic:2:blas-oom
  check_file
  holds 'cublasLtMatmulAlgoGetHeuristic: '
}
no_engine() {
  [ $gpu = cuda ] || return 0
  measure cuda 0 engines_that_fail=2
  check_file
  holds 'this engine does not take the graph'
}
broken_timer() {
  measure $gpu 0 timer=0
  check_file
  holds 'the timer told 0 s'
}
clocks_fall() {
  [ $gpu = cuda ] || return 0
  measure cuda 0 clock_falls_to=0.6
  says 'clock while measuring: 1[0-9]* to [0-9]* MHz; it was held down'
  check_file
  some_points
}
no_sensors() {
  measure $gpu 0 sensors=0
  check_file
  some_points
}
disk_full() {
  # Files of at most 64 blocks of 512 bytes; writing more is an error, not a signal.
  status=0
  (
    trap '' XFSZ
    export GCOV_PREFIX="$folder/profile" # which the limit would cut off, too
    ulimit -f 64
    PREQUEL_TOLD='' "$program" --backend $gpu --output "$file" --budget 3s 2>"$folder/error"
  ) || status=$?
  [ "$status" -eq 2 ] || fail "exit status $status, not 2"
  says 'cannot be written'
  check_file
  some_points
}
killed() {
  measure $gpu 137 die=cudaMemsetAsync:1
  check_file
  before=$(points)
  printf '{"op":"cut o' >>"$file"
  measure $gpu 0 '' --resume
  check_file
  [ "$(points)" -gt "$before" ] || fail "nothing was added"
}
collectives_run() {
  ranks 4 0 '' ''
  check_file
  holds '"op":"all_reduce","ranks":2'
  holds '"op":"all_to_all","ranks":4'
  holds '"op":"send_recv"'
  says 'not proven on a device: all_gather, all_reduce'
}
collective_hangs() {
  ranks 2 3 hang=ncclAllReduce:40 hang=ncclAllReduce:40
  says 'the device hangs'
  check_file
}
collective_fails() {
  ranks 2 3 'hang=ncclAllGather:40 async=nccl-remote' 'hang=ncclAllGather:40 async=nccl-remote'
  says 'a collective ended in error: a remote process has ended, or the network failed'
  check_file
}
library_refuses() {
  ranks 2 3 fault=ncclReduceScatter:5:nccl-system fault=ncclReduceScatter:5:nccl-system
  says 'ncclReduceScatter: unhandled system error'
  check_file
}
rank_dies() {
  ranks 3 3 '' die=ncclBroadcast:10
  says 'a process of this measurement has ended, or keeps silent'
  check_file
}
rank_without_memory() {
  ranks 2 0 '' memory=3e8
  check_file
  holds 'another process cannot'
  some_points
}

for one in ${fault:+$fault}; do
  case $one in
    all)
      for each in no_device old_driver out_of_memory illegal_address device_lost kernel_hangs \
        no_kernel library_out_of_memory no_engine broken_timer clocks_fall no_sensors disk_full \
        killed collectives_run collective_hangs collective_fails library_refuses rank_dies \
        rank_without_memory; do
        fault=$each
        rm -f "$file" "$folder"/error*
        $each
      done
      ;;
    *) $one ;;
  esac
done
