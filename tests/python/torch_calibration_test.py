# SPDX-License-Identifier: Apache-2.0
"""Costs from profiles of PyTorch: what ran is found again in the graph of the same step."""

import gzip
import json

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("lanescope._core", reason="the module of the package is not built (it needs nanobind)")

import lanescope  # noqa: E402
from lanescope.torch import calibrate, export  # noqa: E402
from torch_export_test import CASES  # noqa: E402

nn = torch.nn


def by_structure(path):
    """A profile whose clock counts beginnings and ends of events instead of time, so that shares are the same whatever
    else the computer does."""
    trace = json.loads(path.read_text())
    events = [each for each in trace["traceEvents"] if each.get("ph") == "X" and "dur" in each]
    points = sorted({point for each in events for point in (each["ts"], each["ts"] + each["dur"])})
    tick = {point: number for number, point in enumerate(points)}
    for each in events:
        begin, end = tick[each["ts"]], tick[each["ts"] + each["dur"]]
        each["ts"], each["dur"] = begin, end - begin
    path.write_text(json.dumps(trace))


def profiled(model, optimizer, x, y, path, steps=2):
    from torch.profiler import ProfilerActivity, profile, schedule

    plan = schedule(wait=0, warmup=1, active=steps, repeat=1)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_stack=True, schedule=plan) as profiler:
        for _ in range(steps + 1):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
            profiler.step()
    profiler.export_chrome_trace(str(path))
    by_structure(path)


@pytest.mark.parametrize("case", CASES)
def test_nearly_all_of_a_step_is_found_in_the_graph(case, tmp_path):
    make, inputs, (rows, classes), optimizer = CASES[case]
    torch.manual_seed(1)
    model = make()
    x, y = inputs(), torch.randint(0, classes, (rows,))
    optimizer = optimizer(model.parameters())
    exported = export(model, x, optimizer, nn.functional.cross_entropy, labels=(y,))
    profiled(model, optimizer, x, y, tmp_path / "p.json")
    machine = lanescope.Machine.virtual(2)
    found = calibrate(tmp_path / "p.json", exported, machine)
    assert found.matched_share > 0.95, str(found)
    assert sum(found.call_ns.values()) <= found.matched_ns
    assert {entry["device"] for entry in found.costs["launches"]} == {"virtual 1 worker"}
    # What all launches cost is what was matched.
    signatures = {entry["signature"]: entry["ns"] for entry in found.costs["launches"]}
    nodes = {name for call in exported.calls for name in call.nodes} | set(exported.updates)
    launches = [row for row in lanescope.Graph(exported)._core.launches() if row[0] in nodes]
    total = sum(signatures.get(signature, 0) for _, signature, *_ in launches)
    assert total == pytest.approx(found.matched_ns, rel=0.02)
    near = lanescope.simulate(exported, machine, "single", costs=found, changes=["host_link.latency=1ns"])
    assert near["uncalibrated_share"] < 0.1  # copies alone
    found.save(tmp_path / "cost.json")
    with_file = lanescope.simulate(exported, machine, "single", costs=tmp_path / "cost.json")
    assert with_file.step_ns == lanescope.simulate(exported, machine, "single", costs=found.costs).step_ns


def test_kernels_belong_to_the_op_that_launched_them(tmp_path):
    """A profile as of a GPU: addmm launches two kernels of 30 and 10 us, relu one of 5; an op that the graph has not one
    of 5. Times on the processor do not count."""
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU()).eval()
    exported = export(model, torch.zeros(2, 3))

    def op(name, ts, dur, dims=None):
        return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": {"Input Dims": dims or []}}

    def launch(ts, correlation, dur):
        return [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": ts, "dur": 1, "args": {"correlation": correlation}},
                {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": ts + 500, "dur": dur, "args": {"correlation": correlation}}]

    events = [op("aten::linear", 0, 100), op("aten::addmm", 10, 80, [[4], [2, 3], [3, 4], [], []]), *launch(20, 1, 30), *launch(40, 2, 10),
              op("aten::relu", 110, 20, [[2, 4]]), op("aten::clamp_min", 112, 15, [[2, 4], []]), *launch(115, 3, 5),
              op("aten::fft", 140, 20, [[9]]), *launch(150, 4, 5)]
    trace = {"deviceProperties": [{"name": "NVIDIA A100"}], "traceEvents": events}
    with gzip.open(tmp_path / "p.json.gz", "wt") as file:
        json.dump(trace, file)
    found = calibrate(tmp_path / "p.json.gz", exported)
    assert found.step_ns == 50_000
    assert found.matched_ns == 45_000
    assert dict(found.unmatched) == {"aten::fft": 5000}
    assert {entry["device"] for entry in found.costs["launches"]} == {"cuda NVIDIA A100"}
    assert sum(entry["ns"] * entry["count"] for entry in found.costs["launches"]) == pytest.approx(45_000, abs=5)
    assert "90.0%" in str(found)
    # A machine of two of them that nobody has; the copies of inputs and outputs have no cost here.
    gpu = {"kind": "modelled", "model": "NVIDIA A100", "memory": "40GiB"}
    machine = lanescope.Machine({"name": "two", "devices": [
        {"name": "CPU:0", "kind": "host", "memory": "8GiB", "workers": 2}, {"name": "GPU:0", **gpu}, {"name": "GPU:1", **gpu}],
        "links": [{"between": ["CPU:0", f"GPU:{i}"], "bandwidth": "10GB/s", "latency": "1ns"} for i in (0, 1)]})
    step = lanescope.simulate(exported, machine, "single", costs=found)
    assert 45_000 <= step.step_ns < 47_000
    # A GPU of another name, which the user says is meant.
    gpu["model"] = "something else"
    other = lanescope.Machine({**machine.to_dict(), "devices": [machine.to_dict()["devices"][0], {"name": "GPU:0", **gpu}, {"name": "GPU:1", **gpu}]})
    named = calibrate(tmp_path / "p.json.gz", exported, other)
    assert lanescope.simulate(exported, other, "single", costs=named).step_ns == step.step_ns


def test_a_profile_without_steps_is_refused(tmp_path):
    (tmp_path / "p.json").write_text(json.dumps({"traceEvents": []}))
    exported = export(nn.Linear(2, 2).eval(), torch.zeros(1, 2))
    with pytest.raises(ValueError, match="holds no step"):
        calibrate(tmp_path / "p.json", exported, lanescope.Machine.virtual(1))


def test_times_of_a_processor_are_no_costs_of_a_gpu_unless_asked_for(tmp_path):
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU()).eval()
    exported = export(model, torch.zeros(2, 3))
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 1, "tid": 1, "ts": 0, "dur": 80,
             "args": {"Input Dims": [[4], [2, 3], [3, 4], [], []]}}
    (tmp_path / "p.json").write_text(json.dumps({"traceEvents": [event]}))
    machine = lanescope.Machine.make("dgx-h100:8")
    with pytest.raises(ValueError, match="no times of a GPU, and 'GPU:0' is one .* or say from_processor=True"):
        calibrate(tmp_path / "p.json", exported, machine)
    assert calibrate(tmp_path / "p.json", exported, machine, from_processor=True).step_ns == 80_000
