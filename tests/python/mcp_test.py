# SPDX-License-Identifier: Apache-2.0
"""The agent's door says what the program says, with the rows it rests on, and lets nobody out of the folders it was given."""

import glob
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

mcp = pytest.importorskip("mcp", reason="the library of the Model Context Protocol is not installed (pip install mcp)")
if not hasattr(mcp, "Client"):
    pytest.skip("the library mcp is older than version 2", allow_module_level=True)
import anyio.from_thread  # noqa: E402

TRACES = pathlib.Path(__file__).resolve().parents[2] / "samples" / "traces"
OURS, EAGER, GRAPH = "deepconn-two-virtual-gpus.db", "mlp-h100-eager.json.gz", "mlp-h100-cuda-graph.json.gz"
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
MOST_BYTES = 48 << 10


def server(root, *args, program=None):
    program = str(program or os.environ["LANESCOPE"])
    return [sys.executable, "-m", "lanescope.mcp", "--root", str(root), "--program", program, *args]


def with_client(work, root, *args, program=None):
    """Runs `work(client)` with a server for that folder."""
    command = server(root, *args, program=program)

    async def session():
        async with mcp.Client(mcp.StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))) as client:
            return await work(client)

    return anyio.run(session)


def answer_of(result):
    """What was answered; of an error its text."""
    return result.content[0].text if result.is_error else result.structured_content


def ask(root, *calls):
    """The answers to calls (name, arguments)."""

    async def work(client):
        return [answer_of(await client.call_tool(name, arguments)) for name, arguments in calls]

    return with_client(work, root)


@pytest.fixture(scope="module")
def samples():
    """Asks one server for all tests that only read the sample traces."""
    command = server(TRACES)
    client = mcp.Client(mcp.StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ)))
    with anyio.from_thread.start_blocking_portal() as portal, portal.wrap_async_context_manager(client):
        yield lambda *calls: [answer_of(portal.call(client.call_tool, name, arguments)) for name, arguments in calls]


def program(*args):
    done = subprocess.run([os.environ["LANESCOPE"], *args, "--json"], capture_output=True, text=True, cwd=TRACES, check=False)
    assert done.returncode in (0, 1, 3) and done.stdout, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "root"
    folder.mkdir()
    for name in (OURS, EAGER, GRAPH):
        shutil.copy(TRACES / name, folder)
    return folder


def test_answers_are_the_programs(samples):
    """With room for all elements, an answer is what the command prints with --json."""
    pair = {"trace_a": EAGER, "trace_b": GRAPH, "top": 200}
    summary, diff, explain, what_if, gate = samples(
        ("summary", {"trace": EAGER, "top": 200}), ("diff", pair), ("explain", pair),
        ("what_if", {"trace": EAGER, "changes": ["host.speed=2"], "top": 200}),
        ("gate", {"base": EAGER, "candidate": GRAPH, "what": ["step", "kernels"], "budget_percent": 3}))
    assert summary["answer"] == program("summary", EAGER)
    assert what_if["answer"] == program("simulate", EAGER, "--set", "host.speed=2")
    assert gate["answer"] == program("gate", EAGER, GRAPH, "--what", "step,kernels", "--budget", "3%")
    assert diff["answer"]["difference"] == program("diff", EAGER, GRAPH)["difference"]
    assert explain["answer"]["verdict"] == program("explain", EAGER, GRAPH)["verdict"]


def test_evidence_is_rows_of_what_the_answer_names(samples):
    """A summary that counts n calls of a kernel rests on n rows; the ids are those of the longest, which have that name."""
    for trace, run in ((EAGER, 1), (OURS, 2)):
        (summary,) = samples(("summary", {"trace": trace, "run": run, "top": 5}))
        rows = {each["of"]: each for each in summary["evidence"]}
        named = [entry for key in ("gpu_activities", "host_activities", "api_calls") for entry in summary["answer"][key]]
        assert named and all(rows[entry["name"]]["rows"] == entry["calls"] for entry in named), (trace, rows)
        kernel = next(entry for entry in named if entry["type"] == "kernel")
        (found,) = samples(("query", {"trace": trace, "sql": f'''
            SELECT max(k."end" - k.start), min(s.value), max(s.value) FROM CUPTI_ACTIVITY_KIND_KERNEL k
            JOIN StringIds s ON s.value = '{kernel["name"]}' AND s.id IN (k.shortName, k.demangledName)
            WHERE k.rowid IN ({", ".join(map(str, rows[kernel["name"]]["ids"]))})'''}))
        assert found["rows"] == [[kernel["max_ns"], kernel["name"], kernel["name"]]]


