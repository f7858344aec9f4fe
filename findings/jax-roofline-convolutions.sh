#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# JAX 0.10.2, jax.experimental.roofline.
#
# "flops" and "hbm_bytes" are those of the program once it is fused, for which products of matrices alone are taken to cost anything: a
# convolution counts as fused away, with 0 FLOPs and 0 bytes, and so does all else. "unfused_flops" has it.
# A convolutional network has 0 FLOPs, one with a last product of matrices has that product's alone.
# Neither number counts the trips of a loop, nor either branch of a conditional: 0 even where both hold a product.
#
# Seen:
#   convolution       flops       0, bytes       0, unfused flops 270848
#   product           flops  524288, bytes   49152, unfused flops 524288
#   ten, by lax.scan  flops  524288, bytes   49152, unfused flops 524288
#   conditional       flops       0, bytes       0, unfused flops      0
#
# Concerns comparisons of costs by op here with JAX's own.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6 absl-py==2.5.1
PYTHONPATH="$scratch/packages" JAX_PLATFORMS=cpu python3 2> "$scratch/errors" - <<'END' || { cat "$scratch/errors" >&2; exit 1; }
import jax
from jax import lax
from jax.experimental import roofline

square = jax.ShapeDtypeStruct((64, 64), "float32")
images = jax.ShapeDtypeStruct((1, 8, 16, 16), "float32")
filters = jax.ShapeDtypeStruct((8, 8, 3, 3), "float32")


def costs(program, *operands):
    result = roofline.roofline(program)(*operands)[1]
    return result.flops, result.hbm_bytes, result.unfused_flops


seen = {
    "convolution": costs(lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME"), images, filters),
    "product": costs(lambda x: x @ x, square),
    "ten, by lax.scan": costs(lambda x: lax.scan(lambda y, _: (y @ y, None), x, None, length=10)[0], square),
    "conditional": costs(lambda p, x: lax.cond(p, lambda y: y @ y, lambda y: y @ y + 1, x), jax.ShapeDtypeStruct((), "bool"), square),
}
for name, (flops, transferred, unfused) in seen.items():
    print(f"{name:17} flops {flops:7}, bytes {transferred:7}, unfused flops {unfused:6}")
product = (2 * 64**3, 3 * 4 * 64 * 64, 2 * 64**3)
assert list(seen.values()) == [(0, 0, 270848), product, product, (0, 0, 0)], "the roofline counts otherwise now"
END
