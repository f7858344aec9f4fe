#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# accelerate 1.15.0 with PyTorch 2.15.0, sizes as texts (max_memory of infer_auto_device_map, and what estimate-memory prints).
#
# * A size that ends in a small b is in bits: "1gb" is an eighth of "1GB", though case means nothing else in it. A limit so written sends
#   the model to the disk, without an error.
# * A GB is 10^9 bytes where it is read and 2^30 where it is printed: an estimate of "1.0 GB" given back as a limit is 7% short, and three
#   layers of 16 go to the disk.
#
# Seen (a model of exactly 1 GiB in 16 layers):
#   1GB is 1000000000 bytes, 1gb is 125000000, 1GiB is 1073741824
#   the model's size is printed as 1.0 GB
#   limit 1.0GB: 13 layers on the device, limit 1GiB: 16, limit 1gb: 0
#
# Concerns limits of memory: those here are written with their unit, and "1gb" is none (core/base/units.cpp).
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" torch==2.15.0 numpy==2.4.6 accelerate==1.15.0
PYTHONPATH="$scratch/packages" python3 -W ignore - 2> "$scratch/errors" <<'END' || { cat "$scratch/errors" >&2; exit 1; }
import torch
from accelerate import infer_auto_device_map
from accelerate.utils import compute_module_sizes, convert_bytes, convert_file_size_to_int
from torch import nn

model = nn.Sequential(*[nn.Linear(4096, 4096, bias=False, device="meta") for _ in range(16)])
size = compute_module_sizes(model)[""]
read = [convert_file_size_to_int(text) for text in ("1GB", "1gb", "1GiB")]
printed = convert_bytes(size)


def kept(limit):
    places = infer_auto_device_map(model, max_memory={"cpu": limit})
    return sum(places.get("", places.get(str(layer))) == "cpu" for layer in range(16))


layers = [kept(limit) for limit in (printed.replace(" ", ""), "1GiB", "1gb")]
print("1GB is {} bytes, 1gb is {}, 1GiB is {}".format(*read))
print(f"the model's size is printed as {printed}")
print("limit {}: {} layers on the device, limit 1GiB: {}, limit 1gb: {}".format(printed.replace(" ", ""), *layers))
assert size == 2**30 and printed == "1.0 GB"
assert read == [10**9, 10**9 // 8, 2**30], "sizes are read otherwise now"
assert layers == [13, 16, 0], "layers are placed otherwise now"
END
