#!/usr/bin/python3
"""The closed loop on one machine: measure, fit, predict, train for real, compare.

    python3 tests/live/closed_loop.py --prequel build/release/cli/prequel --folder /tmp/loop

Measures this machine (`prequel calibrate measure`) and an all-reduce between two processes, fits a
device and a cluster file of that alone, trains small GPTs in plain PyTorch (Debian's python3-torch;
data-parallel 1 and 2, with and without recompute) and lets `prequel validate` compare. With
`--backend cuda` the same on GPUs, in bf16 and by NCCL. Everything made is left in the folder.

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
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
VOCAB = 8192
ITERATIONS = 5
# hidden, layers, heads, tokens of a sequence, micro batch
CPU_SHAPES = [(256, 4, 4, 128, 4), (256, 4, 4, 256, 2), (384, 3, 6, 128, 4),
              (512, 2, 8, 128, 4), (512, 2, 8, 256, 2), (768, 2, 12, 128, 2)]
CUDA_SHAPES = [(hidden, layers, hidden // 128, 2048, mbs)
               for hidden, layers in ((1024, 8), (2048, 8), (4096, 4), (8192, 2))
               for mbs in (1, 4, 8)]


def make_model(torch, hidden, layers, heads, seq, recompute):
    """A GPT of the operators that data/software/pytorch-cpu-2.json counts."""
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm_1, self.norm_2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
            self.qkv, self.projection = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
            self.mlp_in, self.mlp_out = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)
            self.register_buffer("mask", torch.ones(seq, seq, dtype=torch.bool).triu(1))

        def attention(self, x):
            batch = x.shape[0]
            q, k, v = (part.view(batch, seq, heads, -1).transpose(1, 2)
                       for part in self.qkv(x).chunk(3, -1))
            scores = (q @ k.transpose(2, 3)) * (hidden // heads) ** -0.5
            weights = scores.masked_fill(self.mask, float("-inf")).softmax(-1)
            return self.projection((weights @ v).transpose(1, 2).reshape(batch, seq, hidden))

        def forward(self, x):
            x = x + self.attention(self.norm_1(x))
            return x + self.mlp_out(nn.functional.gelu(self.mlp_in(self.norm_2(x))))

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.token = nn.Embedding(VOCAB, hidden)
            self.position = nn.Parameter(0.02 * torch.randn(seq, hidden))
            self.blocks = nn.ModuleList(Block() for _ in range(layers))
            self.norm = nn.LayerNorm(hidden)

        def forward(self, tokens):
            x = self.token(tokens) + self.position
            for block in self.blocks:
                x = checkpoint(block, x, use_reentrant=True) if recompute else block(x)
            return self.norm(x) @ self.token.weight.t()

    return Gpt()


def start_process(arguments):
    """Own core or GPU, and the group of all."""
    import torch
    import torch.distributed as group
    cuda = arguments.backend == "cuda"
    if cuda:
        torch.cuda.set_device(arguments.rank)
    else:
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[arguments.rank % len(cores)]})
        torch.set_num_threads(1)
    if arguments.ranks > 1:
        os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(arguments.port)
        group.init_process_group("nccl" if cuda else "gloo", rank=arguments.rank,
                                 world_size=arguments.ranks)
    return torch, group, "cuda" if cuda else "cpu"


def timed(torch, group, arguments, action):
    """Seconds of one action, all processes beginning together."""
    if arguments.ranks > 1:
        group.barrier()
    begin = time.perf_counter()
    action()
    if arguments.backend == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - begin


def train(arguments):
    """Prints seconds of each step."""
    torch, group, device = start_process(arguments)
    hidden, layers, heads, seq, mbs = arguments.shape
    torch.manual_seed(1)
    model = make_model(torch, hidden, layers, heads, seq, arguments.recompute).to(device)
    if device == "cuda":
        model = model.bfloat16()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.randint(VOCAB, (mbs, seq + 1), device=device)

    def step():
        optimizer.zero_grad(set_to_none=True)
        logits = model(tokens[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, VOCAB),
                                                 tokens[:, 1:].reshape(-1))
        loss.backward()
        if arguments.ranks > 1:
            flat = torch.cat([p.grad.reshape(-1) for p in model.parameters()])
            group.all_reduce(flat)
            at = 0
            for p in model.parameters():
                p.grad.copy_(flat[at:at + p.numel()].view_as(p.grad)).div_(arguments.ranks)
                at += p.numel()
        optimizer.step()

    times = [timed(torch, group, arguments, step) for _ in range(2 + ITERATIONS)][2:]
    if arguments.rank == 0:
        print(json.dumps(times))


def reduce(arguments):
    """Prints [bytes, seconds] of all-reduces."""
    torch, group, device = start_process(arguments)
    points = []
    for exponent in range(10, 28):
        data = torch.rand(2 ** exponent // 4, device=device)
        samples = [timed(torch, group, arguments, lambda: group.all_reduce(data))
                   for _ in range(9)][2:]
        points.append([2 ** exponent, statistics.median(samples)])
    if arguments.rank == 0:
        print(json.dumps(points))


def run_processes(what, backend, ranks, more=()):
    """The first process' answer."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    processes = [
        subprocess.Popen([sys.executable, __file__, "--part", what, "--backend", backend, "--rank",
                          str(rank), "--ranks", str(ranks), "--port", str(port), *more],
                         stdout=subprocess.PIPE, text=True) for rank in range(ranks)]
    answers = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        sys.exit(f"closed_loop: {what} on {ranks} processes failed")
    return json.loads(answers[0].strip().splitlines()[-1])


