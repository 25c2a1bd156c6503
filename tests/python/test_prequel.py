"""The Python package answers what the program answers."""

import ast
import inspect
import json
import keyword
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
from prequel._record import Field

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
    assert prequel.compare(JOB, {"mbs": 1}).to_json() == program("compare", JOB, "mbs=1")
    table = "data/runs/deepspeed-zero-a100-40gb.csv"
    assert prequel.calibrate_runs(ROOT / table, fit="host", folds=1).to_dict()["constants"] == json.loads(
        program("calibrate", "runs", table, "--fit", "host", "--folds", "1"))["constants"]
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
    low, high = answer.interval.sec_per_iter
    assert low < answer.sec_per_iter < high
    assert max(stage.peak_gib for stage in answer.stages) == answer.peak_memory_gib
    answer.plan["tp"] = 99
    assert answer.plan["tp"] == answer["plan"]["tp"] != 99
    assert prequel.Prediction.sec_per_iter.__doc__ == "Seconds of one iteration."
    assert pickle.loads(pickle.dumps(answer)) == answer


def test_every_field_can_be_read():
    table = ROOT / "data" / "runs" / "deepspeed-zero-a100-40gb.csv"
    for result in (prequel.predict(JOB), prequel.search(**SEARCH, top=2), prequel.compare(JOB, {"mbs": 1}),
                   prequel.validate(table), prequel.calibrate_runs(table, fit="host", folds=1)):
        seen = [result]
        while seen:
            record = seen.pop()
            assert repr(record) and record._repr_html_()
            for name in dir(type(record)):
                if name.startswith("_") or callable(value := getattr(record, name)):
                    continue
                seen += [each for each in (value if isinstance(value, tuple) else [value])
                         if isinstance(each, prequel.Record)]


def test_reports_are_whole_pages():
    try:
        page = prequel.predict(JOB).to_html()
    except prequel.Error as none:
        assert "this build has no reports" in str(none)
        return
    assert page.startswith("<!doctype html>") and JOB.split("-")[0] in prequel.search(**SEARCH, top=2).to_html()
    assert "<iframe" in prequel.predict(JOB)._repr_html_()
    with pytest.raises(prequel.Error, match="no report"):
        prequel.compare(JOB, {"mbs": 1}).to_html()


def test_a_comparison_says_what_differs_and_how_surely():
    both = prequel.compare(JOB, {"mbs": 1, "software.launch": "async"})
    assert {each["path"] for each in both.differences} == {"plan.mbs", "software.launch"}
    assert both.a.sec_per_iter == prequel.predict(JOB).sec_per_iter
    low, high = both.speed_ratio_interval
    assert low < both.speed_ratio < high and 0 <= both.odds_a_faster <= 1
    ours = prequel.show("cluster", "selene")
    assert prequel.compare(JOB, {"cluster": ours}).b["cluster"] == "selene"


def test_a_fit_to_runs_becomes_files_that_answers_use(tmp_path):
    table = ROOT / "data" / "runs" / "deepspeed-zero-a100-40gb.csv"
    fit = prequel.calibrate_runs(table, fit="host", folds=1, suffix="-ours", output_dir=tmp_path / "ours")
    assert fit.rows > 10 and fit.constants[0].low <= fit.constants[0].value <= fit.constants[0].high
    assert fit.files and all(name.endswith("-ours.json") for name in fit.files)
    written = {str(path.relative_to(tmp_path / "ours")) for path in (tmp_path / "ours").rglob("*.json")}
    assert written == set(fit.files)
    cluster = next(name for name in fit.files if name.startswith("clusters/"))
    folders = [tmp_path / "ours"]
    assert prequel.show("cluster", Path(cluster).stem, data_dirs=folders) == fit.files[cluster]
    assert pickle.loads(pickle.dumps(fit)).files == fit.files
    with pytest.raises(prequel.Error, match="--suffix"):
        prequel.calibrate_runs(table, suffix="/../../outside")


