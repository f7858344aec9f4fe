"""Matrix products. A transposed operand is read as such, not copied."""

from lanescope.torch.emitter import Value
from lanescope.torch.ops import rule


def product(e, a, b):
    flags = [x.axes == (1, 0) for x in (a, b)]
    return e.op("MatMul", [a.ref, b.ref], a.dtype, (a.shape[0], b.shape[1]), transpose_a=flags[0], transpose_b=flags[1])


@rule("mm.default")
def mm(e, node, a, b):
    return product(e, a, b)


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
