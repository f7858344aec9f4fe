# SPDX-License-Identifier: Apache-2.0
"""Ops on single elements, and reductions."""

from lanescope.torch.emitter import Value, dtype_of
from lanescope.torch.graph_def import FLOATS
from lanescope.torch.ops import RULES, rule

_UNARY = {
    "abs": "Abs", "neg": "Neg", "sign": "Sign", "sgn": "Sign", "sqrt": "Sqrt", "rsqrt": "Rsqrt", "reciprocal": "Reciprocal",
    "exp": "Exp", "expm1": "Expm1", "log": "Log", "log1p": "Log1p", "sin": "Sin", "cos": "Cos", "tan": "Tan",
    "tanh": "Tanh", "sigmoid": "Sigmoid", "erf": "Erf", "erfc": "Erfc", "floor": "Floor", "ceil": "Ceil",
    "round": "Round", "relu": "Relu", "asin": "Asin", "acos": "Acos", "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh",
    "asinh": "Asinh", "acosh": "Acosh", "atanh": "Atanh", "erfinv": "Erfinv", "lgamma": "Lgamma", "digamma": "Digamma",
}
_TESTS = {"isnan": "IsNan", "isinf": "IsInf", "isfinite": "IsFinite"}
_BINARY = {"add": "AddV2", "sub": "Sub", "mul": "Mul", "div": "RealDiv", "maximum": "Maximum", "minimum": "Minimum",
           "pow": "Pow", "floor_divide": "FloorDiv", "atan2": "Atan2", "remainder": "FloorMod", "fmod": "Mod"}
_COMPARE = {"eq": "Equal", "ne": "NotEqual", "lt": "Less", "le": "LessEqual", "gt": "Greater", "ge": "GreaterEqual"}
_REDUCE = {"sum": "Sum", "mean": "Mean", "prod": "Prod", "amax": "Max", "amin": "Min", "any": "Any", "all": "All", "max": "Max", "min": "Min"}


def result_dtype(node):
    return dtype_of(node.meta["val"])


def value_of(e, operand, dtype):
    """A Value of this dtype, of a tensor or a number."""
    return e.cast(operand, dtype) if isinstance(operand, Value) else e.scalar(operand, dtype)


def _unary(op):
    return lambda e, node, x: e.unary(op, x, result_dtype(node))


def truncated(e, x):
    """Floats without what is behind the point."""
    down, up = e.unary("Floor", x), e.unary("Ceil", x)
    return select(e, e.binary("Less", x, e.scalar(0, x.dtype), "bool"), up, down, x.shape)


@rule("trunc.default")
def trunc(e, node, x):
    return truncated(e, x) if x.dtype in FLOATS else x


def _binary(op):
    def emit(e, node, a, b, alpha=1, rounding_mode=None):
        dtype = result_dtype(node)
        if rounding_mode is not None:
            a, b = value_of(e, a, dtype), value_of(e, b, dtype)
            if rounding_mode == "floor" or dtype not in FLOATS:
                return e.binary("FloorDiv" if rounding_mode == "floor" else "TruncateDiv", a, b)
            return truncated(e, e.binary("RealDiv", a, b))
        a, b = value_of(e, a, dtype), value_of(e, b, dtype)
        if alpha != 1:
            b = e.binary("Mul", b, e.scalar(alpha, dtype))
        if dtype == "bool":
            if op not in ("AddV2", "Mul"):
                return None
            return e.binary("LogicalOr" if op == "AddV2" else "LogicalAnd", a, b)
        return e.binary(op, a, b)

    return emit


def common_dtype(a, b):
    """What PyTorch compares two operands in: numbers follow tensors, and those without axes follow the others."""
    def kind(dtype):
        return 0 if dtype == "bool" else 1 if "int" in dtype else 2

    tensors = [x for x in (a, b) if isinstance(x, Value)]
    found = None
    for group in ([x.dtype for x in tensors if x.rank], [x.dtype for x in tensors if not x.rank],
                  [_OF_NUMBERS[type(x)] for x in (a, b) if not isinstance(x, Value)]):
        if group and (found is None or max(map(kind, group)) > kind(found)):
            found = _wider(*group)
    return found


_OF_NUMBERS = {bool: "bool", int: "int64", float: "float32"}
_WIDER = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
_NEITHER = {frozenset(("uint8", "int8")): "int16", frozenset(("float16", "bfloat16")): "float32"}


