# SPDX-License-Identifier: Apache-2.0
"""Matrix products. A transposed operand is read as such, not copied."""

import json

from lanescope.torch.costs import cost_attr, cost_of
from lanescope.torch.emitter import Value
from lanescope.torch.ops import RULES, rule
from lanescope.torch.ops.indexing import numbers_to
from lanescope.torch.ops.shapes import part


def of_one_type(a, b):
    if a.dtype != b.dtype:
        raise ValueError(f"a product of {a.dtype} and {b.dtype}, which PyTorch refuses when it runs; convert one of them")


def product(e, a, b):
    of_one_type(a, b)
    flags = [x.axes == (1, 0) for x in (a, b)]
    return e.op("MatMul", [a.ref, b.ref], a.dtype, (a.shape[0], b.shape[1]), transpose_a=flags[0], transpose_b=flags[1])


@rule("mm.default")
def mm(e, node, a, b):
    return product(e, a, b)


@rule("_int_mm.default")
def int_mm(e, node, a, b):
    """By float64, which holds sums of products of bytes exactly, at the cost of bytes."""
    made = product(e, e.cast(a, "float64"), e.cast(b, "float64"))
    e.nodes[made.ref][2]["_lanescope_cost"] = cost_attr(node)
    return e.cast(made, "int32")


@rule("addmm.default")
def addmm(e, node, bias, a, b, beta=1, alpha=1):
    out = product(e, a, b)
    if alpha != 1:
        out = e.binary("Mul", out, e.scalar(alpha, out.dtype))
    if beta != 1:
        bias = e.binary("Mul", bias, e.scalar(beta, out.dtype))
    if bias.shape == out.shape[1:]:
        return e.op("BiasAdd", [out.ref, bias.ref], out.dtype, out.shape, data_format="NHWC")
    return e.binary("AddV2", out, bias)


def _shared(e, node, x):
    """The one matrix that the operand repeats for every other one, if it does: products repeat it without a copy."""
    while node.op == "call_function" and str(node.target) in _VIEWS and node.args[0].meta["val"].shape[0] != 0:
        source = node.args[0]
        shape = tuple(source.meta["val"].shape)
        if str(node.target) == "aten.expand.default" and x.shape[0] > 1 and shape[-2:] == x.shape[1:] and (
                len(shape) == 2 or shape[:-2].count(1) == len(shape) - 2):
            matrix = e.sources[source]
            if matrix.rank == 2:
                return Value(matrix.ref, x.dtype, (1, *matrix.stored_shape), (0, *(axis + 1 for axis in matrix.axes)))
            return e.reshape(matrix, (1, *x.shape[1:])) if matrix.is_plain() else None
        node = source
    return None


_VIEWS = ("aten.expand.default", "aten.view.default", "aten._unsafe_view.default", "aten.reshape.default")


@rule("bmm.default")
def bmm(e, node, a, b):
    of_one_type(a, b)
    flags, refs = [], []
    for number, x in enumerate((a, b)):
        x = _shared(e, node.args[number], x) or x
        if x.is_plain() or x.axes != (0, 2, 1):
            flags.append(False)
            refs.append(_matrix(e, x, (x.shape[1], x.shape[2])) if x.shape[0] == 1 < a.shape[0] else e.plain(x))
        else:
            flags.append(True)
            refs.append(_matrix(e, x, (x.shape[2], x.shape[1])) if x.shape[0] == 1 < a.shape[0] else x.ref)
    return e.op("BatchMatMulV2", refs, a.dtype, (a.shape[0], a.shape[1], b.shape[2]), adj_x=flags[0], adj_y=flags[1])


def _matrix(e, x, shape):
    """The reference of a single matrix with an axis of matrices, as it lies."""
    return e.reshape(Value(x.ref, x.dtype, shape), (1, *shape)).ref


def _groups_of(e, ends, rows):
    """By row the number of its group: how many groups end at or before it."""
    numbers = e.reshape(numbers_to(e, rows, ends.dtype), (rows, 1))
    behind = e.binary("GreaterEqual", numbers, e.reshape(ends, (1, ends.shape[0])), "bool")
    return e.reduce("Sum", e.cast(behind, "int32"), [1], False)


def _masks(e, ends, rows, dtype, shape):
    groups = _groups_of(e, ends, rows)
    for number in range(ends.shape[0]):
        mine = e.binary("Equal", groups, e.scalar(number, "int32"), "bool", incompatible_shape_error=True)
        yield e.reshape(e.cast(mine, dtype), shape)


def _share(cost, parts):
    """The cost of one of `parts` products, of which each counts its own rows alone."""
    return json.dumps({of: amount // parts for of, amount in cost.items()})


@rule("_grouped_mm.default")
def grouped_mm(e, node, a, b, ends=None, bias=None, out_dtype=None):
    """Products of all groups with the rows of others as zeros, each at the cost of its own rows."""
    if bias is not None or ends is None or out_dtype is not None or a.rank != 2:
        return None
    groups, cost = ends.shape[0], cost_of(node)
    rows = a.shape[0] if b.rank == 3 else a.shape[1]
    made = []
    for number, mask in enumerate(_masks(e, ends, rows, a.dtype, (rows, 1) if b.rank == 3 else (1, rows))):
        other = b
        if b.rank == 3:
            other = e.reshape(part(e, b, 0, number, number + 1), b.shape[1:])
        each = product(e, e.in_order(e.binary("Mul", a, mask)), e.in_order(other))
        e.nodes[each.ref][2]["_lanescope_cost"] = _share(cost, groups)
        made.append(each)
    if b.rank == 2:
        return e.op("Pack", [each.ref for each in made], a.dtype, (groups, *made[0].shape), N=groups, axis=0)
    return e.op("AddN", [each.ref for each in made], a.dtype, made[0].shape, N=groups)


RULES["transformers.grouped_mm_fallback.default"] = grouped_mm  # as programs of its models have it
