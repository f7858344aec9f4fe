#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# JAX 0.10.2 (XLA), compiled.cost_analysis() on a processor.
#
# The body of a loop counts once, however often it runs, even where the compiled program itself says "known_trip_count": 10.
# Both branches of a conditional are not added: the longer one counts, though at run time the other may be taken.
# A transformer whose layers are one lax.scan, as large models are written, seems to have one layer.
#
# Seen (256 x 256, a product is 33,554,432 FLOPs):
#   one product                     33554432
#   ten, written out               335544320
#   ten, by lax.scan                33554432 although the program says known_trip_count 10
#   two products or none            67108864
#
# jax-ml/jax issue 18672 (remat_scan) is of this.
# Led to: a loop costs its body times its trips, and unknown trips are said to be unknown (docs/reference/onnx.md).
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
PYTHONPATH="$scratch/packages" JAX_PLATFORMS=cpu python3 - <<'END'
import re
import jax
import jax.numpy as jnp
from jax import lax

SIDE, TRIPS = 256, 10
PRODUCT = 2 * SIDE**3


def written_out(x):
    for _ in range(TRIPS):
        x = x @ x
    return x


works = {
    "one product": lambda x: x @ x,
    "ten, written out": written_out,
    "ten, by lax.scan": lambda x: lax.scan(lambda c, _: (c @ x, None), x, length=TRIPS)[0],
    "two products or none": lambda x: lax.cond(x[0, 0] > 0, lambda y: y @ y @ y, lambda y: y, x),
}
counted = {}
for name, work in works.items():
    compiled = jax.jit(work).lower(jnp.ones((SIDE, SIDE))).compile()
    counted[name] = compiled.cost_analysis()["flops"]
    trips = re.search(r'known_trip_count\W+n\W+(\d+)', compiled.as_text())
    print(f"{name:28} {counted[name]:11.0f}" + (f" although the program says known_trip_count {trips[1]}" if trips else ""))
    assert (name == "ten, by lax.scan") == (trips is not None)
assert [flops / PRODUCT for flops in counted.values()] == [1, 10, 1, 2], "XLA counts otherwise now"
END
