"""Snapshots of memory are what PyTorch's viewer reads, and hold the predicted peak."""

import json
import os
import pickle
import pickletools
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GIB = 2**30
#: what the page at pytorch.org/memory_viz unpickles, of what a snapshot needs
OPCODES = {"PROTO", "EMPTY_DICT", "EMPTY_LIST", "MARK", "SETITEMS", "APPENDS", "BINUNICODE", "LONG1", "LONG_BINPUT",
           "LONG_BINGET", "STOP"}


def snapshot(folder, *arguments):
    path = folder / "memory.pickle"
    call = [os.environ["PREQUEL"], "predict", *arguments, "--memory-snapshot", path, "--json"]
    answer = json.loads(subprocess.run(call, capture_output=True, text=True, cwd=ROOT, check=True).stdout)
    return answer, path.read_bytes()


def replayed(trace):
    """The most that is held at once, and what is held then, by kind."""
    live, held, peak, kinds = {}, 0, 0, {}
    for event in trace:
        assert event["frames"][0]["name"] and event["frames"][0]["filename"].startswith("rank ")
        place, size = event["addr"], event["size"]
        assert 0 < place and place + size < 2**53
        if event["action"] == "alloc":
            assert not any(place < other + length and other < place + size for other, (length, _) in live.items())
            live[place] = (size, event["frames"][0]["name"].split()[0])
            held += size
        elif event["action"] == "free_completed":
            assert live.pop(place)[0] == size
            held -= size
        if held > peak:
            peak, kinds = held, {}
            for length, kind in live.values():
                kinds[kind] = kinds.get(kind, 0) + length
    return peak, kinds, live


JOBS = {
    "a pipeline": ("bloom-176b-jean-zay", "--gbs", "128"),
    "interleaved": ("--model", "gpt-18b", "--cluster", "selene", "--nodes", "4", "--tp", "4", "--pp", "4", "--vpp", "2",
                    "--mbs", "1", "--gbs", "32", "--software", "megatron-core-2024"),
    "sharded layers": ("--model", "mosaicgpt-7b", "--cluster", "mosaic-r1z1-a100-80gb", "--nodes", "1", "--gbs", "64",
                       "--mbs", "2"),
}


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_the_events_peak_is_the_predicted_peak(tmp_path, job):
    answer, data = snapshot(tmp_path, *job)
    stages = answer["memory"]["stages"]
    memory = pickle.loads(data)
    assert set(memory) == {"segments", "device_traces"}
    assert len(memory["device_traces"]) == len(memory["segments"]) == len(stages)
    times = []
    for stage, trace, segment in zip(stages, memory["device_traces"], memory["segments"]):
        assert trace[0]["action"] == "segment_alloc"
        peak, kinds, live = replayed(trace[1:])
        assert peak == pytest.approx(stage["peak_gib"] * GIB, abs=64)
        for kind in ("weights", "gradients", "optimizer", "activations", "buffers"):
            assert kinds.get(kind, 0) == pytest.approx(stage[f"{kind}_gib"] * GIB, abs=64), kind
        assert sum(block["size"] for block in segment["blocks"]) == segment["total_size"]
        active = {block["address"]: block["size"] for block in segment["blocks"] if block["state"] != "inactive"}
        assert active == {place: size for place, (size, _) in live.items()}
        assert segment["allocated_size"] == sum(active.values())
        assert [event["time_us"] for event in trace] == sorted(event["time_us"] for event in trace)
        times.append(trace[-1]["time_us"])
    assert max(times) * 1e-6 <= answer["sec_per_iter"]


def test_the_page_can_unpickle_it(tmp_path):
    _, data = snapshot(tmp_path, *JOBS["a pipeline"])
    assert {opcode.name for opcode, _, _ in pickletools.genops(data)} <= OPCODES
    assert max(argument for opcode, argument, _ in pickletools.genops(data) if opcode.name == "LONG1") < 2**53


def test_ranks_are_devices(tmp_path):
    _, data = snapshot(tmp_path, *JOBS["a pipeline"], "--ranks", "0,383")
    traces = pickle.loads(data)["device_traces"]
    assert [trace[0]["frames"][0]["filename"] for trace in traces] == ["rank 0, stage 0", "rank 383, stage 5"]