def call(*words):
    print("+", *words, flush=True)
    subprocess.run([str(word) for word in words], check=True)


def calibrate(arguments, folder):
    """Writes folder/devices/here.json and folder/clusters/here.json from measurements alone."""
    for part in ("devices", "clusters"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    measured = folder / "device.jsonl"
    pin = []
    if arguments.backend == "cpu":
        pin = ["taskset", "-c", str(min(os.sched_getaffinity(0))), "env", "OPENBLAS_NUM_THREADS=1"]
    again = ["--resume"] if measured.exists() else []
    call(*pin, arguments.prequel, "calibrate", "measure", "--backend", arguments.backend,
         "--budget", arguments.budget, "--output", measured, *again)
    device = "cpu" if arguments.backend == "cpu" else arguments.device
    call(arguments.prequel, "calibrate", "fit", measured, "--kind", "device", "--device", device,
         "--name", "here", "--output", folder / "devices/here.json")
    with open(folder / "links.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["op", "ranks", "nodes", "bytes", "time_s", "source"])
        for size, seconds in run_processes("reduce", arguments.backend, 2):
            table.writerow(["all_reduce", 2, 1, size, seconds, "own"])
    cluster = folder / "clusters/here.json"
    call(arguments.prequel, "calibrate", "fit", folder / "links.csv", "--kind", "cluster",
         "--cluster", "cpu-node", "--name", "here", "--output", cluster)
    content = json.loads(cluster.read_text())
    content["device"] = "here"
    content["software"] = arguments.software
    cluster.write_text(json.dumps(content, indent=2) + "\n")


def measure_runs(arguments, folder):
    """Trains every shape; writes folder/runs.csv."""
    with open(REPOSITORY / "data/runs/fugaku-124m.csv", newline="") as file:
        columns = next(csv.reader(file))
    with open(folder / "runs.csv", "w", newline="") as file:
        table = csv.DictWriter(file, columns, restval="")
        table.writeheader()
        for shape in CUDA_SHAPES if arguments.backend == "cuda" else CPU_SHAPES:
            for dp in (1, 2):
                for recompute in (False, True):
                    more = ["--shape", *map(str, shape)] + ["--recompute"] * recompute
                    times = run_processes("train", arguments.backend, dp, more)
                    hidden, layers, heads, seq, mbs = shape
                    kind = "full" if recompute else "none"
                    table.writerow({
                        "id": f"h{hidden}-s{seq}-b{mbs}-dp{dp}-{kind}", "source": "own",
                        "cluster": "here", "framework": "pytorch-ddp",
                        "software": arguments.software, "nodes": 1, "gpus": dp, "model": "gpt",
                        "layers": layers, "hidden": hidden, "heads": heads, "seq_len": seq,
                        "vocab": VOCAB, "mlp": "gelu", "position": "learned", "tied_embeddings": 1,
                        "dp": dp, "tp": 1, "pp": 1, "cp": 1, "ep": 1, "vpp": 1, "schedule": "1f1b",
                        "sequence_parallel": 0, "zero_stage": 0, "offload": "none", "mbs": mbs,
                        "gbs": mbs * dp, "attention": "unfused", "recompute": kind,
                        "precision": "bf16" if arguments.backend == "cuda" else "fp32",
                        "sec_per_iter": statistics.median(times), "status": "ok",
                        "notes": f"fastest {min(times):.4g} s, slowest {max(times):.4g} s"})
                    file.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prequel", default=REPOSITORY / "build/release/cli/prequel")
    parser.add_argument("--folder", type=pathlib.Path, default="closed-loop")
    parser.add_argument("--backend", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--budget", default="2m", help="for measuring the device")
    parser.add_argument("--device", default="h100-sxm", help="gives what a GPU's fit leaves open")
    parser.add_argument("--software", default="pytorch-cpu-2")
    parser.add_argument("--part", choices=["train", "reduce"], help=argparse.SUPPRESS)
    for name in ("--rank", "--ranks", "--port"):
        parser.add_argument(name, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--shape", type=int, nargs=5, help=argparse.SUPPRESS)
    parser.add_argument("--recompute", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        return {"train": train, "reduce": reduce}[arguments.part](arguments)
    print("load average:", *os.getloadavg())
    calibrate(arguments, arguments.folder)
    measure_runs(arguments, arguments.folder)
    print("load average:", *os.getloadavg())
    call(arguments.prequel, "validate", arguments.folder / "runs.csv", "--data-dir",
         arguments.folder, "--worst", "5")
    return 0


if __name__ == "__main__":
    sys.exit(main())