def holds(answer, shown):
    """Whether an answer has what is shown of it: some keys of objects, the first elements of lists."""
    if isinstance(shown, dict):
        return all(key in answer and holds(answer[key], value) for key, value in shown.items())
    if isinstance(shown, list):
        return len(answer) >= len(shown) and all(map(holds, answer, shown))
    return answer == shown


def test_the_guides_dialogue_is_what_is_answered(samples):
    """A line "> TOOL ARGUMENTS" of the guide is a call; the JSON after it is a part of its answer."""
    guide = (TRACES.parents[1] / "docs" / "guides" / "ask-an-agent.md").read_text(encoding="utf-8")
    calls = re.findall(r"^> (\w+) (\{.*\})\n(\{(?:.|\n)*?)(?=^```|^> )", guide, re.MULTILINE)
    assert len(calls) == 7
    for tool, arguments, shown in calls:
        (answer,) = samples((tool, json.loads(arguments)))
        assert holds(answer, json.loads(shown)), (tool, answer)


def test_copies_between_devices_have_their_rows(samples):
    """Run 2 copies that value once in each of its four steps."""
    (diff,) = samples(("diff", {"trace_a": OURS, "run_a": 1, "trace_b": OURS, "run_b": 2, "top": 1}))
    assert [(each["run"], each["table"], each["of"], each["rows"]) for each in diff["evidence"]] == [
        (2, "CUPTI_ACTIVITY_KIND_MEMCPY", "embedding_lookup_1 GPU:0 -> GPU:1", 4)]


def test_times_are_labelled(samples):
    (held,) = samples(("open", {"trace": OURS}))
    assert [run["label"] for run in held["runs"]] == ["measured on emulated devices"] * 4 + ["simulated"] * 4
    (foreign,) = samples(("what_if", {"trace": EAGER, "changes": ["host.speed=2"]}))
    assert foreign["label"] == "measured"
    assert foreign["labels"] == {"measured_ns": "measured", "replayed_ns": "simulated", "predicted_ns": "simulated"}


def test_what_a_trace_lacks_is_said(samples):
    held, pair, gate, missing, step, kernel, graph = samples(
        ("open", {"trace": GRAPH}), ("diff", {"trace_a": OURS, "run_a": 1, "trace_b": OURS, "run_b": 2}),
        ("gate", {"base": EAGER, "candidate": GRAPH, "what": ["kernels"]}), ("summary", {"trace": OURS, "run": 99}),
        ("summary", {"trace": EAGER, "step": 99}), ("what_if", {"trace": EAGER, "changes": ["kernel:nothing.speed=2"]}),
        ("what_if", {"trace": OURS, "changes": ["host.speed=2"]}))
    assert "memory over time: none is recorded" in held["cannot_tell"]
    assert "what was copied: no copy is recorded" in held["cannot_tell"]
    assert pair["cannot_tell"][0].startswith("Cannot tell which is faster")
    assert gate["cannot_tell"] == [gate["answer"]["sentence"]]
    assert missing["cannot_tell"] == [f"{OURS} has no run 99; it has 1, 2, 3, 4, 5, 6, 7, 8"]
    assert step["cannot_tell"] == ["run 1 has no step 99; it has 0 to 2"]
    assert "meets no kernel of the trace" in kernel["cannot_tell"][0]
    assert "ran a graph" in graph["cannot_tell"][0]


