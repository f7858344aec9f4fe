#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# TensorFlow 2.21.0 (CPU), FLOPs of tf.compat.v1.profiler.
#
# * A product of batches with its first operand transposed takes the wrong size for the inner one: half the FLOPs or twice as many, as
#   the shapes have it. Such is the gradient of every product of batches. (MatMul heeds transpose_a, BatchMatMulV2 no adj_x.)
# * Einsum has none: of a MultiHeadAttention of Keras the layers before and behind are counted and the attention itself is not.
# * What is in a function has none, so a layer under tf.function within a graph, or a recurrent layer's loop, is free.
#
# Seen (FLOPs of products, and right ones):
#   batches of 16 x 8, transposed, times 16 x 32    16384 of  32768
#   batches of 8 x 16, transposed, times 8 x 32     65536 of  32768
#   batches, not transposed                         32768 of  32768
#   einsum                                              0 of  32768
#   product in a function                               0 of   8192
#   attention of Keras, 4 heads of 8              262144 of 327680
#
# Led to nothing new: core/graph/ops counts products by the op's own sizes, and functions by their bodies.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" tensorflow-cpu==2.21.0 keras==3.15.1 numpy==2.4.6
PYTHONPATH="$scratch/packages" TF_CPP_MIN_LOG_LEVEL=3 python3 - 2> "$scratch/errors" <<'END' || { cat "$scratch/errors" >&2; exit 1; }
import tensorflow

v1 = tensorflow.compat.v1
PRODUCTS = ("MatMul", "BatchMatMulV2", "Einsum", "PartitionedCall")


def of_nodes(node):
    return {node.name: node.float_ops, **{name: ops for child in node.children for name, ops in of_nodes(child).items()}}


def products(graph):
    options = v1.profiler.ProfileOptionBuilder.float_operation()
    options["output"] = "none"
    counted = of_nodes(v1.profiler.profile(graph, options=options))
    return sum(counted.get(op.name, 0) for op in graph.get_operations() if op.type in PRODUCTS)


def built(build):
    with tensorflow.Graph().as_default() as graph:
        build(lambda *shape: v1.placeholder(tensorflow.float32, shape))
    return products(graph)


attention = tensorflow.keras.layers.MultiHeadAttention(4, 8)
called = tensorflow.function(lambda x: attention(x, x)).get_concrete_function(tensorflow.TensorSpec([2, 16, 32]))
matmul = tensorflow.matmul
counts = [
    ("batches of 16 x 8, transposed, times 16 x 32", built(lambda x: matmul(x(4, 16, 8), x(4, 16, 32), transpose_a=True)), 32768),
    ("batches of 8 x 16, transposed, times 8 x 32", built(lambda x: matmul(x(4, 8, 16), x(4, 8, 32), transpose_a=True)), 32768),
    ("batches, not transposed", built(lambda x: matmul(x(4, 8, 16), x(4, 16, 32))), 32768),
    ("einsum", built(lambda x: tensorflow.einsum("bij,bjk->bik", x(4, 8, 16), x(4, 16, 32))), 32768),
    ("product in a function", built(lambda x: tensorflow.function(lambda y: matmul(y, y))(x(16, 16))), 8192),
    ("attention of Keras, 4 heads of 8", products(called.graph), 4 * 2 * 32 * 32 * 32 + 2 * 2 * 2 * 4 * 16 * 16 * 8),
]
for name, counted, right in counts:
    print(f"{name:46} {counted:6} of {right:6}")
assert [counted for _, counted, _ in counts] == [16384, 65536, 32768, 0, 0, 262144], "TensorFlow counts otherwise now"
END
