# SPDX-License-Identifier: Apache-2.0
"""Grows a graph of TensorFlow's ops: names in scopes, tensors whose axes may lie in another order."""

import collections
import contextlib
import copy
import math

import numpy

from lanescope.torch.graph_def import DTYPES, Content, Dtype, bits_of, encode_node, encode_versions


def dtype_of(tensor):
    """NumPy's name of what a tensor's elements are."""
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in DTYPES:
        raise ValueError(f"a tensor of {name}, which graphs do not have; convert it to another type")
    return name


class Value:
    """A tensor of the graph. Axis `axes[i]` of what lies in memory is axis i of PyTorch's tensor: reordered axes
    cost nothing until an op needs them in order, like PyTorch's strides."""

    def __init__(self, ref, dtype, stored_shape, axes=None):
        self.ref, self.dtype, self.stored_shape = ref, dtype, tuple(stored_shape)
        self.axes = tuple(range(len(self.stored_shape))) if axes is None else tuple(axes)

    @property
    def shape(self):
        return tuple(self.stored_shape[axis] for axis in self.axes)

    @property
    def rank(self):
        return len(self.stored_shape)

    def is_plain(self):
        return self.axes == tuple(range(self.rank))


class Emitter:
    """The graph under construction."""

    def __init__(self):
        self.nodes = {}  # name: (op, inputs, attrs), in order
        self.scope = ""
        self.after = None  # a node that others wait for
        self._waiting = set()
        self.unknown_updates = collections.Counter()  # ops of optimizers that cost, but do not run
        self.remarks = []  # in what the graph differs from the model
        self.draws = False  # whether something is drawn at random
        self.call = None  # the Call that nodes are added for
        self._near = ""  # the variable beside which nodes are placed
        self.shapes, self.dtypes = {}, {}  # by reference, of what lies in memory
        self.sources = {}  # by fx node what it became
        self.notes = {}  # what an op of the forward pass leaves for its gradient
        self._constants = {}
        self._ordered = {}

    def node(self, op, name, inputs=(), **attrs):
        """Adds a node and returns its name, made unique in the scope."""
        stem = "/".join(part for part in (self.scope, name) if part)
        unique, number = stem, 0
        while unique in self.nodes:
            number += 1
            unique = f"{stem}_{number}"
        if self._near:
            attrs["_class"] = [f"loc:@{self._near}"]
        inputs = list(inputs)
        if self.after is not None and op != "Const" and not any(each in self._waiting for each in inputs):
            inputs.append("^" + self.after)
        if self.after is not None and op != "Const":
            self._waiting.add(unique)
        self.nodes[unique] = (op, inputs, attrs)
        if self.call is not None:
            self.call.nodes.append(unique)
        return unique

    def fork(self):
        """Another emitter that goes on from here."""
        other = copy.copy(self)
        for key, value in vars(self).items():
            if isinstance(value, (dict, set)):
                setattr(other, key, copy.copy(value))
        return other

    def go_back_to(self, fork):
        """Forgets what came after the fork, which has grown no more."""
        vars(self).update(vars(fork))

    def remember(self, value):
        self.shapes[value.ref], self.dtypes[value.ref] = value.stored_shape, value.dtype
        return value

    @contextlib.contextmanager
    def beside(self, handle):
        """Nodes are named below the variable's and lie where it does."""
        before = self.scope, self._near
        self.scope, self._near = f"{handle}/Update", handle
        try:
            yield
        finally:
            self.scope, self._near = before

    def op(self, op, inputs, dtype, shape, axes=None, types=None, **attrs):
        """One node with one output. `inputs`: references; `types`: its dtype attributes, default T."""
        types = {"T": dtype} if types is None else types
        attrs.update({key: Dtype(value) for key, value in types.items()})
        return self.remember(Value(self.node(op, op, inputs, **attrs), dtype, shape, axes))

    def const(self, data, dtype):
        """The reference of a constant, which equal ones of a scope share."""
        array = numpy.asarray(data, dtype="float32" if dtype == "bfloat16" else dtype)
        content = Content(dtype, array.shape, (bits_of(array) if dtype == "bfloat16" else array).tobytes())
        key = (dtype, content.shape, content.data)
        if key not in self._constants:
            (scope, near), self.scope, self._near = (self.scope, self._near), "", ""
            self._constants[key] = self.tensor(content, "constants/" + dtype)
            self.scope, self._near = scope, near
        return self._constants[key]

    def tensor(self, content, name="Const"):
        return self.node("Const", name, dtype=Dtype(content.dtype), value=content)

    def ints(self, data):
        return self.const(list(data), "int32")

    def scalar(self, value, dtype):
        return Value(self.const(value, dtype), dtype, ())

    def ordered(self, value, order):
        """The reference of `value` with axis order[j] of PyTorch's tensor as axis j in memory."""
        moves = tuple(value.axes[axis] for axis in order)
        if moves == tuple(range(value.rank)):
            return value.ref
        key = (value.ref, moves)
        if key not in self._ordered:
            shape = [value.stored_shape[axis] for axis in moves]
            self._ordered[key] = self.op("Transpose", [value.ref, self.ints(moves)], value.dtype, shape,
                                         types={"T": value.dtype, "Tperm": "int32"}).ref
        return self._ordered[key]

    def plain(self, value):
        return self.ordered(value, range(value.rank))

    def in_order(self, value):
        return value if value.is_plain() else Value(self.plain(value), value.dtype, value.shape)

    def reshape(self, value, shape):
        return self.op("Reshape", [self.plain(value), self.ints(shape)], value.dtype, shape,
                       types={"T": value.dtype, "Tshape": "int32"})

    def cast(self, value, dtype):
        if value.dtype == dtype:
            return value
        return self.op("Cast", [value.ref], dtype, value.stored_shape, value.axes,
                       types={"SrcT": value.dtype, "DstT": dtype})

    def unary(self, op, value, dtype=None, **attrs):
        value = self.cast(value, dtype or value.dtype)
        return self.op(op, [value.ref], value.dtype, value.stored_shape, value.axes, **attrs)

    def binary(self, op, a, b, result=None, **attrs):
        """Broadcasting. `a` and `b` are Values of one dtype."""
        if a.axes != b.axes:
            if a.rank == b.rank:
                more, less = (a, b) if math.prod(a.shape) >= math.prod(b.shape) else (b, a)
                order = sorted(range(more.rank), key=lambda axis: more.axes[axis])
                moved = Value(self.ordered(less, order), less.dtype, [less.shape[axis] for axis in order], more.axes)
                a, b = (more, moved) if more is a else (moved, more)
            elif min(a.rank, b.rank) > 0:
                a, b = self.in_order(a), self.in_order(b)
        axes = a.axes if a.rank >= b.rank else b.axes
        shape = numpy.broadcast_shapes(a.stored_shape, b.stored_shape)
        types = {} if op.startswith("Logical") else {"T": a.dtype}
        return self.op(op, [a.ref, b.ref], result or a.dtype, shape, axes, types=types, **attrs)

    def reduce(self, op, value, dims, keep, dtype=None):
        dims = sorted({dim % value.rank for dim in dims} if value.rank and dims else range(value.rank))
        gone = sorted(value.axes[dim] for dim in dims)
        shape = [1 if axis in gone else size for axis, size in enumerate(value.stored_shape)]
        axes = value.axes
        if not keep:
            left = [axis for axis in range(value.rank) if axis not in gone]
            shape = [shape[axis] for axis in left]
            axes = [left.index(axis) for axis in axes if axis in left]
        types = {"Tidx": "int32"} if op in ("Any", "All") else {"T": value.dtype, "Tidx": "int32"}
        return self.op(op, [value.ref, self.ints(gone)], dtype or value.dtype, shape, axes, types=types, keep_dims=keep)

    def fill(self, shape, value, dtype):
        return self.op("Fill", [self.ints(shape), self.const(value, dtype)], dtype, shape,
                       types={"T": dtype, "index_type": "int32"})

    def needed(self, roots):
        """The names of all that `roots` need."""
        needed, waiting = set(), list(roots)
        while waiting:
            name = waiting.pop().removeprefix("^").split(":")[0]
            if name not in needed:
                needed.add(name)
                waiting += self.nodes[name][1]
        return needed

    def serialize(self, needed):
        """The GraphDef of these nodes."""
        nodes = [encode_node(name, op, inputs, attrs) for name, (op, inputs, attrs) in self.nodes.items()
                 if name in needed]
        return b"".join(nodes) + encode_versions()
