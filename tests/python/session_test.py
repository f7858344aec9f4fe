# SPDX-License-Identifier: Apache-2.0
"""Sessions that are closed, interrupted, forked and left behind while a step runs: the program goes on, or ends, in order.

The step of these tests takes one element from a queue that holds one: the second step waits until it is ended."""

import os
import subprocess
import sys

import pytest

lanescope = pytest.importorskip("lanescope")
pytest.importorskip("lanescope._core", reason="the module of the package is not built (it needs nanobind)")

# What each program below begins with; ARGUMENT is its only argument.
BEGIN = '''
import os, signal, sys, threading, time
import lanescope

def attribute(key, value):
    return f'attr {{ key: "{key}" value {{ {value} }} }}'

FLOATS = 'list { type: DT_FLOAT }'
open(sys.argv[1] + "/waits.pbtxt", "w").write(
    'node { name: "one" op: "Const" ' + attribute("dtype", "type: DT_FLOAT")
    + attribute("value", "tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 }") + '}'
    'node { name: "queue" op: "FIFOQueueV2" ' + attribute("component_types", FLOATS) + '}'
    'node { name: "fill" op: "QueueEnqueueV2" input: "queue" input: "one" ' + attribute("Tcomponents", FLOATS) + '}'
    'node { name: "take" op: "QueueDequeueV2" input: "queue" ' + attribute("component_types", FLOATS) + '}')
open(sys.argv[1] + "/waits.run.json", "w").write('{"init": ["fill"], "fetches": ["take"]}')
GRAPH, TRACE = sys.argv[1] + "/waits.pbtxt", sys.argv[1] + "/trace.db"

def opened():
    session = lanescope.Session(GRAPH, lanescope.Machine.virtual(1), trace=TRACE)
    assert session.step()["take"] == 1
    return session

def step_elsewhere(session, daemon=False):
    """A thread that is in a step of the session."""
    said = []
    def wait():
        said.append("begun")
        try:
            session.step()
        except lanescope.Error as error:
            said.append(str(error))
    thread = threading.Thread(target=wait, daemon=daemon)
    thread.start()
    while not said:
        time.sleep(0.01)
    time.sleep(0.1)
    return thread, said
'''


def program(folder, text):
    """What it says and its exit status; it is killed after a minute."""
    done = subprocess.run([sys.executable, "-c", BEGIN + text, str(folder)], capture_output=True, text=True, check=False,
                          timeout=60)
    return done.stdout, done.stderr, done.returncode


def reason(folder):
    """Of the only run of the trace."""
    (run,) = lanescope.Trace(folder / "trace.db").runs
    assert run["steps"] == 1
    return run["error"]


def test_closing_ends_the_step_of_another_thread(tmp_path):
    out, err, status = program(tmp_path, '''
session = opened()
thread, said = step_elsewhere(session)
session.close()
thread.join()
print(said[1])
try:
    session.step()
except lanescope.Error as error:
    print(error)
''')
    assert (err, status) == ("", 0)
    assert out.splitlines() == ["Cancelled: this session was closed while a step ran",
                                "FailedPrecondition: this session is closed"]
    assert reason(tmp_path) == "Cancelled: this session was closed while a step ran"


def test_ctrl_c_closes_while_another_thread_steps(tmp_path):
    out, err, status = program(tmp_path, '''
try:
    with opened() as session:
        thread, said = step_elsewhere(session)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
except KeyboardInterrupt:
    thread.join()
    print(said[1])
''')
    assert (out, err, status) == ("Cancelled: this session was closed while a step ran\n", "", 0)
    assert reason(tmp_path) == "Cancelled: the program raised KeyboardInterrupt"


def test_a_handler_that_closes_ends_its_own_step(tmp_path):
    """A signal's handler runs in the thread that is in the step, so that nobody can wait for that there."""
    out, err, status = program(tmp_path, '''
session = opened()
signal.signal(signal.SIGUSR1, lambda *_: session.close())
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1)).start()
try:
    session.step()
except lanescope.Error as error:
    print(error)
session.close()
''')
    assert (out, err, status) == ("Cancelled: this session was closed while a step ran\n", "", 0)


@pytest.mark.parametrize("call", ["session.step()", "lanescope.run(GRAPH, machine, steps=2, warmup=0)"])
def test_the_program_ends_while_a_daemon_thread_steps(tmp_path, call):
    """Without a list of what that holds for ever."""
    out, err, status = program(tmp_path, f'''
session, machine = opened(), lanescope.Machine.virtual(1)
def work():
    try:
        {call}
    except lanescope.Error:
        time.sleep(60)
thread = threading.Thread(target=work, daemon=True)
thread.start()
time.sleep(0.3)
print("over")
''')
    assert (out, err, status) == ("over\n", "", 0)


def test_the_end_of_the_program_closes_sessions(tmp_path):
    out, err, status = program(tmp_path, '''
session = opened()
thread, said = step_elsewhere(session, daemon=True)
''')
    assert (out, status) == ("", 0), err
    assert reason(tmp_path) == "Cancelled: the program ended while a step ran"
    assert sorted(os.listdir(tmp_path)) == ["trace.db", "waits.pbtxt", "waits.run.json"]


