"""The sweep of docs/sweeps.md on two local workers: the same best plans as all of them at once."""

import pickle
import re
from pathlib import Path

import pytest

import prequel

PAGE = Path(__file__).parents[2] / "docs" / "sweeps.md"
SPACE = prequel.Space(tp=(1, 2, 4, 8, 3), pp=(1, 2, 4, 8), mbs=(1, 2, 4), zero=(1, 3), recompute=("none", "full"))
COMMON = dict(model="llama-3-8b", cluster="dgx-h100", nodes=2, gbs=128, seq_len=8192)


def functions_of_page():
    """Returns what the first block of the page defines."""
    names = {"__name__": "sweeps_of_page"}
    exec(re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1], names)
    return names


def test_space_is_every_combination_once():
    rows = list(zip(*SPACE[:].values()))
    assert len(rows) == len(set(rows)) == len(SPACE) == 240
    assert [list(column) for column in zip(*rows)] == list(SPACE[:].values())
    parts = [list(zip(*SPACE[part].values())) for part in SPACE.slices(7)]
    assert [row for part in parts for row in part] == rows
    again = pickle.loads(pickle.dumps(prequel.Space(tp=range(10**4), pp=range(10**4))))
    assert len(again) == 10**8 and again[10**8 - 1 :] == {"tp": [9999], "pp": [9999]}


def test_slices_find_what_the_whole_finds():
    page = functions_of_page()
    whole = page["best_of"](SPACE, slice(None), COMMON)
    assert len(whole) == 10
    parts = [row for part in SPACE.slices(50) for row in page["best_of"](SPACE, part, COMMON)]
    rates = sorted((row["tokens_per_sec_per_gpu"] for row in parts), reverse=True)[:10]
    assert rates == [row["tokens_per_sec_per_gpu"] for row in whole]
    ranked = prequel.search(plans=SPACE[:], **COMMON, objective="tokens")
    assert ranked.best.tokens_per_sec_per_gpu >= rates[0]


def test_dask_sweeps_on_two_workers():
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    page = functions_of_page()
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            found = page["sweep"](client, SPACE, COMMON, size=30)
    assert found == page["best_of"](SPACE, slice(None), COMMON)
