"""Matrix products. A transposed operand is read as such, not copied."""

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


@rule("bmm.default")
def bmm(e, node, a, b):
    flags, refs = [], []
    for x in (a, b):
        flags.append(x.axes == (0, 2, 1))
        refs.append(x.ref if flags[-1] else e.plain(x))
    return e.op("BatchMatMulV2", refs, a.dtype, (a.shape[0], a.shape[1], b.shape[2]), adj_x=flags[0], adj_y=flags[1])

