#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# JAX 0.10.2 and XProf 2.24.2, profiles of several hosts.
#
# Each XPlane counts time from the moment when its own host began to record, and XProf's viewer, given the XPlanes of one job,
# draws them as if all had begun at once. What happened at one moment is as far apart as the recordings began.
# The moment is in each file: the stat profile_start_time of the plane "Task Environment" (ns since 1970); with it added the
# hosts agree. The JSON file beside the XPlane has no such moment at all, so hosts cannot be put together from it.
#
# Seen (two processes of one machine, the second begins to record a second later; both open a range when they have met at a barrier):
#   the ranges in XProf's viewer are 999 ms apart
#   with profile_start_time added they are 0 ms apart
#
# Led to: hosts are put on one clock by profile_start_time (traces/import/xplane_trace.cpp, tests/traces/xplane_test.cpp).
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6 xprof==2.24.2
export PYTHONPATH="$scratch/packages" JAX_PLATFORMS=cpu TF_CPP_MIN_LOG_LEVEL=3
cat > "$scratch/hosts.py" <<'END'
import multiprocessing
import sys
import time


def host(folder, late_s, together):
    import jax

    jax.devices()
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    together.wait()
    time.sleep(late_s)
    with jax.profiler.trace(folder, profiler_options=options):
        together.wait()
        with jax.profiler.TraceAnnotation("meeting"):
            time.sleep(0.1)


if __name__ == "__main__":
    spawning = multiprocessing.get_context("spawn")
    together = spawning.Barrier(2)
    hosts = [spawning.Process(target=host, args=(f"{sys.argv[1]}/{name}", late_s, together)) for name, late_s in (("a", 0), ("b", 1))]
    for each in hosts:
        each.start()
    for each in hosts:
        each.join()
    sys.exit(any(each.exitcode for each in hosts))
END
python3 "$scratch/hosts.py" "$scratch"
mkdir "$scratch/job"
cp "$scratch"/a/plugins/profile/*/*.xplane.pb "$scratch/job/a.xplane.pb"
cp "$scratch"/b/plugins/profile/*/*.xplane.pb "$scratch/job/b.xplane.pb"
python3 - "$scratch/job" <<'END'
import json
import sys
from jax.profiler import ProfileData
from xprof.convert import raw_to_tool_data

files = [f"{sys.argv[1]}/{host}.xplane.pb" for host in "ab"]
shown, _ = raw_to_tool_data.xspace_to_tool_data(files, "trace_viewer@", {})
in_viewer = [event["ts"] / 1e3 for event in json.loads(shown)["traceEvents"] if event.get("name") == "meeting"]
since_1970 = []
for file in files:
    planes = {plane.name: plane for plane in ProfileData.from_file(file).planes}
    began = dict(planes["Task Environment"].stats)["profile_start_time"]
    (start,) = (event.start_ns for line in planes["/host:CPU"].lines for event in line.events if event.name == "meeting")
    since_1970.append((began + int(start)) / 1e6)
apart, aligned = abs(in_viewer[0] - in_viewer[1]), abs(since_1970[0] - since_1970[1])
print(f"the ranges in XProf's viewer are {apart:.0f} ms apart")
print(f"with profile_start_time added they are {aligned:.0f} ms apart")
assert len(in_viewer) == 2 and apart > 700, "XProf puts hosts on one clock now"
assert aligned < 300
END
