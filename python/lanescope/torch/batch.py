# SPDX-License-Identifier: Apache-2.0
"""Opens the batch of a graph: of one step, translated for two batches, the numbers that differ follow the batch."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction

from lanescope.torch.graph_def import FLOATS, Content, Dtype, Shape

_EXACT = "float64"
_STRIDED = {key: 0 for key in ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask")}


class FixedBatchError(ValueError):
    """What depends on one size of the batch, with its module and line."""


def two_sizes(batch):
    """Batches to translate for: multiples of the example's, so that what is shared out stays whole, and neither 1 nor
    2, which are sizes of other things. The second is three times the first: a model that takes 1 for one batch and 2 for
    another follows neither."""
    first = batch * math.ceil(4 / batch)
    return first, 3 * first


@dataclass(frozen=True)
class Law:
    """slope * batch + offset."""

    slope: Fraction
    offset: int

    @classmethod
    def of(cls, values, sizes):
        """None where whole numbers follow no such law. A square would have an offset beyond the batch."""
        (x, y), (p, q) = (tuple(map(int, values)), sizes)
        slope = Fraction(y - x, q - p)
        offset = x - slope * p
        if slope < 0 or offset.denominator != 1 or abs(offset) >= p:
            return None
        return cls(slope, int(offset))

    def at(self, batch):
        return int(self.slope * batch) + self.offset


def at_batch(values, sizes, batch):
    """A number of both translations as it is for `batch`; it follows the batch, or is about to."""
    x, y = values
    return round(x + Fraction(y - x, sizes[1] - sizes[0]) * (batch - sizes[0]))


class BatchOpener:
    """Changes the nodes that `first` has beyond `since`, translated for sizes[0], so that they are right for any batch.

    `second`: the emitter of the same step for sizes[1]; `feed`: reference and axis of an input with the batch; `calls`:
    the first translation's.
    """

    def __init__(self, first, second, since, sizes, batch, feed, calls):
        self._e, self._other, self._since, self._sizes, self._batch = first, second, since, sizes, batch
        self._feed, self._call_of = feed, {name: call for call in calls for name in call.nodes}
        self._known = {}  # by source and laws what is emitted of them

    def run(self):
        mine, others = (self._added(emitter) for emitter in (self._e, self._other))
        for name, other in zip(mine, others):
            if name != other or self._e.nodes[name][0] != self._other.nodes[other][0]:
                self._refuse(name, f"another batch has '{other}' in place of '{name}'")
            self._open(name)
        if len(mine) != len(others):
            longer = mine if len(mine) > len(others) else others
            self._refuse(longer[min(len(mine), len(others))], "another batch has more or fewer ops")
        self._e.scope, self._e.call = "", None

    def _added(self, emitter):
        return [name for name, (op, _, _) in emitter.nodes.items() if op != "Const" and name not in self._since]

    def _refuse(self, name, why):
        call = self._call_of.get(name)
        where = call.where() if call is not None else f"node '{name}'"
        raise FixedBatchError(f"the graph is of a batch of {self._batch} alone: {where}: {why}")

    def _open(self, name):
        self._e.scope, self._e.call = name, self._call_of.get(name)
        op, inputs, attrs = self._e.nodes[name]
        _, others, other_attrs = self._other.nodes[name]
        if len(inputs) != len(others) or attrs.keys() != other_attrs.keys():
            self._refuse(name, f"{op} has other inputs with another batch")
        for number, pair in enumerate(zip(inputs, others)):
            contents = [self._content(emitter, ref) for emitter, ref in zip((self._e, self._other), pair)]
            if contents[0] is None or contents[1] is None:
                if pair[0] != pair[1]:
                    self._refuse(name, f"{op} has other inputs with another batch")
            elif (contents[0].shape, contents[0].dtype) != (contents[1].shape, contents[1].dtype):
                self._refuse(name, f"a constant of {op} has other axes with another batch")
            elif contents[0].data != contents[1].data:
                inputs[number] = self._followed(name, number, contents)
        parts = self._parts(attrs, other_attrs)
        for key in attrs:
            if not self._same(attrs[key], other_attrs[key]):
                attrs[key] = self._attr(name, key, attrs[key], other_attrs[key])
        attrs.update(parts)

    def _parts(self, mine, other):
        """How a node that says its own cost and shapes is cut with the batch: by output the axes that are shares of it, and
        what of its work does not grow with it."""
        costs = [json.loads(attrs["_lanescope_cost"]) for attrs in (mine, other) if "_lanescope_cost" in attrs]
        shapes = [attrs.get("_output_shapes", []) for attrs in (mine, other)]
        if len(costs) < 2 or (costs[0] == costs[1] and shapes[0] == shapes[1]):
            return {}
        axes = [[axis for axis, (x, y) in enumerate(zip(*pair)) if x != y] for pair in zip(*shapes)]
        p, q = self._sizes
        if any(one[axis] * q != two[axis] * p for one, two, found in zip(*shapes, axes) for axis in found):
            return {}
        fixed = {of: min(max(0, at_batch([cost[of] for cost in costs], self._sizes, 0)), costs[0][of]) for of in costs[0]}
        return {"_lanescope_batch": json.dumps({"axes": axes, **fixed})}

    @staticmethod
    def _content(emitter, ref):
        op, _, attrs = emitter.nodes[ref.removeprefix("^").split(":")[0]]
        return attrs["value"] if op == "Const" else None

    @staticmethod
    def _same(a, b):
        return vars(a) == vars(b) if isinstance(a, Content) else a == b

    def _attr(self, name, key, mine, other):
        op = self._e.nodes[name][0]
        if key == "_output_shapes":
            return [self._shape(*pair) for pair in zip(mine, other)]
        if key == "_lanescope_cost":
            costs = [json.loads(text) for text in (mine, other)]
            return json.dumps({of: at_batch([cost[of] for cost in costs], self._sizes, self._batch) for of in costs[0]})
        if key == "shape" and op == "Placeholder":
            return Shape(-1 if a != b else a for a, b in zip(mine, other))
        return self._refuse(name, f"{op} has another '{key}' with another batch")

    def _shape(self, mine, other):
        return Shape(at_batch(pair, self._sizes, self._batch) for pair in zip(mine, other))

    def _followed(self, name, number, contents):
        """The reference of what follows the batch in place of constants."""
        op, inputs, _ = self._e.nodes[name]
        dtype = contents[0].dtype
        values = [each.numbers().tolist() for each in contents]
        if dtype in FLOATS:
            if len(values[0]) != 1:
                self._refuse(name, f"a constant of {op} follows the batch")
            return self._fraction(name, dtype, values[0][0], values[1][0])
        if dtype not in ("int32", "int64"):
            self._refuse(name, f"a constant of {op} follows the batch")
        laws = [x if x == y else Law.of((x, y), self._sizes) for x, y in zip(*values)]
        if None in laws:
            number = laws.index(None)
            self._refuse(name, f"{op} has the number {values[0][number]} with a batch of {self._sizes[0]}, "
                               f"{values[1][number]} with {self._sizes[1]}")
        if op == "Reshape" and number == 1 and sum(isinstance(law, Law) for law in laws) == 1 and 0 not in laws:
            return self._e.const([-1 if isinstance(law, Law) else law for law in laws], dtype)
        return self._numbers(inputs, laws, contents[0].shape, dtype)

    def _numbers(self, inputs, laws, shape, dtype):
        source = self._source(inputs)
        key = (*source, *laws, shape, dtype)
        if key not in self._known:
            made = [self._number(source, law, dtype) if isinstance(law, Law) else self._e.const(law, dtype) for law in laws]
            if shape == ():
                self._known[key] = made[0]
            else:
                packed = self._node("Pack", made, T=Dtype(dtype), N=len(made), axis=0)
                self._known[key] = packed if len(shape) == 1 else self._node(
                    "Reshape", [packed, self._e.ints(shape)], T=Dtype(dtype), Tshape=Dtype("int32"))
        return self._known[key]

    def _source(self, inputs):
        """A tensor, its axis that follows the batch, and how often that has it: among the node's own inputs, so that
        gradients read their sizes where they are, or a feed."""
        for ref in inputs:
            shapes = [emitter.shapes.get(ref) for emitter in (self._e, self._other)]
            if None in shapes or len(shapes[0]) != len(shapes[1]):
                continue
            for axis, (x, y) in enumerate(zip(*shapes)):
                law = Law.of((x, y), self._sizes) if x != y else None
                if law is not None and law.offset == 0 and law.slope.denominator == 1:
                    return ref, axis, law.slope
        return *self._feed, Fraction(1)

    def _node(self, op, inputs, **attrs):
        return self._e.node(op, "batch/" + op, inputs, **attrs)

    def _size(self, source, dtype):
        """The source's axis, which is the batch times something."""
        ref, axis, _ = source
        key = (ref, axis, dtype)
        if key not in self._known:
            shape = self._node("Shape", [ref], T=Dtype(self._e.dtypes[ref]), out_type=Dtype(dtype))
            limits = [self._e.ints([each]) for each in (axis, axis + 1, 1)]
            self._known[key] = self._node("StridedSlice", [shape, *limits], T=Dtype(dtype), Index=Dtype("int32"),
                                          shrink_axis_mask=1, **_STRIDED)
        return self._known[key]

    def _number(self, source, law, dtype):
        key = (*source, law, dtype)
        if key in self._known:
            return self._known[key]
        made, times = self._size(source, dtype), law.slope / source[2]
        for op, number, neutral in (("Mul", times.numerator, 1), ("FloorDiv", times.denominator, 1),
                                    ("AddV2", law.offset, 0)):
            if number != neutral:
                made = self._node(op, [made, self._e.const(number, dtype)], T=Dtype(dtype))
        self._known[key] = made
        return made

    def _fraction(self, name, dtype, x, y):
        """A number that grows with the batch, shrinks with it, or is n - 1, n / (n - 1) or 2 / (n - 1) of a count that does."""
        p, q = self._sizes

        def close(a, b):
            return math.isclose(a, b, rel_tol=1e-6 if dtype in ("float32", "float64") else 1e-2)

        inputs = self._e.nodes[name][1]
        if x and close(x / p, y / q):
            made = self._scaled("Mul", inputs, x / p)
        elif x and close(x * p, y * q):
            made = self._scaled("RealDiv", inputs, x * p)
        elif min(x, y) > 1 and close(x / (x - 1) / p, y / (y - 1) / q):
            count = self._scaled("Mul", inputs, round(x / (x - 1) / p))
            less = self._node("Sub", [count, self._e.const(1, _EXACT)], T=Dtype(_EXACT))
            made = self._node("RealDiv", [count, less], T=Dtype(_EXACT))
        elif (law := self._whole_law(x, y)) is not None:
            made = self._counted(inputs, law)
        elif x and y and (law := self._whole_law(2 / x, 2 / y)) is not None:
            made = self._node("RealDiv", [self._e.const(2, _EXACT), self._counted(inputs, law)], T=Dtype(_EXACT))
        else:
            self._refuse(name, f"it computes with {x} at a batch of {p}, with {y} at {q}")
        return self._cast(made, _EXACT, dtype)

    def _whole_law(self, x, y):
        """Of a count less some, as a deviation has it and the gradient of one twice its inverse."""
        whole = [round(x), round(y)]
        is_whole = all(math.isclose(a, b, rel_tol=1e-6) for a, b in zip(whole, (x, y)))
        return Law.of(whole, self._sizes) if is_whole else None

    def _counted(self, inputs, law):
        made = self._scaled("Mul", inputs, float(law.slope))
        return self._node("AddV2", [made, self._e.const(law.offset, _EXACT)], T=Dtype(_EXACT))

    def _scaled(self, op, inputs, number):
        """number * batch, or number / batch."""
        source = self._source(inputs)
        key = (*source, op, number)
        if key not in self._known:
            size = self._cast(self._size(source, "int32"), "int32", _EXACT)
            times = float(source[2])
            number = self._e.const(number / times if op == "Mul" else number * times, _EXACT)
            operands = [size, number] if op == "Mul" else [number, size]
            self._known[key] = self._node(op, operands, T=Dtype(_EXACT))
        return self._known[key]

    def _cast(self, ref, source, target):
        if source == target:
            return ref
        return self._node("Cast", [ref], SrcT=Dtype(source), DstT=Dtype(target))
