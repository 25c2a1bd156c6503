#!/usr/bin/python3
"""The closed loop on one machine: measure, fit, predict, train for real, compare.

    python3 tests/live/closed_loop.py --prequel build/release/cli/prequel --folder /tmp/loop
    python3 tests/live/closed_loop.py --backend cuda --budget 8m --folder /tmp/loop

Measures this machine (`prequel calibrate measure`) and an all-reduce between two processes, fits a
device and a cluster file of that alone, trains small GPTs in plain PyTorch (Debian's python3-torch;
data-parallel 1 and 2, with and without recompute) and lets `prequel validate` compare. Everything
made is left in the folder.

With `--backend cuda` the same on the GPUs of a node, in bf16, attention fused (PyTorch's own, 2.0
or later, which is measured too) and unfused. The GPU's files are made of the shipped one of its
family, the driver's facts and the measurements. `--dry-run` makes all files and the table of runs
without measuring or training, and lets `prequel validate` price every run: it needs no GPU.

On processors each process gets one core, for measuring as for training. Other load on the machine
shows in the result: the load average is printed with it.
"""

import argparse
import csv
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import gpu_files  # noqa: E402
from training import VOCAB  # noqa: E402

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
DATA = REPOSITORY / "data"
# hidden, layers, heads, tokens of a sequence, micro batch
CPU_SHAPES = [(256, 4, 4, 128, 4), (256, 4, 4, 256, 2), (384, 3, 6, 128, 4),
              (512, 2, 8, 128, 4), (512, 2, 8, 256, 2), (768, 2, 12, 128, 2)]
CUDA_SHAPES = [(hidden, layers, hidden // 128, 2048, mbs)
               for hidden, layers in ((1024, 8), (2048, 8), (4096, 4), (8192, 2))
               for mbs in (1, 2, 4, 8)]
# Libraries start their threads when they are loaded: before a process could pin itself to a core.
ONE_CORE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
# Memory once had is kept, as PyTorch itself does on GPUs: else every tensor is paged in anew.
KEPT_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2 ** 34),
               "MALLOC_TOP_PAD_": str(2 ** 28)}
# A GPU for a dry run: what the driver says of it.
DRY_CONTEXT = {"device": "NVIDIA H100 80GB HBM3", "compute_units": "132",
               "memory_bytes": str(85 * 10 ** 9)}


def runs_of(backend, processes):
    """(shape, attention, recompute, dp) of everything that is trained."""
    cuda = backend == "cuda"
    return [(shape, attention, recompute, dp)
            for shape in (CUDA_SHAPES if cuda else CPU_SHAPES)
            for attention in (("flash", "unfused") if cuda else ("unfused",))
            for dp in ((1, 2) if processes > 1 else (1,))
            for recompute in (False, True)]


