# SPDX-License-Identifier: Apache-2.0
"""Plans of parallelism from Python: what the command line says too."""

import pytest

lanescope = pytest.importorskip("lanescope")
pytest.importorskip("lanescope._core", reason="the module of the package is not built (it needs nanobind)")

SHAPE = {"layers": 12, "hidden": 768, "heads": 12, "ffn": 3072, "vocabulary": 50304}


def test_text_and_keys_are_the_same_plan():
    assert lanescope.Plan("dp=4,tp=2,sp") == lanescope.Plan(dp=4, tp=2, sp=True, pp=1)
    assert str(lanescope.Plan(dp=2, shard="fsdp2")) == "dp=2,shard=fsdp2,micro=1"
    assert lanescope.Plan("dp=4,tp=2,sp")["tp"] == "2"


def test_the_best_is_what_its_simulation_says():
    found = lanescope.search_plans(SHAPE, "dgx-h100:8", 64, 1024)
    report = found.plan.simulate(SHAPE, "dgx-h100:8", 64, 1024)
    assert report.step_ns == found.step_ns
    assert report["fits"]


def test_a_step_is_recorded_in_a_trace(tmp_path):
    path = tmp_path / "plan.db"
    report = lanescope.Plan("dp=2,pp=4").simulate(SHAPE, "dgx-h100:8", 64, 1024, trace=path)
    trace = lanescope.Trace(path)
    assert len(trace.runs) == 1
    kinds = trace.query("SELECT kind FROM LANESCOPE_RUN")["kind"]
    assert list(kinds) == ["simulated"]
    assert list(trace.query('SELECT "end" - start AS ns FROM LANESCOPE_STEP')["ns"]) == [report.step_ns]


def test_what_does_not_divide_is_an_error():
    with pytest.raises(lanescope.Error, match="nearest that does is tp=4"):
        lanescope.Plan(dp=1, tp=5).simulate("llama-3-8b", "dgx-h100:5", 8)
    with pytest.raises(lanescope.Error, match="did you mean"):
        lanescope.Plan("tpp=2")
