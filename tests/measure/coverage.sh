#!/bin/sh
# Prints which share of the lines of calibrate/measure tests without a GPU run, by file and in all:
#   sh tests/measure/coverage.sh [BUILD-FOLDER [LEAST-PER-CENT]]
# Exits with 1 where it is less than asked for. It takes GCC, gcov and Python, neither CUDA nor ROCm:
# back ends for GPUs are those that run on the told machine, device code that of this processor.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(realpath -m "${1:-$root/build/coverage}")
least=${2:-0}

cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_COMPILER=g++ \
  -DCMAKE_CXX_FLAGS="--coverage -O0 -g0" -DPREQUEL_CUDA=OFF -DPREQUEL_HIP=OFF \
  -DPREQUEL_PYTHON_MODULE=OFF -DPREQUEL_UNITY=ON >"$root/build/coverage.log" 2>&1 ||
  { tail -20 "$root/build/coverage.log" >&2; exit 2; }
cmake --build "$build" --target test_measure test_kernels test_told_cuda test_told_hip \
  told_cuda_measure told_hip_measure prequel-measure >>"$root/build/coverage.log" 2>&1 ||
  { grep -E 'error|FAILED' "$root/build/coverage.log" | head -20 >&2; exit 2; }
find "$build" -name '*.gcda' -delete

tests=$build/tests/measure
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for test in test_measure emulated/test_kernels told/test_told_cuda told/test_told_hip; do
  "$tests/$test" >"$folder/log" 2>&1 || { tail -20 "$folder/log" >&2; exit 2; }
done
for driver in cuda hip; do
  sh "$root/tests/measure/told/told_program.sh" "$tests/told/told_${driver}_measure" all >&2
done
# Builds for this machine itself make short runs, whose times nobody looks at.
measure=$build/cli/prequel-measure
"$measure" --backend cpu --budget 3s --output "$folder/cpu.jsonl" 2>/dev/null || true
"$measure" --backend none --output "$folder/none.jsonl" 2>/dev/null || true
if command -v mpirun >/dev/null; then
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    OMPI_MCA_btl_vader_single_copy_mechanism=none \
    mpirun --oversubscribe -n 2 "$measure" --backend mpi --budget 3s \
    --output "$folder/mpi.jsonl" >/dev/null 2>&1 || true
fi

find "$build" -name '*.gcda' >"$folder/files"
python3 - "$root" "$folder/files" "$least" <<'END'
import collections, json, os, subprocess, sys

root, files, least = sys.argv[1], sys.argv[2], float(sys.argv[3])
lines = collections.defaultdict(dict)  # hits by file and line: the most of any object
for path in open(files).read().split("\n"):
    if not path:
        continue
    told = subprocess.run(["gcov", "--json-format", "--stdout", path], capture_output=True,
                          cwd=os.path.dirname(path), check=True).stdout.decode()
    for text in filter(None, told.split("\n")):
        known_by = json.loads(text)
        for source in known_by["files"]:
            place = os.path.join(known_by["current_working_directory"], source["file"])
            name = os.path.relpath(place, root)
            if not name.startswith("calibrate/measure/"):
                continue
            for line in source["lines"]:
                known = lines[name].get(line["line_number"], 0)
                lines[name][line["line_number"]] = max(known, line["count"])
run = whole = 0
for name in sorted(lines):
    hit = sum(1 for count in lines[name].values() if count > 0)
    run += hit
    whole += len(lines[name])
    print(f"{100 * hit / len(lines[name]):6.1f} % of {len(lines[name]):4d} lines  {name}")
built = {os.path.basename(name) for name in lines}
for name in sorted(os.listdir(os.path.join(root, "calibrate/measure"))):
    if name.endswith((".cpp", ".cu")) and name not in built:
        print(f"not built here: calibrate/measure/{name}")
share = 100 * run / whole
print(f"line coverage of calibrate/measure without a GPU: {share:.1f} % ({run} of {whole})")
sys.exit(0 if share >= least else 1)
END
