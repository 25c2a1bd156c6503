"""What of the closed loop needs neither GPU nor PyTorch: its shapes and files."""

import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import closed_loop  # noqa: E402
import gpu_files  # noqa: E402


def dry_run(backend, folder):
    """The table of runs, and the answer of `prequel validate` on it."""
    prequel = os.environ["PREQUEL"]
    program = pathlib.Path(closed_loop.__file__)
    subprocess.run([sys.executable, str(program), "--dry-run", "--backend", backend, "--folder",
                    folder, "--prequel", prequel], check=True, capture_output=True)
    with open(folder + "/runs.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    answer = subprocess.run([prequel, "validate", folder + "/runs.csv", "--data-dir", folder,
                             "--json"], check=True, capture_output=True, text=True)
    return rows, json.loads(answer.stdout)


class Shapes(unittest.TestCase):
    def test_gpus_train_a_dozen_shapes_fused_and_not_with_and_without_recompute(self):
        runs = closed_loop.runs_of("cuda", 1)
        shapes = {shape for shape, *_ in runs}
        self.assertGreaterEqual(len(shapes), 12)
        self.assertEqual({shape[0] for shape in shapes}, {1024, 2048, 4096, 8192})
        self.assertEqual({shape[4] for shape in shapes}, {1, 2, 4, 8})
        for shape in shapes:
            of_shape = {(attention, recompute) for other, attention, recompute, _ in runs
                        if other == shape}
            self.assertEqual(of_shape, {(attention, recompute)
                                        for attention in ("flash", "unfused")
                                        for recompute in (False, True)})

    def test_two_processes_train_data_parallel_too(self):
        for backend in ("cpu", "cuda"):
            one, two = (closed_loop.runs_of(backend, processes) for processes in (1, 2))
            self.assertEqual(len(two), 2 * len(one))
            self.assertEqual({dp for *_, dp in two}, {1, 2})


class Files(unittest.TestCase):
    def test_a_gpu_starts_from_the_shipped_device_of_its_family_and_memory(self):
        shipped = closed_loop.shipped("devices")
        for name, gigabytes, expected in (
                ("NVIDIA H100 80GB HBM3", 85, "h100-sxm"), ("NVIDIA H200", 150, "h200-sxm"),
                ("NVIDIA H200 NVL", 150, "h200-nvl"),
                ("NVIDIA A100-SXM4-40GB", 42, "a100-sxm-40gb"),
                ("NVIDIA A100-SXM4-80GB", 85, "a100-sxm-80gb"),
                ("NVIDIA A100 80GB PCIe", 85, "a100-pcie-80gb"),
                ("Tesla V100-SXM2-32GB", 34, "v100-sxm2-32gb")):
            found = gpu_files.nearest_device(name, gigabytes * 10 ** 9, shipped)
            self.assertEqual(found["name"], expected, name)
        self.assertIsNone(gpu_files.nearest_device("NVIDIA Z900", 10 ** 11, shipped))

    def test_the_driver_says_memory_and_processors(self):
        base = {"name": "old", "memory": "80 GiB", "compute_units": 108}
        made = gpu_files.device_file(base, {"device": "New GPU", "compute_units": "60",
                                            "memory_bytes": str(24 * gpu_files.GIB)})
        self.assertEqual((made["compute_units"], made["memory"]), (60, "24.0 GiB"))
        self.assertEqual(base["compute_units"], 108)


class DryRuns(unittest.TestCase):
    def test_every_run_is_priced_from_the_files_that_the_loop_makes(self):
        for backend, precision in (("cpu", "fp32"), ("cuda", "bf16")):
            with self.subTest(backend), tempfile.TemporaryDirectory() as folder:
                rows, answer = dry_run(backend, folder)
                self.assertEqual(len(rows), len(closed_loop.runs_of(backend, 2)))
                self.assertEqual(len({row["id"] for row in rows}), len(rows))
                self.assertEqual({row["precision"] for row in rows}, {precision})
                self.assertEqual({row["notes"] for row in rows},
                                 {"not run: the time stands for one"})
                priced = [run for run in answer["runs"] if run["status"] == "predicted"]
                self.assertEqual(len(priced), len(rows))


if __name__ == "__main__":
    unittest.main()
