"""The Python package answers what the program answers."""

import json
import os
import pickle
import random
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

import prequel

ROOT = Path(__file__).resolve().parents[2]
JOB = "bloom-176b-jean-zay"
SEARCH = dict(model="bloom-176b", cluster="jean-zay-a100", nodes=48, gbs=2048)


def program(*arguments):
    call = [os.environ["PREQUEL"], *arguments, "--json"]
    return subprocess.run(call, capture_output=True, text=True, cwd=ROOT, check=True).stdout


def timeless(text):
    document = json.loads(text)
    del document["seconds"]
    return json.dumps(document)


def test_answers_are_the_programs_byte_for_byte():
    assert prequel.predict(JOB).to_json() == program("predict", JOB)
    assert prequel.predict(JOB, mbs=2, contention=True).to_json() == program("predict", JOB, "--mbs", "2", "--contention")
    found = prequel.search(**SEARCH, tp=[4, 8], top=3)
    said = program("search", "--model", "bloom-176b", "--cluster", "jean-zay-a100", "--nodes", "48", "--gbs", "2048",
                   "--tp", "4,8", "--top", "3")
    assert timeless(found.to_json()) == timeless(said)
    table = "data/runs/deepspeed-zero-a100-40gb.csv"
    assert prequel.validate(ROOT / table, by="table").to_dict()["groups"] == json.loads(
        program("validate", table, "--by", "table"))["groups"]
    assert prequel.show("cluster", "dgx-a100") == json.loads(program("show", "cluster", "dgx-a100"))


def test_results_are_typed_and_read_only():
    answer = prequel.predict(JOB)
    document = answer.to_dict()
    assert answer.sec_per_iter == document["sec_per_iter"]
    assert answer.peak_memory_gib == document["memory"]["peak_gib"]
    assert answer.verdict == "fits" and answer.fits
    assert sum(answer.breakdown_s.values()) == pytest.approx(answer.sec_per_iter)
    document["sec_per_iter"] = 0
    assert answer.to_dict()["sec_per_iter"] > 0
    with pytest.raises(AttributeError):
        answer.sec_per_iter = 1
    assert "time per iteration" in repr(answer)
    assert answer._repr_html_().startswith("<table>")
    assert prequel.explain(JOB, "mlp-in").kernels[0]["binding"]


def test_dicts_stand_where_names_may():
    model = prequel.show("model", "bloom-176b")
    cluster = prequel.show("cluster", "jean-zay-a100")
    plan = dict(nodes=48, tp=8, pp=12, mbs=2, gbs=2048)
    by_name = prequel.predict(model="bloom-176b", cluster="jean-zay-a100", **plan)
    by_dict = prequel.predict(model=model, cluster=cluster, **plan)
    assert by_dict.sec_per_iter == by_name.sec_per_iter
    job = {"model": "bloom-176b", "cluster": cluster, "plan": plan}
    assert prequel.predict(job).sec_per_iter == by_name.sec_per_iter


def test_files_of_other_tools_become_jobs():
    fixtures = ROOT / "tests" / "cli" / "fixtures"
    imported = prequel.import_files([fixtures / "llama-2-7b-config.json", fixtures / "ds-config.json"])
    assert imported.job["schema"] == "prequel/job/1" and imported.runs is None
    log = prequel.import_files([fixtures / "bigscience-181b.slurm", fixtures / "bigscience-181b.log"])
    assert log.runs.startswith("id,") and log.job is None


def test_errors_say_what_would_do():
    with pytest.raises(prequel.Error, match="did you mean") as caught:
        prequel.predict("bloom-176b-jean-zai")
    assert isinstance(caught.value, ValueError) and caught.value.problems
    with pytest.raises(prequel.Error) as caught:
        prequel.predict(JOB, seq_lenn=3)
    assert caught.value.subject == "predict"
    assert pickle.loads(pickle.dumps(caught.value)).problems == caught.value.problems
    with pytest.raises(TypeError):
        prequel.predict(JOB, mbs=object())


def test_a_search_that_nothing_fits_says_what_to_relax():
    found = prequel.search(**{**SEARCH, "nodes": 1})
    assert found.best is None and len(found) == 0 and found.relaxations


def test_threads_may_ask_at_once():
    expected = prequel.predict(JOB).to_json()
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(prequel.predict(JOB).to_json())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [expected] * 8


def test_control_c_ends_a_search():
    code = textwrap.dedent("""
        import prequel
        try:
            print("begin", flush=True)
            prequel.search(model="bloom-176b", cluster="jean-zay-a100", gbs="1536,1792,2048", max_nodes=48,
                           everything=True)
        except KeyboardInterrupt:
            print("interrupted")
    """)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "begin\n"
        child.send_signal(signal.SIGINT)
        assert child.stdout.read() == "interrupted\n"


def test_anything_is_answered_or_refused():
    values = [True, -1, 0, 1e300, float("nan"), "x", "", "--json", "-", "\n", [], {}, [1, "2"], {"a": 1}, "\udcff"]
    names = ["job", "model", "cluster", "mbs", "tp", "set", "explain", "slow_node", "contention", "gbs", "precision"]
    choose = random.Random(3)
    for _ in range(400):
        arguments = {choose.choice(names): choose.choice(values) for _ in range(3)}
        try:
            prequel.predict(**arguments)
        except (prequel.Error, UnicodeError):
            pass
