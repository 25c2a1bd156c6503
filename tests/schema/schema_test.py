"""The JSON Schemas of data/schema/ say what prequel's readers say, and describe what it prints."""

import copy
import functools
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from jsonschema import Draft202012Validator, RefResolver

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "cmake"))
from schemas import Schemas  # noqa: E402

SCHEMAS = Schemas(ROOT / "data" / "schema")
FOLDERS = {"model": "models", "device": "devices", "cluster": "clusters", "software": "software", "job": "jobs"}

# Facts that a schema cannot say, since they lie between fields or files: here readers may refuse
# more.
BETWEEN_FIELDS = re.compile(
    "multiple|ascending|no switch is named|are known|unknown (model|device|cluster|software)|no such file"
    "|as this is a few bytes|join at most|expected at most|expected the switch of each|two different switches"
    "|/num_attention_heads: (missing|expected .* got null)"  # models without attention have none
)


@functools.cache
def schema_validator(kind):
    path = ROOT / "data" / "schema" / f"{kind}-1.json"
    schema = json.loads(path.read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema, resolver=RefResolver(path.as_uri(), schema))


def reader_verdicts(kind, values):
    """What the reader says of each value: "accepted", or its problems."""
    lines = "".join(json.dumps(value) + "\n" for value in values)
    with tempfile.TemporaryDirectory() as folder:
        command = [os.environ["READER_VERDICT"], kind, folder + "/scratch"]
        return subprocess.run(command, input=lines, capture_output=True, text=True, check=True).stdout.splitlines()


def answer(*arguments, exit_status=0):
    """The JSON that the program prints."""
    done = subprocess.run([os.environ["PREQUEL"], *arguments, "--json"], capture_output=True, text=True)
    assert done.returncode == exit_status, done.stderr
    return json.loads(done.stdout)


def fixtures(folder):
    """(kind, name, value) of each file there, KIND-WHAT.json; of .jsonl files, of each line."""
    for path in sorted((Path(__file__).parent / folder).iterdir()):
        texts = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
        for number, text in enumerate(texts, 1):
            yield path.name.split("-")[0], f"{folder}/{path.name}:{number}", json.loads(text)


def places(value, pointer=()):
    """The pointers of all values below this one; of arrays, of the first two elements."""
    if isinstance(value, (dict, list)):
        members = list(value.items()) if isinstance(value, dict) else list(enumerate(value))[:2]
        for key, member in members:
            yield pointer + (key,)
            yield from places(member, pointer + (key,))


def member(value, pointer):
    for key in pointer:
        value = value[key]
    return value


def changed_copies(value):
    """The value with one place left out, replaced by what does not belong there, or added to."""
    for *around, last in places(value):
        for change in ("delete", None, "x", -1, 0, 0.5, 1e40, [], {}, True, "8 GB", "8 GB/s"):
            new = copy.deepcopy(value)
            parent = member(new, around)
            if change == "delete":
                del parent[last]
            else:
                parent[last] = change
            yield new
    for pointer in [(), *places(value)]:
        new = copy.deepcopy(value)
        if isinstance(member(new, pointer), dict):
            member(new, pointer)["not_a_key"] = 1
            yield new


def untold(value, schema, file, path=""):
    """The members of an answer that its schema does not list, or without saying what they mean. Free objects list
    none; what a plan has is said by the table of axes."""
    schema, file = SCHEMAS.plain(schema, file)
    properties = schema.get("properties", {})
    if "zero" in properties:
        return
    if isinstance(value, list):
        for one in value:
            yield from untold(one, schema.get("items", {}), file, path + "[]")
    elif isinstance(value, dict) and properties:
        for key, each in value.items():
            if key not in properties or "description" not in SCHEMAS.plain(properties[key], file)[0]:
                yield f"{path}.{key}"
            else:
                yield from untold(each, properties[key], file, f"{path}.{key}")


class SchemaTest(unittest.TestCase):
    def assert_valid(self, kind, value, what):
        problems = [f"{what}: {error.json_path}: {error.message}" for error in schema_validator(kind).iter_errors(value)]
        self.assertEqual(problems[:3], [])


class ShippedFiles(SchemaTest):
    def test_every_shipped_file_is_valid(self):
        for kind, folder in FOLDERS.items():
            paths = glob.glob(str(ROOT / "data" / folder / "*.json"))
            self.assertTrue(paths)
            for path in paths:
                self.assert_valid(kind, json.loads(Path(path).read_text()), path)


class Fixtures(SchemaTest):
    def check(self, folder, is_good):
        seen = set()
        for kind, name, value in fixtures(folder):
            self.assertEqual(schema_validator(kind).is_valid(value), is_good, name)
            verdict = reader_verdicts(kind, [value])[0]
            self.assertEqual(verdict == "accepted", is_good, f"{name}: {verdict}")
            seen.add(kind)
        self.assertEqual(seen, {*FOLDERS, "measurement"})

    def test_schemas_and_readers_accept_the_same(self):
        self.check("accept", True)

    def test_schemas_and_readers_refuse_the_same(self):
        self.check("refuse", False)


class ChangedFiles(SchemaTest):
    def check(self, kind, value, name):
        validator = schema_validator(kind)
        copies = list(changed_copies(value))
        for new, verdict in zip(copies, reader_verdicts(kind, copies)):
            if validator.is_valid(new):
                told = verdict == "accepted" or BETWEEN_FIELDS.search(verdict)
                self.assertTrue(told, f"{name}: the reader refuses more: {verdict}")
            else:
                self.assertNotEqual(verdict, "accepted", f"{name}: the schema refuses more: {json.dumps(new)}")

    def test_each_change_of_an_accepted_file_is_judged_alike(self):
        for kind, name, value in fixtures("accept"):
            if kind != "measurement":
                with self.subTest(name):
                    self.check(kind, value, name)