def run_processes(part, backend, ranks, *more):
    """The first process' answer."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = pathlib.Path(__file__).with_name("training.py")
    environment = dict(os.environ, **(ONE_CORE | KEPT_MEMORY if backend == "cpu" else {}))
    processes = [
        subprocess.Popen([sys.executable, str(program), part, "--backend", backend, "--rank",
                          str(rank), "--ranks", str(ranks), "--port", str(port), *more],
                         stdout=subprocess.PIPE, text=True, env=environment)
        for rank in range(ranks)]
    answers = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        sys.exit(f"closed_loop: {part} on {ranks} processes failed")
    return json.loads(answers[0].strip().splitlines()[-1])


def call(*words):
    print("+", *words, flush=True)
    subprocess.run([str(word) for word in words], check=True)


def write_json(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2) + "\n")


def over(base, patch):
    """The JSON merge patch of `base` (RFC 7396)."""
    if not isinstance(base, dict) or not isinstance(patch, dict):
        return patch
    merged = base | {key: over(base.get(key), value) for key, value in patch.items()}
    return {key: value for key, value in merged.items() if value is not None}


def shipped(kind):
    """All files of a kind, whole: with what those that they are like say."""
    files = {path.stem: json.loads(path.read_text()) for path in (DATA / kind).glob("*.json")}

    def whole(name):
        said = dict(files[name])
        like = said.pop("like", None)
        return over(whole(like), said) if like else said

    return [whole(name) for name in sorted(files)]


def gpu_base(context):
    """The device file to start from; exits where no shipped one is near."""
    base = gpu_files.nearest_device(context["device"], int(context["memory_bytes"]),
                                    shipped("devices"))
    if base is None:
        sys.exit(f"closed_loop: no device file is near {context['device']}: give one by --device")
    return gpu_files.device_file(base, context)


def measure_device(arguments, folder):
    """folder/device.jsonl, and its context."""
    measured = folder / "device.jsonl"
    pin = []
    if arguments.backend == "cpu":
        pin = ["taskset", "-c", str(min(os.sched_getaffinity(0))), "env",
               *(f"{name}={value}" for name, value in ONE_CORE.items())]
    again = ["--resume"] if measured.exists() else []
    call(*pin, arguments.prequel, "calibrate", "measure", "--backend", arguments.backend,
         "--budget", arguments.budget, "--output", measured, *again)
    with open(measured) as lines:
        return measured, json.loads(lines.readline())["context"]


def fit_device(arguments, folder):
    """folder/devices/here.json, from measurements alone."""
    measured, context = measure_device(arguments, folder)
    files, base = [measured], arguments.device
    if arguments.backend == "cuda":
        attention = folder / "attention.jsonl"
        points = run_processes("attention", "cuda", 1, "--attention", gpu_files.FLASH_KERNEL)
        head = {"schema": "prequel/measurement/1", "context": context}
        attention.write_text("".join(json.dumps(line) + "\n" for line in [head, *points]))
        files.append(attention)
        if base is None:
            base = folder / "devices/gpu-base.json"
            write_json(base, gpu_base(context))
    call(arguments.prequel, "calibrate", "fit", *files, "--kind", "device", "--device",
         base or "cpu", "--name", "here", "--output", folder / "devices/here.json")


def fit_cluster(arguments, folder):
    """folder/clusters/here.json: its collectives measured where there are two processes."""
    cluster = folder / "clusters/here.json"
    base = "cpu-node"
    if arguments.backend == "cuda":
        base = folder / "clusters/gpu-node.json"
        write_json(base, gpu_files.cluster_file(arguments.processes))
    if arguments.processes > 1:
        with open(folder / "links.csv", "w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["op", "ranks", "nodes", "bytes", "time_s", "source"])
            for size, seconds in run_processes("reduce", arguments.backend, 2):
                table.writerow(["all_reduce", 2, 1, size, seconds, "own"])
        call(arguments.prequel, "calibrate", "fit", folder / "links.csv", "--kind", "cluster",
             "--cluster", base, "--name", "here", "--output", cluster)
    else:
        write_json(cluster, json.loads(pathlib.Path(base).read_text()))
    content = json.loads(cluster.read_text())
    content.update(name="here", device="here", software=arguments.software)
    write_json(cluster, content)


def make_dry_files(arguments, folder):
    """What fits would write, with the constants that they start from."""
    if arguments.backend == "cuda":
        device = gpu_base(DRY_CONTEXT)
        device["attention"]["kernels"][gpu_files.FLASH_KERNEL] = dict(
            device["attention"]["kernels"]["flash-2"], measured_as=[gpu_files.FLASH_KERNEL])
        cluster = gpu_files.cluster_file(arguments.processes)
    else:
        device = json.loads((DATA / "devices/cpu.json").read_text())
        cluster = json.loads((DATA / "clusters/cpu-node.json").read_text())
    write_json(folder / "devices/here.json", dict(device, name="here"))
    write_json(folder / "clusters/here.json",
               dict(cluster, name="here", device="here", software=arguments.software))


def row_of(arguments, shape, attention, recompute, dp, times):
    """One line of the table of runs; `times` None: the device's memory did not do."""
    hidden, layers, heads, seq, mbs = shape
    kind = "full" if recompute else "none"
    row = {"id": f"h{hidden}-s{seq}-b{mbs}-dp{dp}-{attention}-{kind}", "source": "own",
           "cluster": "here", "framework": "pytorch-ddp", "software": arguments.software,
           "nodes": 1, "gpus": dp, "model": "gpt", "layers": layers, "hidden": hidden,
           "heads": heads, "seq_len": seq, "vocab": VOCAB, "mlp": "gelu", "position": "learned",
           "tied_embeddings": 1, "dp": dp, "tp": 1, "pp": 1, "cp": 1, "ep": 1, "vpp": 1,
           "schedule": "1f1b", "sequence_parallel": 0, "zero_stage": 0, "offload": "none",
           "mbs": mbs, "gbs": mbs * dp, "attention": attention, "recompute": kind,
           "precision": "bf16" if arguments.backend == "cuda" else "fp32"}
    if times is None:
        return dict(row, status="oom")
    return dict(row, sec_per_iter=statistics.median(times), status="ok",
                notes=f"fastest {min(times):.4g} s, slowest {max(times):.4g} s")


def measure_runs(arguments, folder):
    """Trains every shape; writes folder/runs.csv."""
    with open(DATA / "runs/fugaku-124m.csv", newline="") as file:
        columns = next(csv.reader(file))
    with open(folder / "runs.csv", "w", newline="") as file:
        table = csv.DictWriter(file, columns, restval="")
        table.writeheader()
        for shape, attention, recompute, dp in runs_of(arguments.backend, arguments.processes):
            times = [1.0]  # a dry run's, which the notes say
            if not arguments.dry_run:
                more = ["--shape", *map(str, shape), "--attention", attention]
                times = run_processes("train", arguments.backend, dp,
                                      *more, *["--recompute"] * recompute)
            row = row_of(arguments, shape, attention, recompute, dp, times)
            if arguments.dry_run:
                row["notes"] = "not run: the time stands for one"
            table.writerow(row)
            file.flush()


def processes_here(arguments):
    """Processes that train at once at most: two, where there is a GPU for each."""
    if arguments.backend == "cpu" or arguments.dry_run:
        return 2
    import torch
    return min(2, torch.cuda.device_count())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prequel", default=REPOSITORY / "build/release/cli/prequel")
    parser.add_argument("--folder", type=pathlib.Path, default="closed-loop")
    parser.add_argument("--backend", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--budget", default="2m", help="for measuring the device")
    parser.add_argument("--device", help="gives what the fit leaves open (default: the nearest)")
    parser.add_argument("--dry-run", action="store_true", help="make all files, measure nothing")
    arguments = parser.parse_args()
    folder = arguments.folder
    for kind in ("devices", "clusters"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    arguments.processes = processes_here(arguments)
    arguments.software = "pytorch-cuda" if arguments.backend == "cuda" else "pytorch-cpu-2"
    if arguments.backend == "cuda":
        cpu = json.loads((DATA / "software/pytorch-cpu-2.json").read_text())
        write_json(folder / "software/pytorch-cuda.json", gpu_files.software_file(cpu))
    print("load average:", *os.getloadavg())
    if arguments.dry_run:
        make_dry_files(arguments, folder)
    else:
        fit_device(arguments, folder)
        fit_cluster(arguments, folder)
    measure_runs(arguments, folder)
    print("load average:", *os.getloadavg())
    call(arguments.prequel, "validate", folder / "runs.csv", "--data-dir", folder, "--worst", "5")
    return 0


if __name__ == "__main__":
    sys.exit(main())