def _wider(*dtypes):
    """The least that holds both, as PyTorch has it."""
    return _NEITHER.get(frozenset(dtypes)) or max(dtypes, key=_WIDER.index)


def _compare(op):
    def emit(e, node, a, b):
        dtype = common_dtype(a, b)
        a, b = value_of(e, a, dtype), value_of(e, b, dtype)
        if dtype == "bool" and op not in ("Equal", "NotEqual"):
            a, b = e.cast(a, "int32"), e.cast(b, "int32")
        return e.binary(op, a, b, "bool")

    return emit


def _reduce(op):
    def emit(e, node, x, dims=None, keep=False, dtype=None):
        dtype = result_dtype(node)
        dims = [dims] if isinstance(dims, int) else dims
        return e.reduce(op, e.cast(x, dtype), dims, keep)

    return emit


for _name, _op in _UNARY.items():
    RULES[f"aten.{_name}.default"] = _unary(_op)
for _name, _op in _TESTS.items():
    RULES[f"aten.{_name}.default"] = lambda e, node, x, op=_op: e.op(op, [x.ref], "bool", x.stored_shape, x.axes, types={"T": x.dtype})
for _name, _op in _BINARY.items():
    for _kind in ("default", "Tensor", "Scalar", "Tensor_mode", "Scalar_mode", "Tensor_Tensor", "Tensor_Scalar"):
        RULES[f"aten.{_name}.{_kind}"] = _binary(_op)
for _name, _like in (("max.other", "maximum.default"), ("min.other", "minimum.default")):
    RULES["aten." + _name] = RULES["aten." + _like]
for _name, _op in _COMPARE.items():
    for _kind in ("Tensor", "Scalar"):
        RULES[f"aten.{_name}.{_kind}"] = _compare(_op)
for _name, _op in _REDUCE.items():
    for _kind in ("default", "dim", "dims", "dim_int", "dim_IntList"):
        RULES[f"aten.{_name}.{_kind}"] = _reduce(_op)


@rule("pow.Tensor_Scalar")
def power(e, node, x, exponent):
    dtype = result_dtype(node)
    x = e.cast(x, dtype)
    known = {2: "Square", 0.5: "Sqrt", -0.5: "Rsqrt", -1: "Reciprocal"}
    if exponent in known and (exponent == 2 or dtype in FLOATS):
        return e.unary(known[exponent], x)
    if exponent == 3:
        return e.binary("Mul", e.unary("Square", x), x)
    return e.binary("Pow", x, e.scalar(exponent, dtype))


@rule("xlogy.Tensor", "xlogy.Scalar_Self", "xlogy.Scalar_Other")
def xlogy(e, node, x, y):
    """0 where x is, as TensorFlow has it; PyTorch gives NaN where x is 0 and y NaN."""
    dtype = result_dtype(node)
    x, y = value_of(e, x, dtype), value_of(e, y, dtype)
    return e.binary("Xlogy", x, y)


def _differ(e, a, b):
    return e.binary("NotEqual", a, b, "bool", incompatible_shape_error=True)


def truth(e, x):
    """Whether elements are other than 0."""
    return x if x.dtype == "bool" else _differ(e, x, e.scalar(0, x.dtype))


@rule("logical_not.default")
def logical_not(e, node, x):
    return e.unary("LogicalNot", truth(e, x))


@rule("bitwise_not.default")
def bitwise_not(e, node, x):
    return e.unary("LogicalNot" if x.dtype == "bool" else "Invert", x)


_LOGICAL = {"and": "LogicalAnd", "or": "LogicalOr", "xor": None}  # what differs is either, not both


def _of_truths(e, name, a, b):
    return _differ(e, a, b) if _LOGICAL[name] is None else e.binary(_LOGICAL[name], a, b)


def _logical(name):
    return lambda e, node, a, b: _of_truths(e, name, truth(e, a), truth(e, b))


def _bitwise(name):
    def emit(e, node, a, b):
        dtype = result_dtype(node)
        a, b = value_of(e, a, dtype), value_of(e, b, dtype)
        return _of_truths(e, name, a, b) if dtype == "bool" else e.binary(_BITWISE[name], a, b)

    return emit