class Answers(SchemaTest):
    JOB = "bloom-176b-jean-zay"

    def check(self, kind, value):
        self.assert_valid(kind, value, kind)
        if kind != "fit":
            self.assertEqual(sorted(set(untold(value, schema_validator(kind).schema, f"{kind}-1.json"))), [])
        for key in schema_validator(kind).schema["required"]:
            less = {name: member for name, member in value.items() if name != key}
            self.assertFalse(schema_validator(kind).is_valid(less), f"{kind} without {key}")

    def test_predictions_are_valid(self):
        self.check("prediction", answer("predict", self.JOB))
        self.check("prediction", answer("predict", self.JOB, "--slow-node", "7:0.9", "--jitter", "0.02", "--samples", "3"))
        self.check("prediction", answer("predict", self.JOB, "--gbs-ramp", "16:2048:16", "--ramp-samples", "6e6",
                                        "--tokens", "366e9", "--mtbf", "5d", "--checkpoint-bandwidth", "40GB/s"))
        self.check("prediction", answer("predict", self.JOB, "--mbs", "16", exit_status=1))
        self.check("prediction", answer("predict", self.JOB, "--verbose", "--contention"))
        self.check("prediction", answer("predict", self.JOB, "--tokens", "366e9", "--reservation", "120d", "--over-nodes", "24,48",
                                        "--price", "2", "--replications", "20"))

    def test_kernels_are_of_all_parts_that_the_schema_lists(self):
        with tempfile.TemporaryDirectory() as folder:
            windowed = json.loads((ROOT / "data/models/llama-3-8b.json").read_text())
            windowed |= {"sliding_window": 128, "full_attention_every": 2}
            Path(folder + "/windowed.json").write_text(json.dumps(windowed))
            parts = set()
            chunked = windowed | {"sliding_window": 0, "attention_chunk_size": 512}
            Path(folder + "/chunked.json").write_text(json.dumps(chunked))
            layouts = {"deepseek-v3": ("--tp", "4", "--ep", "256"), "gpt-oss-20b": ("--ep", "8"), folder + "/windowed.json": (),
                       folder + "/chunked.json": (), "llama4-scout": ("--tp", "4", "--ep", "16")}
            for model, layout in layouts.items():
                predicted = answer("predict", "--model", model, "--cluster", "dgx-h100", "--nodes", "128", *layout,
                                   "--gbs", "2048", "--mbs", "1", "--seq-len", "4096", "--recompute", "full", "--verbose")
                self.check("prediction", predicted)
                parts |= {kernel["part"] for kernel in predicted["kernels"]}
        listed = schema_validator("prediction").schema["$defs"]["kernel"]["properties"]["part"]["enum"]
        self.assertEqual(parts, set(listed))

    def test_searches_are_valid(self):
        search = ("search", "--model", "bloom-176b", "--cluster", "jean-zay-a100", "--gbs", "2048")
        self.check("search", answer(*search, "--nodes", "48", "--tokens", "366e9", "--price", "2"))
        layouts = ("tp=4,pp=12", "tp=8,pp=13", "tp=4,pp=12,recompute=none")
        self.check("search", answer(*search, "--nodes", "48", *(f"--explain={layout}" for layout in layouts)))
        self.check("search", answer(*search, "--nodes", "1", exit_status=1))
        self.check("search", answer(*search, "--nodes", "48", "--tp", "7", exit_status=1))
        self.check("search", answer(*search, "--nodes", "48", "--layers", "68:72:2", "--top", "2"))
        self.check("search", answer("search", "--model", "llama-3-8b", "--cluster", "dgx-a100,dgx-h100", "--nodes", "1", "--gbs", "64"))

    def test_comparisons_of_jobs_are_valid(self):
        self.check("job-comparison", answer("compare", self.JOB, "mbs=1"))
        self.check("job-comparison", answer("compare", self.JOB, "mbs=16", exit_status=1))

    def test_validations_are_valid(self):
        self.check("validation", answer("validate", "data/runs/deepspeed-zero-a100-40gb.csv", "--by", "table"))

    def test_checks_comparisons_and_fits_are_valid(self):
        with tempfile.TemporaryDirectory() as folder:
            points = folder + "/points.jsonl"
            lines = [{"schema": "prequel/measurement/1", "context": {"host": "a"}}]
            for size in range(10, 24):
                amount = {"op": "fused_pointwise", "bytes": 2**size}
                lines.append({**amount, "time_s": 5e-6 + 2**size / 1e12})
            for size in range(256, 4096, 256):
                amount = {"op": "gemm", "m": size, "n": size, "k": 1024, "dtype": "fp32"}
                lines.append({**amount, "time_s": 1e-5 + 2 * size**2 * 1024 / 2e11})
            Path(points).write_text("".join(json.dumps(line) + "\n" for line in lines))
            self.check("check", answer("calibrate", "check", points, "--device", "a100-sxm-80gb"))
            self.check("comparison", answer("calibrate", "compare", points, points))
            fitted = folder + "/fitted.json"
            to_device = ("--kind", "device", "--device", "cpu", "--name", "fitted", "--output", fitted)
            self.check("fit", answer("calibrate", "fit", points, *to_device))
            self.assert_valid("device", json.loads(Path(fitted).read_text()), "a fitted device")
        runs = ("calibrate", "runs", "data/runs/deepspeed-zero-a100-40gb.csv", "--fit",
                "software.host.fixed_per_iteration_s")
        self.check("run-fit", answer(*runs))


if __name__ == "__main__":
    unittest.main()
