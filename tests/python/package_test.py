# SPDX-License-Identifier: Apache-2.0
"""The package says what the command line says, on graphs and data that Python hands in."""

import concurrent.futures
import json
import multiprocessing
import os
import pathlib
import pickle
import subprocess
import threading
import time

import numpy
import pytest

lanescope = pytest.importorskip("lanescope")
pytest.importorskip("lanescope._core", reason="the module of the package is not built (it needs nanobind)")

SAMPLES = os.path.join(os.path.dirname(__file__), "..", "..", "samples")
POLYNOMIAL = os.path.join(SAMPLES, "graphs", "polynomial.pbtxt")
DEEPCONN = os.path.join(SAMPLES, "graphs", "deepconn_dual.pbtxt")
MACHINE = os.path.join(SAMPLES, "machines", "two-virtual-gpus-k80-links.json")
MODELLED = os.path.join(SAMPLES, "machines", "k80x2.json")


def command(*args):
    done = subprocess.run([os.environ["LANESCOPE"], *args, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_graph_knows_its_step():
    graph = lanescope.Graph(POLYNOMIAL)
    assert graph.name == "polynomial.pbtxt"
    assert graph.feeds["x"] == ("float32", (100,))
    assert graph.fetches and not graph.notes
    again = pickle.loads(pickle.dumps(graph))
    assert again.nodes() == graph.nodes()
    assert lanescope.Graph(graph.to_bytes(), run={"fetches": graph.fetches[:1]}).nodes() == graph.nodes()


def test_stubs_know_every_name():
    """Editors and type checkers see what the package has: the compiled module's names, and those imported when asked for."""
    core = lanescope._core
    stub = pathlib.Path(core.__file__).with_name("_core.pyi").read_text(encoding="utf-8")
    assert [name for name in [*vars(core), "__version__"] if not name.startswith("__") and name not in stub] == []
    source = pathlib.Path(lanescope.__file__).read_text(encoding="utf-8")
    assert [name for name in lanescope.__all__ if f" import {name} as {name}" not in source] == []
    for name in lanescope.__all__:
        assert getattr(lanescope, name).__doc__, name


def test_errors_have_a_code():
    with pytest.raises(lanescope.Error, match="^NotFound: ") as missing:
        lanescope.Graph("/nowhere/graph.pb")
    assert missing.value.code == "NotFound"
    assert "/nowhere/graph.pb" in missing.value.message
    with pytest.raises(lanescope.Error) as refused:
        lanescope.place(POLYNOMIAL, MACHINE, {"no_such_node": "GPU:0"})
    assert refused.value.code == "InvalidArgument"
    assert pickle.loads(pickle.dumps(refused.value)).code == "InvalidArgument"


def test_machines_are_made_and_read():
    machine = lanescope.Machine.virtual(gpus=3, workers=2)
    assert machine.devices == ["CPU:0", "GPU:0", "GPU:1", "GPU:2"]
    content = machine.to_dict()
    assert content["devices"][1]["workers"] == 2
    assert pickle.loads(pickle.dumps(machine)).to_dict() == content == lanescope.Machine(content).to_dict()
    tasks = machine.tasks("ps=a,worker=b:2")
    assert len(tasks.devices) == 12 and tasks.devices[-1] == "/job:worker/task:1/GPU:2"
    assert len(tasks.to_dict()["nics"]) == 2
    with pytest.raises(lanescope.Error, match="names no job"):
        machine.tasks("b:2")


def all_reduce(folder, devices):
    """A file of a graph in which so many devices sum a megabyte each."""
    nodes = []
    for i, device in enumerate(devices):
        nodes.append(f'''node {{ name: "x{i}" op: "Placeholder" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }}
  attr {{ key: "shape" value {{ shape {{ dim {{ size: 262144 }} }} }} }} }}
node {{ name: "sum{i}" op: "NcclAllReduce" input: "x{i}" device: "{device}" attr {{ key: "T" value {{ type: DT_FLOAT }} }}
  attr {{ key: "reduction" value {{ s: "sum" }} }} attr {{ key: "num_devices" value {{ i: {len(devices)} }} }}
  attr {{ key: "shared_name" value {{ s: "all" }} }} }}''')
    path = folder / "all.pbtxt"
    path.write_text("\n".join(nodes), encoding="utf-8")
    numbers = range(len(devices))
    fed = {"dtype": "float32", "shape": [262144], "generator": "uniform", "low": 0, "high": 1}
    step = {"feeds": {f"x{i}": fed for i in numbers}, "targets": [f"sum{i}" for i in numbers]}
    (folder / "all.run.json").write_text(json.dumps(step), encoding="utf-8")
    return str(path)


def test_collectives_are_what_costs_least_where_the_machine_is_known(tmp_path):
    """Far apart few messages behind each other cost least; a graph that is read for no machine goes by its size."""
    content = lanescope.Machine(os.path.join(SAMPLES, "machines", "four-tasks.json")).to_dict()
    for link in content["links"]:
        link["latency"] = "10ms"
    far = lanescope.Machine(content)
    file = tmp_path / "far.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    path = all_reduce(tmp_path, [device for device in far.devices if "GPU" in device])
    placed = {node["name"]: node["device"] for node in command("place", path, "--machine", str(file))["nodes"]}
    assert dict(lanescope.place(path, far)) == placed
    known, unknown = lanescope.Graph(path, machine=far), lanescope.Graph(path)
    assert {name for name, _, _ in known.nodes()} == set(placed)
    assert pickle.loads(pickle.dumps(known)).nodes() == known.nodes() != unknown.nodes()
    assert lanescope.simulate(path, far).step_ns == lanescope.simulate(known, far).step_ns
    assert lanescope.simulate(known, far).step_ns < lanescope.simulate(unknown, far).step_ns


def test_placing_is_what_the_command_places(tmp_path):
    placement = lanescope.place(DEEPCONN, MACHINE, "alternating")
    nodes = command("place", DEEPCONN, "--machine", MACHINE, "--strategy", "alternating")["nodes"]
    assert dict(placement) == {node["name"]: node["device"] for node in nodes}
    placement.save(tmp_path / "p.json")
    assert dict(lanescope.place(DEEPCONN, MACHINE, f"@{tmp_path}/p.json")) == dict(placement)
    assert dict(lanescope.place(DEEPCONN, MACHINE, placement)) == dict(placement)


def test_placements_of_a_program_are_called_so(tmp_path):
    """A mapping is no file of the user's: neither errors nor traces nor verdicts name one."""
    with pytest.raises(lanescope.Error) as refused:
        lanescope.place(DEEPCONN, MACHINE, {"no_such_node": "GPU:0"})
    assert refused.value.message == "placement: the graph has no node 'no_such_node'"
    placement = dict(lanescope.place(DEEPCONN, MACHINE, "alternating"))
    trace = tmp_path / "t.db"
    assert lanescope.simulate(DEEPCONN, MACHINE, placement, trace=trace)["step_ns"]
    assert lanescope.Trace(trace).runs[0]["strategy"] == "placement"
    comparison = lanescope.compare(DEEPCONN, MACHINE, ["single", placement], run=False)
    assert [row["strategy"] for row in comparison["rows"]] == ["single", "placement"]
    assert "deepconn_dual placement" in json.dumps(comparison["verdict"])
    assert "{" not in str(comparison["verdict"])


def test_placements_of_one_name_are_told_apart(tmp_path):
    """Two of a program, and one that was a strategy's beside the strategy: tables, verdict and trace number them."""
    split, whole = (lanescope.place(DEEPCONN, MACHINE, name) for name in ("alternating", "single"))
    trace = tmp_path / "t.db"
    comparison = lanescope.compare(DEEPCONN, MACHINE, [dict(split), dict(whole)], run=False, trace=trace)
    names = ["placement 1", "placement 2"]
    assert [row["strategy"] for row in comparison.rows] == names
    assert all(f"deepconn_dual {name}" in json.dumps(comparison["verdict"]) for name in names)
    assert [run["strategy"] for run in lanescope.Trace(trace).runs] == names
    sweep = lanescope.sweep(DEEPCONN, MACHINE, ["single", whole, dict(split)], 1e9, 1e10, 2)
    assert all(name in json.dumps(sweep.to_dict()) for name in ("single 2", '"placement"'))


def test_predictions_are_those_of_the_command():
    for changes in ([], ["link.bandwidth=1GB/s", "GPU:1.speed=0.5"]):
        ours = lanescope.simulate(DEEPCONN, MACHINE, "alternating", changes=changes)
        options = [part for change in changes for part in ("--set", change)]
        theirs = command("simulate", DEEPCONN, "--machine", MACHINE, "--strategy", "alternating", *options)
        assert {**theirs, "wall_ns": 0, "unknown": 0} == {**ours, "wall_ns": 0, "unknown": 0}
    assert ours.step_ns > 0


def test_nodes_share_launches_where_a_graph_or_a_call_says_so():
    """Law: the step is the one that --fusion predicts, whoever says so, and what is fetched stays the same to the bit."""
    told = command("simulate", POLYNOMIAL, "--machine", MODELLED, "--strategy", "single", "--fusion")["step_ns"]["value"]
    apart = lanescope.simulate(POLYNOMIAL, MODELLED, "single")
    fused = lanescope.Graph(POLYNOMIAL, fusion=True)
    assert pickle.loads(pickle.dumps(fused)).fusion
    assert lanescope.simulate(fused, MODELLED, "single").step_ns == told < apart.step_ns
    assert lanescope.simulate(POLYNOMIAL, MODELLED, "single", fusion=True).step_ns == told
    assert lanescope.simulate(fused, MODELLED, "single", fusion=False).step_ns == apart.step_ns
    row, = lanescope.compare(POLYNOMIAL, MODELLED, ["single"], run=False, fusion=True)["rows"]
    assert row["predicted"]["step_ns"]["value"] == told
    runs = [lanescope.run(POLYNOMIAL, MACHINE, "single", steps=2, seed=1, fusion=fusion) for fusion in (False, True)]
    for name, value in runs[0].fetches[-1].items():
        assert (value == runs[1].fetches[-1][name]).all()


def test_steps_run_on_data_of_an_iterator(tmp_path):
    """The loss of a step on x and y is that of the run configuration's own x and y; weights live on."""
    random = numpy.random.default_rng(3)
    graph = lanescope.Graph(POLYNOMIAL)
    (fetch,) = [name for name in graph.fetches if "loss" in name] or graph.fetches[:1]

    def batches(count):
        for _ in range(count):
            x = random.uniform(-1, 1, 100).astype("float32")
            yield {"x": x, "y": 5 * x * x + 3}

    machine = lanescope.Machine.virtual(2)
    result = lanescope.run(graph, machine, data=batches(30), steps=1000, warmup=0, trace=tmp_path / "t.db")
    assert len(result.step_ns) == len(result.fetches) == 30
    assert result.timing is None  # nothing was on a GPU
    losses = [float(numpy.ravel(step[fetch])[0]) for step in result.fetches]
    assert losses[-1] < losses[0]
    assert lanescope.Trace(tmp_path / "t.db").runs[0]["steps"] == 30
    with lanescope.Session(graph, machine) as session:
        with pytest.raises(lanescope.Error) as wrong:
            session.step({"x": numpy.zeros(7, "float32")})
        assert wrong.value.code == "InvalidArgument"
        with pytest.raises(lanescope.Error) as unknown:
            session.step({"z": numpy.zeros(7, "float32")})
        assert unknown.value.code == "NotFound"


def test_arrays_keep_their_type_and_shape():
    """An Identity of what is fed gives back what was fed."""
    text = """
      node {{ name: "x" op: "Placeholder" attr {{ key: "dtype" value {{ type: {0} }} }} }}
      node {{ name: "y" op: "Identity" input: "x" attr {{ key: "T" value {{ type: {0} }} }} }}"""
    values = {"DT_FLOAT": numpy.arange(6, dtype="float32").reshape(2, 3), "DT_INT64": numpy.array(7),
              "DT_BOOL": numpy.array([True, False]), "DT_DOUBLE": numpy.zeros((0, 3)),
              "DT_STRING": numpy.array([b"a\0b", b"c"], dtype=object)}
    for dtype, value in values.items():
        import tempfile

        with tempfile.NamedTemporaryFile("w", suffix=".pbtxt") as file:
            file.write(text.format(dtype))
            file.flush()
            graph = lanescope.Graph(file.name, feeds={"x": value}, fetches=["y:0"])
            with lanescope.Session(graph, lanescope.Machine.virtual(1)) as session:
                made = session.step()["y:0"]
        assert made.shape == value.shape
        assert made.dtype == value.dtype
        assert made.tolist() == value.tolist()


def test_long_calls_leave_the_interpreter_to_others():
    """A thread that counts goes on counting while a search runs."""
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    lanescope.search(DEEPCONN, MACHINE, rounds=1, threads=1)
    after = counted[0]
    done.set()
    thread.join()
    assert after > before


def test_an_executor_finds_what_threads_find():
    options = {"rounds": 2, "seed": 5, "budget_s": 600, "start": ["single", "alternating"]}
    alone = lanescope.search(DEEPCONN, MACHINE, threads=2, **options)
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as executor:
        shared = lanescope.search(DEEPCONN, MACHINE, executor=executor, **options)
        sweep = lanescope.sweep(DEEPCONN, MACHINE, ["single", "alternating"], 1e8, 1e11, 7, executor=executor)
    assert shared["best"] == alone["best"]
    assert shared["evaluations"] == alone["evaluations"]
    assert sweep.to_dict() == lanescope.sweep(DEEPCONN, MACHINE, ["single", "alternating"], 1e8, 1e11, 7).to_dict()
    assert lanescope.simulate(DEEPCONN, MACHINE, shared.placement).step_ns == shared.step_ns


def test_a_comparison_shows_itself(tmp_path):
    mine = lanescope.place(POLYNOMIAL, MACHINE, "alternating")
    mine.strategy = "<mine>"
    comparison = lanescope.compare(POLYNOMIAL, MACHINE, ["single", mine], steps=2, rounds=1, repeats=1)
    assert [row["strategy"] for row in comparison.rows] == ["single", "<mine>"]
    verdict, empty, head, *lines = str(comparison).split("\n")
    assert verdict == comparison.verdict and empty == ""
    assert head.split() == ["Placement", "Measured", "Predicted", "low", "high", "Error"]
    assert [line.split()[:2] for line in lines] == [["polynomial.pbtxt", "single"], ["polynomial.pbtxt", "<mine>"]]
    assert len({len(line) for line in [head, *lines]}) == 1
    assert repr(comparison) == "<lanescope.Comparison of 2 rows: single, <mine>>"
    page = comparison._repr_html_()
    assert page.count("<svg") == page.count("</svg>") == 2
    assert "&lt;mine&gt;" in page and "<mine>" not in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")  # nothing is fetched
    only = lanescope.compare({lanescope.Graph(POLYNOMIAL): ["single"]}, MACHINE, run=False, trace=tmp_path / "c.db")
    assert only.rows[0]["measured"] is None
    assert only["trace"] == str(tmp_path / "c.db")


def test_traces_are_tables(tmp_path):
    path = tmp_path / "t.db"
    lanescope.run(POLYNOMIAL, lanescope.Machine.virtual(2), steps=3, warmup=0, trace=path)
    trace = lanescope.Trace(path)
    kernels = trace.query("kernels")
    assert kernels["start"].dtype == numpy.int64 and len(kernels["start"]) > 3
    assert (kernels["end"] - kernels["start"] == kernels["duration"]).all()
    assert trace.query("SELECT 1.5 AS x, 'a' AS y, NULL AS z")["x"].tolist() == [1.5]
    assert trace.summary()["run"] == 1 if "run" in trace.summary() else trace.summary()
    costs = trace.calibrate()
    assert costs["format"] == "lanescope-cost"
    assert lanescope.Predictor(MACHINE, costs).origin.startswith("calibrated on")
    with pytest.raises(lanescope.Error) as refused:
        trace.query("DELETE FROM StringIds")
    assert refused.value.code == "InvalidArgument"
    for module, convert in (("pandas", trace.to_pandas), ("pyarrow", trace.to_arrow)):
        if pytest.importorskip(module):
            assert len(convert("kernels")) == len(kernels["start"])


def test_a_profile_of_pytorch_is_a_trace(tmp_path):
    path = os.path.join(SAMPLES, "traces", "mlp-h100-eager.json.gz")
    trace = lanescope.Trace(path)
    assert trace.path == path and len(trace.query("kernels")["start"]) == 72
    assert trace.timeline_svg() == trace._repr_html_() and "<svg" in trace.timeline_svg()
    assert trace.summary() == command("summary", path)
    (tmp_path / "cut.json.gz").write_bytes(pathlib.Path(path).read_bytes()[:9000])
    with pytest.raises(lanescope.Error) as refused:
        lanescope.Trace(tmp_path / "cut.json.gz")
    assert refused.value.code == "DataLoss"
