#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# JAX 0.10.2, jax.profiler.trace, names of ranges.
#
# In the JSON of a profile, but not in the XPlane beside it, a range whose name has the form of a TensorFlow node, NAME:TYPE, is called
# TYPE: "load:images" and "save:images" are both "images", and a sum by name adds them up. The name stands in an argument long_name.
# A blank before or after the colon, or a digit behind it, and the name stays: the same program has both kinds.
# In both files a name that ends in "#" loses what stands between the last two of them, which is read as arguments.
#
# Seen:
#   opened        XPlane        JSON
#   load:images   load:images   images
#   save:images   save:images   images
#   load: images  load: images  load: images
#   step 1:2      step 1:2      step 1:2
#   layer#3       layer#3       layer#3
#   layer#3#      layer         layer
#
# The arguments of "#" are described with TraceMe in the sources, not with TraceAnnotation.
# Led to: of the two files the XPlane is read (traces/import/files_to_import.cpp).
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
PYTHONPATH="$scratch/packages" JAX_PLATFORMS=cpu python3 - "$scratch/trace" 2> "$scratch/errors" <<'END' || { cat "$scratch/errors" >&2; exit 1; }
import glob
import gzip
import json
import sys
import jax

opened = ["load:images", "save:images", "load: images", "step 1:2", "layer#3", "layer#3#"]
options = jax.profiler.ProfileOptions()
options.python_tracer_level = 0
with jax.profiler.trace(sys.argv[1], profiler_options=options):
    for name in opened:
        with jax.profiler.TraceAnnotation(name):
            pass
(plane_file,) = glob.glob(f"{sys.argv[1]}/**/*.xplane.pb", recursive=True)
(json_file,) = glob.glob(f"{sys.argv[1]}/**/*.trace.json.gz", recursive=True)
lines = [line for plane in jax.profiler.ProfileData.from_file(plane_file).planes if plane.name == "/host:CPU" for line in plane.lines]
in_plane = [event.name for event in sorted((event for line in lines for event in line.events), key=lambda event: event.start_ns)]
with gzip.open(json_file) as file:
    events = [event for event in json.load(file)["traceEvents"] if event.get("ph") == "X"]
in_json = [event["name"] for event in sorted(events, key=lambda event: event["ts"])]
print(f"{'opened':13} {'XPlane':13} JSON")
for names in zip(opened, in_plane, in_json, strict=True):
    print("{:13} {:13} {}".format(*names))
assert in_plane == [*opened[:5], "layer"], "names are kept in the XPlane otherwise now"
assert in_json == ["images", "images", *opened[2:5], "layer"], "names are kept in the JSON otherwise now"
END