def test_answers_are_bounded_and_say_so(samples):
    """What is shown and what is left out add up; no answer is longer than its bound, whatever a trace or a query holds."""
    whole = program("diff", OURS, "1", "2")
    short, rows, long, wide = samples(
        ("diff", {"trace_a": OURS, "run_a": 1, "trace_b": OURS, "run_b": 2, "top": 3}),
        ("query", {"trace": OURS, "sql": "SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL", "top": 1000}),
        ("query", {"trace": OURS, "sql": "SELECT hex(zeroblob(1000000))"}),
        ("query", {"trace": OURS, "sql": f"SELECT {', '.join(['hex(zeroblob(500))'] * 200)}"}))
    assert len(short["answer"]["ops"]) == 3 and short["left_out"]["answer.ops"] == len(whole["ops"]) - 3
    assert len(rows["rows"]) + rows["left_out"]["rows"] == 1000 and "rows beyond these" in rows["cannot_tell"][0]
    assert all(len(json.dumps(answer)) <= MOST_BYTES for answer in (short, rows, long))
    assert long["rows"][0][0].endswith("... (1999400 more characters)")
    assert "ResourceExhausted: even a single row" in wide


def test_nothing_outside_of_the_folders_is_read(root, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    shutil.copy(TRACES / OURS, outside / "secret.db")
    (root / "link.db").symlink_to(outside / "secret.db")
    (root / "folder").symlink_to(outside)
    (root / "ranks").mkdir()
    shutil.copy(TRACES / EAGER, root / "ranks" / "rank0.json.gz")
    (root / "ranks" / "rank1.json").symlink_to(outside / "secret.db")
    (root / "inside.db").symlink_to(OURS)
    os.mkfifo(root / "pipe.db")
    names = ["link.db", "folder/secret.db", "../outside/secret.db", str(outside / "secret.db"), "/etc/passwd", "ranks", "pipe.db"]
    answers = ask(root, *(("open", {"trace": name}) for name in names), ("files", {}), ("open", {"trace": "inside.db"}))
    assert all("outside of the folders" in answer for answer in answers[:5])
    assert "the link 'rank1.json' leads outside" in answers[5] and "neither a file nor a folder" in answers[6]
    assert {each["name"] for each in answers[7]["files"]} == {OURS, EAGER, GRAPH, "inside.db", "ranks/rank0.json.gz"}
    assert answers[8]["trace"] == OURS


def test_names_and_arguments_are_no_commands(root, tmp_path):
    odd = ["--help.json.gz", "$(touch made);`touch made`.json.gz", "a'b \"c\nd.json.gz", f"{OURS}:1"]
    for name in odd:
        shutil.copy(root / (EAGER if name.endswith("gz") else OURS), root / name)
    (root / os.fsdecode(b"\xff.db")).write_bytes((root / OURS).read_bytes())
    opened = ask(root, *(("open", {"trace": name}) for name in odd), ("files", {}))
    assert [answer["trace"] for answer in opened[:-1]] == odd and len(opened[-1]["files"]) == 8
    made = tmp_path / "made"
    refused = ask(
        root, ("what_if", {"trace": EAGER, "changes": [f"--trace={made}"]}),
        ("gate", {"base": EAGER, "candidate": GRAPH, "what": [f"--junit={made}"]}),
        ("gate", {"base": "@main", "candidate": EAGER}), ("query", {"trace": OURS, "sql": "DELETE FROM StringIds"}),
        ("query", {"trace": OURS, "sql": f"ATTACH '{made}' AS x"}), ("query", {"trace": OURS, "sql": "SELECT 1; SELECT 2"}),
        ("query", {"trace": OURS, "sql": "SELECT 1\0"}), ("open", {"trace": "a\0b"}), ("open", {"trace": "x" * 10_000}),
        ("summary", {"trace": OURS, "run": 70_000}), ("query", {"trace": OURS, "sql": "--limit 0\nSELECT 1"}))
    assert refused.pop()["rows"] == [[1]]
    assert all(isinstance(answer, str) for answer in refused), refused
    assert not made.exists() and not (root / "made").exists()


def test_damaged_files_get_the_programs_line(root):
    (root / "cut.json.gz").write_bytes((root / EAGER).read_bytes()[:9000])
    (root / "noise.db").write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 32)
    cut, noise, text = ask(root, *(("open", {"trace": name}) for name in ("cut.json.gz", "noise.db", "none.db")))
    assert cut.endswith("DataLoss: cut.json.gz is damaged: its compressed data end early")
    assert "DataLoss: cannot read noise.db" in noise and "NotFound: there is no file 'none.db'" in text


