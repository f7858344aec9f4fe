#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# JAX 0.10.2 (XLA), cost_analysis() on a processor, programs with an op that XLA calls and does not know.
#
# Such a call costs -1 FLOP and -1 byte, which stands for "unknown" and is added up like any other number: a product followed by a
# triangular solve costs one FLOP less than the product alone, and ten solves cost minus ten. The largest of some values (top_k, the router
# of every mixture of experts) is such a call, too. No flag beside the sum says that it is a part of the truth, and a sum that is off by
# one looks right.
#
# Seen (64 x 64, FLOPs):
#   product                     524288
#   product, triangular solve   524287
#   ten triangular solves          -10
#   product, top_k              524287
#   top_k alone, bytes              -1
#
# Led to nothing new: work that is not known is said to be unknown and is in no sum (docs/reference/onnx.md).
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
PYTHONPATH="$scratch/packages" JAX_PLATFORMS=cpu python3 2> "$scratch/errors" - <<'END' || { cat "$scratch/errors" >&2; exit 1; }
import jax
from jax.scipy.linalg import solve_triangular

square = jax.ShapeDtypeStruct((64, 64), "float32")


def cost(program, key="flops"):
    return int(jax.jit(program).lower(square, square).compile().cost_analysis()[key])


def solved(a, b, times):
    for _ in range(times):
        b = solve_triangular(a, b, lower=True)
    return b


costs = {
    "product": cost(lambda a, b: a @ b),
    "product, triangular solve": cost(lambda a, b: solved(a, a @ b, 1)),
    "ten triangular solves": cost(lambda a, b: solved(a, b, 10)),
    "product, top_k": cost(lambda a, b: jax.lax.top_k(a @ b, 8)),
    "top_k alone, bytes": cost(lambda a, b: jax.lax.top_k(a, 8), "bytes accessed"),
}
for name, counted in costs.items():
    print(f"{name:26} {counted:8}")
assert list(costs.values()) == [524288, 524287, -10, 524287, -1], "XLA counts otherwise now"
END
