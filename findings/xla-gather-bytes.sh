#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# JAX 0.10.2 (XLA), "bytes accessed" of cost_analysis() on a processor, rows of a large table.
#
# Eight rows read by their numbers, as an embedding is, cost the whole table once the program is compiled and what they are before it:
# the compiled gather stands in a fusion, of whose operands all bytes count.
# Rows added to a table that is given away (the gradient of an embedding) cost it twice, read and written.
# One row by dynamic_slice, and one written by dynamic_update_slice into a table that is given away (a cache of keys and values), count as
# what they are. So of two ways to write one model one seems bound by memory, and the two objects of one program differ 5,000 fold.
#
# Seen (table of 100,000 x 64 float32, 25.6 MB; bytes):
#   gather of 8 rows,       lowered     4536
#   gather of 8 rows,       compiled 25602080
#   add to 8 rows,          lowered     6584
#   add to 8 rows,          compiled 51202144
#   dynamic_slice,          compiled      516
#   dynamic_update_slice,   compiled      516
#
# Led to nothing new: a gather costs the rows that it takes (core/graph/ops/sparse.cpp).
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
PYTHONPATH="$scratch/packages" JAX_PLATFORMS=cpu python3 2> "$scratch/errors" - <<'END' || { cat "$scratch/errors" >&2; exit 1; }
import jax
from jax import lax

table = jax.ShapeDtypeStruct((100_000, 64), "float32")
rows = jax.ShapeDtypeStruct((8, 64), "float32")
row = jax.ShapeDtypeStruct((1, 64), "float32")
numbers = jax.ShapeDtypeStruct((8,), "int32")
number = jax.ShapeDtypeStruct((), "int32")


def costs(program, *operands, given=()):
    lowered = jax.jit(program, donate_argnums=given).lower(*operands)
    return [int(each.cost_analysis()["bytes accessed"]) for each in (lowered, lowered.compile())]


gathered = costs(lambda table, numbers: table[numbers], table, numbers)
added = costs(lambda table, numbers, rows: table.at[numbers].add(rows), table, numbers, rows, given=0)
sliced = costs(lambda table, number: lax.dynamic_slice(table, (number, 0), (1, 64)), table, number)
updated = costs(lambda table, row, number: lax.dynamic_update_slice(table, row, (number, 0)), table, row, number, given=0)
shown = [("gather of 8 rows,", gathered), ("add to 8 rows,", added), ("dynamic_slice,", sliced[1:]), ("dynamic_update_slice,", updated[1:])]
for name, counted in shown:
    for kind, count in zip(("lowered", "compiled")[-len(counted) :], counted):
        print(f"{name:23} {kind:8} {count:8}")
whole = 4 * 100_000 * 64
assert gathered[0] < 10_000 and gathered[1] > whole, "a gather counts otherwise now"
assert added[0] < 10_000 and added[1] > 2 * whole, "rows that are added count otherwise now"
assert sliced[1] < 1000 and updated[1] < 1000
END