def test_a_changed_file_is_read_anew(root):
    async def work(client):
        before = await client.call_tool("open", {"trace": EAGER})
        shutil.copy(root / GRAPH, root / EAGER)
        after = await client.call_tool("open", {"trace": EAGER})
        return [result.structured_content["rows"]["api_calls"] for result in (before, after)]

    assert with_client(work, root) == [80, 8]


def recorded(tmp_path):
    """A program that notes its process and is then the program; and who of those that were noted still runs."""
    notes, wrapper = tmp_path / "processes", tmp_path / "lanescope"
    wrapper.write_text(f'#!/bin/sh\necho $$ >> "{notes}"\nexec "{os.environ["LANESCOPE"]}" "$@"\n')
    wrapper.chmod(0o755)

    def running():
        found = (pathlib.Path(f"/proc/{process}/cmdline") for process in notes.read_text().split())
        return [file for file in found if file.exists() and b"query" in file.read_bytes()]

    return wrapper, running


def await_true(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def test_late_and_cancelled_calls_end(root, tmp_path):
    wrapper, running = recorded(tmp_path)

    async def work(client):
        late = await client.call_tool("query", {"trace": OURS, "sql": ENDLESS})
        assert "DeadlineExceeded: no answer within 2 s" in late.content[0].text and not running()
        with anyio.move_on_after(1) as scope:
            await client.call_tool("query", {"trace": OURS, "sql": ENDLESS})
        assert scope.cancelled_caught
        with anyio.fail_after(10):
            while running():
                await anyio.sleep(0.05)
        return (await client.call_tool("query", {"trace": OURS, "sql": "SELECT 2"})).structured_content["rows"]

    assert with_client(work, root, "--time-limit", "2", program=wrapper) == [[2]]


@pytest.mark.parametrize("how", ["signal", "end of input"])
def test_a_server_that_ends_leaves_nothing(root, tmp_path, how):
    wrapper, running = recorded(tmp_path)
    messages = [
        {"id": 1, "method": "initialize",
         "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "query", "arguments": {"trace": OURS, "sql": ENDLESS}}}]
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with subprocess.Popen(server(root, program=wrapper), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env={**os.environ, "TMPDIR": str(temporary)}) as process:
        for message in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        process.stdin.flush()
        assert await_true(lambda: (tmp_path / "processes").exists() and running())
        assert glob.glob(f"{temporary}/lanescope-mcp-*")
        if how == "signal":
            process.send_signal(signal.SIGTERM)
        else:
            process.stdin.close()
        assert process.wait(20) == (130 if how == "signal" else 0)
    assert await_true(lambda: not running())
    assert os.listdir(temporary) == []


def test_nothing_is_written(root):
    """All tools together leave the folder as it was."""
    def state():
        return {path.name: (path.stat().st_mtime_ns, path.stat().st_size) for path in root.iterdir()}

    before = state()
    pair = {"trace_a": OURS, "run_a": 1, "trace_b": OURS, "run_b": 2}
    ask(root, ("files", {}), ("open", {"trace": OURS}), ("summary", {"trace": EAGER, "by": "rank"}), ("diff", pair),
        ("explain", pair), ("query", {"trace": OURS, "sql": "SELECT 1"}),
        ("what_if", {"trace": EAGER, "changes": ["host.speed=2"]}),
        ("gate", {"base": OURS, "base_run": 1, "candidate": OURS, "candidate_run": 2}))
    assert state() == before


def test_tools_say_that_they_only_read():
    async def work(client):
        return (await client.list_tools()).tools

    tools = with_client(work, TRACES)
    assert [tool.name for tool in tools] == ["files", "open", "summary", "diff", "explain", "query", "what_if", "gate"]
    assert all(tool.annotations.read_only_hint and tool.description for tool in tools)


@pytest.mark.parametrize("start, error", [
    ("import sys; sys.modules['mcp'] = None", "FailedPrecondition: the package mcp"),
    ("import sys; sys.argv += ['--root', '/nowhere']", "NotFound: there is no folder '/nowhere'"),
    ("import sys; sys.argv += ['--program', '/nowhere']", "NotFound: there is no program '/nowhere'")])
def test_a_server_that_cannot_start_says_why(start, error):
    code = f"{start}; from lanescope.mcp.__main__ import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr.startswith(f"error: {error}") and done.stderr.count("\n") == 1, done.stderr
