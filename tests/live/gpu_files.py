"""Files from which the closed loop on GPUs starts: device, cluster and software.

What is measured replaces what stands here; what is not (memory, number of processors) comes from
the GPU itself or is counted from the operators of training.py.
"""

import json
import re

FLASH_KERNEL = "pytorch-sdpa"  # what PyTorch's fused attention is called in the files
GIB = 2 ** 30


def bytes_of(text):
    """Of text such as "80 GiB"."""
    number, unit = re.fullmatch(r"([\d.]+) ([MG]iB|GB)", text).groups()
    return float(number) * {"MiB": 2 ** 20, "GiB": GIB, "GB": 10 ** 9}[unit]


def nearest_device(name, memory_bytes, shipped):
    """The shipped device file for a GPU's own name ("NVIDIA H100 80GB HBM3"): the same family, then
    the same connector, then the nearest memory. None where no file is of the family."""
    words = name.lower().replace("-", " ").split()
    connectors = {"pcie", "nvl"}  # names of other GPUs may leave theirs out

    def distance(device):
        parts = device["name"].split("-")
        connector = connectors & set(words) != connectors & set(parts)
        return connector, abs(bytes_of(device["memory"]) - memory_bytes)

    family = [device for device in shipped if device["name"].split("-")[0] in words]
    return min(family, key=distance, default=None)


def device_file(base, context):
    """`base` with what a measurement's context says of the GPU."""
    device = json.loads(json.dumps(base))
    device["name"] = "gpu-base"
    device["origin"] = (f"{context['device']} as its driver describes it; peaks and what is not "
                        f"measured as in {base['name']}")
    device["compute_units"] = int(context["compute_units"])
    device["memory"] = f"{round(int(context['memory_bytes']) / GIB, 2)} GiB"
    return device


def cluster_file(gpus):
    """One node of `gpus`, with usual numbers where collectives are not measured."""
    return {
        "schema": "prequel/cluster/1", "name": "gpu-node", "device": "here",
        "software": "pytorch-cuda", "nodes": 1,
        "origin": "this node; what is not measured is usual and hardly used by one node",
        "node": {"collectives": {"latency_s": 1e-5, "step_s": 2e-6, "bandwidth": "200 GB/s",
                                 "fill_s": 0}},
        "network": {"efficiency": 0.9, "latency_s": 2e-5, "step_latency_s": 4e-6},
        "fabric": {
            "node": {"devices": gpus,
                     "interconnect": {"kind": "nvswitch", "bandwidth": "450 GB/s"},
                     "nics": {"count": 1, "bandwidth": "100 Gbit/s"},
                     "pcie": {"bandwidth": "32 GB/s"}},
            "network": {"kind": "none"}}}


def software_file(cpu):
    """Eager PyTorch on GPUs in bf16: that of processors in fp32 (`cpu`), its bytes halved, and
    AdamW and attention in one kernel each."""
    software = json.loads(json.dumps(cpu))
    software.update({
        "name": "pytorch-cuda",
        "note": "Plain eager PyTorch on GPUs in bf16, fused AdamW, NCCL: what closed_loop.py trains.",
        "origin": "operators that eager PyTorch 2 runs in tests/live/training.py, counted by hand"})
    software["defaults"].update({"precision": "bf16", "attention": "flash"})
    software["kernels"] = {
        "origin": "bytes in bf16. Logits: log-softmax reads and writes (4), its backward reads "
                  "output and gradient, which was filled before, and writes (8). Fused AdamW: "
                  "weight and two moments are read and written (12), the gradient read (2). "
                  "Scores: scaling 4, mask 5, softmax 4; backward 6, 5 and 4",
        "gemm_time_factor": 1.0, "pointwise_traffic_factor": 1.0,
        "cross_entropy_bytes": 12,
        "optimizer_traffic_bytes": 14,
        "score_traffic": {"unfused": 28},
        "flash_kernel": FLASH_KERNEL}
    software["host"] = {
        "origin": "launches run ahead of the device in steps of this size",
        "async_launch_per_layer_s": 0, "blocking_launch_per_layer_s": 0.00015,
        "fixed_per_iteration_s": 0}
    software["memory"] = {
        "origin": "bf16 weights, gradients and two moments; logits, their log-softmax and gradient; "
                  "library and CUDA context about 1 GiB: usual, not measured",
        "weight_bytes": 2, "gradient_bytes": 2, "optimizer_bytes": 4, "reduce_bytes": 2,
        "layer_workspace_factor": 1.0, "logit_bytes": 6, "score_bytes": 6, "framework": "1 GiB"}
    return software