def test_tables_become_frames():
    pandas = pytest.importorskip("pandas")
    frame = prequel.search(**SEARCH, top=3).to_frame()
    assert isinstance(frame, pandas.DataFrame) and list(frame["rank"]) == [1, 2, 3]
    assert "tp" in frame.columns and "peak_memory_gib" in frame.columns
    many = prequel.predict_many(frame[["nodes", "tp", "pp", "mbs", "gbs"]], **FEW)
    assert list(many["tp"]) == list(frame["tp"]) and many["sec_per_iter"].notna().all()


FEW = dict(model="bloom-7b1", cluster="dgx-a100", seq_len=2048)


def test_a_row_has_the_attributes_by_their_names():
    answer = prequel.predict(JOB)
    row = answer.to_row()
    assert row["sec_per_iter"] == answer.sec_per_iter and row["peak_memory_gib"] == answer.peak_memory_gib
    assert row["tp"] == answer.plan["tp"] and row["compute_s"] == answer.breakdown_s["compute"]


def test_many_plans_are_predicted_as_each_alone():
    rows = [dict(nodes=nodes, tp=tp, pp=pp, mbs=mbs, gbs=96, recompute=recompute)
            for nodes in (1, 2) for tp in (1, 4) for pp in (1, 2, 7) for mbs in (1, 2) for recompute in ("none", "full")]
    answers = prequel.predict_many(rows, **FEW)
    assert len(answers) == len(rows) and all("verdict" not in row for row in rows)
    assert any(answer["problem"] for answer in answers) and any(answer["verdict"] for answer in answers)
    for row, answer in zip(rows, answers):
        assert {name: answer[name] for name in row} == row
        if answer["problem"]:
            with pytest.raises(prequel.Error):
                prequel.predict(**FEW, **row)
            continue
        alone = prequel.predict(**FEW, **row)
        assert answer["sec_per_iter"] == alone.sec_per_iter
        # Many plans have no intervals, so `tight` is a share of the card there, and odds of fitting alone.
        assert (answer["verdict"] == "oom") == (alone.verdict == "oom")
        assert answer["peak_memory_gib"] == alone.peak_memory_gib
        assert answer["mfu"] == pytest.approx(alone.mfu, rel=1e-12)
        assert answer["tokens_per_sec_per_gpu"] == pytest.approx(alone.tokens_per_sec_per_gpu, rel=1e-12)


def test_rows_may_name_their_own_inputs_and_columns():
    rows = [dict(model="bloom-7b1", tp=4, note="a"), dict(model="bloom-3b", tp=None, note="b"), dict(model=None, tp=2, note="c")]
    answers = prequel.predict_many(rows, keep=["note"], model="bloom-1b1", cluster="dgx-a100", nodes=1, gbs=64)
    assert [answer["note"] for answer in answers] == ["a", "b", "c"]
    for answer, model, tp in zip(answers, ("bloom-7b1", "bloom-3b", "bloom-1b1"), (4, 1, 2)):
        assert answer["sec_per_iter"] == prequel.predict(
            model=model, cluster="dgx-a100", nodes=1, gbs=64, tp=tp).sec_per_iter
    columns = prequel.predict_many({"tp": [1, 2]}, cluster="dgx-a100", model="bloom-1b1", nodes=1, gbs=64)
    assert len(columns["sec_per_iter"]) == 2
    with pytest.raises(prequel.Error, match='did you mean "tp"'):
        prequel.predict_many([{"tpp": 3}], **FEW)
    with pytest.raises(prequel.Error, match="row 1"):
        prequel.predict_many([{"tp": 3}, {"tp": "many"}], **FEW)