def test_a_fork_leaves_the_session_to_its_parent(tmp_path):
    out, err, status = program(tmp_path, '''
session = opened()
child = os.fork()
if child == 0:
    for call in (session.step, session.close):
        try:
            call()
        except lanescope.Error as error:
            print(str(error).replace(str(os.getppid()), "PARENT"), flush=True)
    with lanescope.Session(GRAPH, lanescope.Machine.virtual(1)) as own:
        print(float(own.step()["take"]), flush=True)
    sys.exit(0)
print(os.waitpid(child, 0)[1])
session.close()
''')
    assert (err, status) == ("", 0)
    assert out.splitlines() == ["FailedPrecondition: this session runs in process PARENT, of which this one is a fork; open a "
                                "session here", "1.0", "0"]
    assert reason(tmp_path) == ""


@pytest.mark.parametrize("raised, told", [
    ("ValueError('no such\\nfile')", "Cancelled: the program raised ValueError: no such file"),
    ("KeyboardInterrupt", "Cancelled: the program raised KeyboardInterrupt"),
    ("SystemExit", "")])
def test_the_trace_says_what_ended_a_run(tmp_path, raised, told):
    """By data that raises. A program that ends in order ends its run in order."""
    _, err, status = program(tmp_path, f'''
def data():
    yield {{}}
    raise {raised}
try:
    lanescope.run(GRAPH, lanescope.Machine.virtual(1), data=data(), warmup=0, trace=TRACE)
except BaseException as error:
    assert type(error).__name__ in """{raised}"""
''')
    assert (err, status) == ("", 0)
    assert reason(tmp_path) == told


INTERRUPTED = "Cancelled: the program raised KeyboardInterrupt"


@pytest.mark.parametrize("where, told", [
    # While the session opens: the thread gets the interpreter's lock when that lets go of it.
    ('''
sys.setswitchinterval(60)
opens, open_session = threading.Event(), lanescope._core.Session
def interrupt():
    opens.wait()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
def opening(*arguments):
    opens.set()
    return open_session(*arguments)
lanescope._core.Session = opening
''', INTERRUPTED),
    # Once it is open, before the `with` has it.
    ('''
def enter(session):
    os.kill(os.getpid(), signal.SIGINT)
lanescope.Session.__enter__ = enter
''', "Cancelled: it was left before its first step")])
def test_ctrl_c_before_the_first_step_is_told(tmp_path, where, told):
    _, err, status = program(tmp_path, "import lanescope._core\n" + where + '''
try:
    lanescope.run(GRAPH, lanescope.Machine.virtual(1), warmup=0, trace=TRACE)
except KeyboardInterrupt:
    pass
''')
    assert (err, status) == ("", 0)
    (run,) = lanescope.Trace(tmp_path / "trace.db").runs
    assert (run["complete"], run["steps"], run["error"]) == (True, 0, told)


def test_ctrl_c_at_the_end_of_a_step_is_told(tmp_path):
    """The thread gets the interpreter's lock when the step lets go of it. Nobody closes the session."""
    _, err, status = program(tmp_path, '''
session = lanescope.Session(GRAPH, lanescope.Machine.virtual(1), trace=TRACE)
sys.setswitchinterval(60)
steps = threading.Event()
def interrupt():
    steps.wait()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    steps.set()
    session.step()
except KeyboardInterrupt:
    pass
''')
    assert (err, status) == ("", 0)
    assert lanescope.Trace(tmp_path / "trace.db").runs[0]["error"] == INTERRUPTED


@pytest.mark.parametrize("work", [
    "lanescope.run(GRAPH, machine, trace=trace)",
    "lanescope.run(GRAPH, machine, data=({} for _ in range(9)), warmup=0, trace=trace)",
    "with lanescope.Session(GRAPH, machine, trace=trace) as session: session.step(), session.step()"])
def test_whenever_ctrl_c_comes_the_trace_tells_it(tmp_path, work):
    """Or there is none. It comes a millisecond later each time; the second step never ends."""
    out, err, status = program(tmp_path, f'''
machine = lanescope.Machine.virtual(1)
lanescope.run(GRAPH, machine, steps=1, warmup=0)  # imports what it needs
def interrupt(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, interrupt)
def interrupted(ms, trace):
    try:
        signal.setitimer(signal.ITIMER_REAL, ms / 1000)
        {work}
    except KeyboardInterrupt:
        pass
for ms in range(1, 41):
    trace = f"{{sys.argv[1]}}/{{ms}}.db"
    interrupted(ms, trace)
    for run in lanescope.Trace(trace).runs if os.path.exists(trace) else []:
        assert run["error"].startswith("Cancelled: "), (ms, run)
''')
    assert (out, err, status) == ("", "", 0)


def test_what_fails_before_its_first_step_leaves_no_trace(tmp_path):
    """The init op adds to a variable that nobody has given a value."""
    out, err, status = program(tmp_path, '''
one = open(GRAPH).read().partition('node { name: "queue"')[0]
open(GRAPH, "w").write(one + 'node { name: "v" op: "VariableV2" ' + attribute("dtype", "type: DT_FLOAT") + attribute("shape", "shape {}")
                       + '} node { name: "add" op: "AssignAdd" input: "v" input: "one" ' + attribute("T", "type: DT_FLOAT") + '}')
open(sys.argv[1] + "/waits.run.json", "w").write('{"init": ["add"], "fetches": ["one"]}')
try:
    lanescope.Session(GRAPH, lanescope.Machine.virtual(1), trace=TRACE)
except lanescope.Error as error:
    print(error.code)
''')
    assert (out, err, status) == ("FailedPrecondition\n", "", 0)
    assert not (tmp_path / "trace.db").exists()
