"""What the processes of closed_loop.py do: train a small GPT, reduce, run fused attention.

Each is started with a rank and prints one line of JSON. Plain PyTorch 1.13 or later; on GPUs in
bf16 and by NCCL, on processors in fp32 and by gloo, one core a process.
"""

import argparse
import json
import os
import statistics
import time

VOCAB = 8192
WARM_UP = 5
ITERATIONS = 9


def make_model(torch, hidden, layers, heads, seq, attention, recompute):
    """A GPT of the operators that the software files of the loop count."""
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
            if attention == "flash":
                context = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            else:
                scores = (q @ k.transpose(2, 3)) * (hidden // heads) ** -0.5
                context = scores.masked_fill(self.mask, float("-inf")).softmax(-1) @ v
            return self.projection(context.transpose(1, 2).reshape(batch, seq, hidden))

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
    if arguments.backend == "cuda":
        torch.cuda.synchronize()
    begin = time.perf_counter()
    action()
    if arguments.backend == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - begin


def train(arguments):
    """Seconds of each step; null where the device's memory does not do."""
    torch, group, device = start_process(arguments)
    hidden, layers, heads, seq, mbs = arguments.shape
    torch.manual_seed(1)
    model = make_model(torch, hidden, layers, heads, seq, arguments.attention,
                       arguments.recompute).to(device)
    if device == "cuda":
        model = model.bfloat16()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4,
                                  **({"fused": True} if device == "cuda" else {}))
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

    try:
        return [timed(torch, group, arguments, step) for _ in range(WARM_UP + ITERATIONS)][WARM_UP:]
    except RuntimeError as error:  # torch.cuda.OutOfMemoryError is one
        if "out of memory" not in str(error):
            raise
        return None


def reduce(arguments):
    """[bytes, seconds] of all-reduces."""
    torch, group, device = start_process(arguments)
    points = []
    for exponent in range(10, 30 if device == "cuda" else 28):
        data = torch.rand(2 ** exponent // 4, device=device)
        samples = [timed(torch, group, arguments, lambda: group.all_reduce(data))
                   for _ in range(WARM_UP + ITERATIONS)][WARM_UP:]
        points.append([2 ** exponent, statistics.median(samples)])
    return points


def fused_attention(arguments):
    """Points of a measurement file: PyTorch's own fused attention, which it trains with."""
    torch, _, device = start_process(arguments)
    points = []
    for head_dim in (64, 128):
        for seq in (512, 1024, 2048, 4096):
            for heads in (8, 16, 32, 64):
                batch = max(1, 4096 // seq)
                q, k, v = (torch.randn(batch, heads, seq, head_dim, device=device,
                                       dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
                times = {"fwd": [], "bwd": []}
                for _ in range(13):
                    marks = [torch.cuda.Event(enable_timing=True) for _ in range(3)]
                    marks[0].record()
                    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
                    gradient = torch.empty_like(out).normal_() if not times["fwd"] else gradient
                    marks[1].record()
                    out.backward(gradient)
                    marks[2].record()
                    torch.cuda.synchronize()
                    times["fwd"].append(marks[0].elapsed_time(marks[1]) / 1e3)
                    times["bwd"].append(marks[1].elapsed_time(marks[2]) / 1e3)
                for name, samples in times.items():
                    points.append({"op": "attention", "kernel": arguments.attention,
                                   "batch": batch, "seq": seq, "heads": heads, "kv_heads": heads,
                                   "head_dim": head_dim, "causal": True, "pass": name,
                                   "time_s": statistics.median(samples[3:])})
    return points


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["train", "reduce", "attention"])
    parser.add_argument("--backend", choices=["cpu", "cuda"], required=True)
    for name in ("--rank", "--ranks", "--port"):
        parser.add_argument(name, type=int, required=True)
    parser.add_argument("--shape", type=int, nargs=5)
    parser.add_argument("--attention", default="unfused")
    parser.add_argument("--recompute", action="store_true")
    arguments = parser.parse_args()
    parts = {"train": train, "reduce": reduce, "attention": fused_attention}
    answer = parts[arguments.part](arguments)
    if arguments.rank == 0:
        print(json.dumps(answer))


if __name__ == "__main__":
    main()