_BITWISE = {"and": "BitwiseAnd", "or": "BitwiseOr", "xor": "BitwiseXor", "left_shift": "LeftShift", "right_shift": "RightShift"}
for _name in _LOGICAL:
    RULES[f"aten.logical_{_name}.default"] = _logical(_name)
for _name in _BITWISE:
    for _kind in ("Tensor", "Scalar", "Scalar_Tensor", "Tensor_Scalar"):
        RULES[f"aten.bitwise_{_name}.{_kind}"] = _bitwise(_name)
        RULES[f"aten.__{_name.replace('left_', 'l').replace('right_', 'r')}__.{_kind}"] = _bitwise(_name)
for _name in ("mul", "div", "exp", "log", "eq", "lt", "ge"):  # where PyTorch's own rules end
    RULES[f"prims.{_name}.default"] = RULES.get(f"aten.{_name}.Tensor") or RULES[f"aten.{_name}.default"]


@rule("where.self", "where.ScalarSelf", "where.ScalarOther", "where.Scalar")
def where(e, node, condition, a, b):
    dtype = result_dtype(node)
    return select(e, condition, value_of(e, a, dtype), value_of(e, b, dtype), node.meta["val"].shape)


def select(e, condition, a, b, shape):
    if len({x.axes for x in (condition, a, b) if x.rank}) > 1:
        condition, a, b = (e.in_order(x) for x in (condition, a, b))
    widest = max((condition, a, b), key=lambda x: x.rank)
    stored = [0] * widest.rank
    for axis, size in zip(widest.axes, shape):
        stored[axis] = size
    return e.op("SelectV2", [condition.ref, a.ref, b.ref], a.dtype, stored, widest.axes)


@rule("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(e, node, x, mask, value):
    return select(e, mask, value_of(e, value, x.dtype), x, node.meta["val"].shape)


@rule("clamp.default", "clamp_min.default", "clamp_max.default")
def clamp(e, node, x, low=None, high=None):
    if str(node.target).endswith("clamp_max.default"):
        low, high = None, low
    x = e.cast(x, result_dtype(node))
    if low is not None:
        x = e.binary("Maximum", x, e.scalar(low, x.dtype))
    return x if high is None else e.binary("Minimum", x, e.scalar(high, x.dtype))


@rule("_to_copy.default", "convert_element_type.default")
def convert(e, node, x, *_, **__):
    dtype = result_dtype(node)
    return None if "float8" in x.dtype + dtype and x.dtype != dtype else e.cast(x, dtype)  # no kernel of a host has it


@rule("clone.default", "alias.default", "detach.default", "detach_.default",
      "lift_fresh_copy.default", "lift_fresh.default", "contiguous.default")
def same(e, node, x, **_):
    return x


@rule("tanh_backward.default")
def tanh_backward(e, node, gradient, y):
    return e.binary("TanhGrad", y, gradient)


@rule("sigmoid_backward.default")
def sigmoid_backward(e, node, gradient, y):
    return e.binary("SigmoidGrad", y, gradient)


@rule("threshold_backward.default")
def threshold_backward(e, node, gradient, x, threshold):
    if threshold == 0:
        return e.binary("ReluGrad", gradient, x)
    return select(e, e.binary("Greater", x, e.scalar(threshold, x.dtype), "bool"), gradient, e.scalar(0, x.dtype), x.shape)


@rule("polygamma.default")
def polygamma(e, node, order, x):
    return e.binary("Polygamma", e.scalar(order, x.dtype), x)


@rule("var_mean.correction", "var.correction")
def var_mean(e, node, x, dims=None, correction=1, keepdim=False):
    kind, x = x.dtype, e.cast(x, "float64" if x.dtype == "float64" else "float32")  # squares leave the range of half
    mean = e.reduce("Mean", x, dims, True)
    squares = e.binary("SquaredDifference", x, mean)
    count = 1
    for dim in range(x.rank) if not dims else dims:
        count *= x.shape[dim]
    sum_ = e.reduce("Sum", squares, dims, keepdim)
    variance = e.binary("RealDiv", sum_, e.scalar(max(0, count - (1 if correction is None else correction)), x.dtype))
    variance = e.cast(variance, kind)
    if "var_mean" not in str(node.target):
        return variance
    return variance, e.cast(e.reduce("Mean", x, dims, keepdim), kind)