def test_a_search_ranks_plans_of_a_table():
    rows = [dict(nodes=1, tp=tp, mbs=1, gbs=64) for tp in (1, 2, 4, 8)]
    found = prequel.search(plans=rows, **FEW)
    seconds = {row["tp"]: row["sec_per_iter"] for row in prequel.predict_many(rows, **FEW)}
    assert {plan.plan["tp"]: plan.sec_per_iter for plan in found}.items() <= seconds.items()


def test_editors_know_the_arguments():
    stub = ast.parse(Path(prequel.__file__).with_name("__init__.pyi").read_text())
    functions = {each.name: each.args for each in stub.body if isinstance(each, ast.FunctionDef)}
    for name in ("predict", "search"):
        known = {each.arg for each in [*functions[name].args, *functions[name].kwonlyargs]}
        asked = json.loads(prequel._prequel.arguments_schema(name))["properties"]
        assert {argument for argument in asked if not keyword.iskeyword(argument)} <= known
    assert functions.keys() == {name for name in prequel.__all__ if inspect.isfunction(getattr(prequel, name))}


def test_the_change_that_makes_a_plan_fit_is_told():
    near = prequel.predict(JOB, mbs=8, recompute="none").nearest
    assert near is not None and near.flags.startswith("--mbs") and near.fits_probability >= 0.95
    assert near.peak_gib < prequel.predict(JOB).capacity_gib
    assert prequel.predict(JOB, mbs=2).nearest is None


def test_attributes_say_what_they_are():
    for kind in (prequel.Prediction, prequel.FoundPlan, prequel.Interval, prequel.Stage, prequel.ValidatedRun):
        fields = [field for owner in kind.__mro__ for field in vars(owner).values() if isinstance(field, Field)]
        assert fields and all(field.__doc__ for field in fields)


def test_answers_are_drawn():
    pytest.importorskip("matplotlib").use("Agg")
    assert prequel.predict(JOB).plot().get_xlabel() == "seconds of an iteration"
    assert prequel.search(**SEARCH, top=2).plot().get_ylabel() == "seconds of an iteration"


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


def test_control_c_ends_a_fit():
    code = textwrap.dedent(f"""
        import prequel
        try:
            print("begin", flush=True)
            prequel.calibrate_runs([{str(ROOT / "data/runs/bigscience-jz-a100.csv")!r}] * 20, folds=20)
        except KeyboardInterrupt:
            print("interrupted")
    """)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "begin\n"
        child.send_signal(signal.SIGINT)
        assert child.stdout.read() == "interrupted\n"


def test_anything_is_answered_or_refused():
    table = str(ROOT / "data" / "runs" / "deepspeed-zero-a100-40gb.csv")
    values = [True, -1, 0, 2**63, 1e300, float("nan"), "x", "", "--json", "-", "\n", [], {}, [1, "2"], {"a": 1}, "\udcff",
              b"x", Path("/dev/zero"), {"plan": {"tp": 2}}, [[[]]], "a,b=c"]
    names = ["job", "model", "cluster", "mbs", "tp", "set", "explain", "slow_node", "contention", "gbs", "precision",
             "a", "b", "runs", "files", "by", "fit", "folds", "suffix", "require", "top", "kind", "name", "env"]
    calls = [
        prequel.predict, prequel.explain,
        lambda **said: prequel.search(**{**SEARCH, "top": 1, **said}),
        lambda a="x", b=JOB, **said: prequel.compare(a, b, **said),
        lambda runs=table, **said: prequel.validate(runs, **said),
        lambda files=table, **said: prequel.calibrate_runs(files, **{"folds": 1, "fit": "host", **said}),
        lambda files="x", **said: prequel.import_files(files, **said),
        prequel.show,
    ]
    choose = random.Random(3)
    for _ in range(int(os.environ.get("PREQUEL_GARBAGE", "400"))):
        call = choose.choice(calls)
        arguments = {choose.choice(names): choose.choice(values) for _ in range(choose.randrange(1, 4))}
        try:
            call(**arguments)
        except (prequel.Error, UnicodeError, TypeError):
            pass
