"""From a captured graph to TensorFlow's ops, node by node."""

import operator
import re
from collections import Counter

import torch

from lanescope.torch.capture import call_number, module_path
from lanescope.torch.costs import cost_attr
from lanescope.torch.emitter import DTYPE_OF, Value, content_of
from lanescope.torch.graph_def import Dtype, Shape
from lanescope.torch.ops import RULES

_SCHEDULE_ONLY = {"memory_format", "layout", "device", "pin_memory", "non_blocking"}


def scope_of(path):
    """A module path ("gradients/layers.0.attention") as a scope that TensorFlow accepts."""
    return re.sub(r"[^A-Za-z0-9_.\-/]", "_", path).replace(".", "/").strip("/")


def _op_name(target):
    """A name for an op that TensorFlow has not: aten.native_group_norm.default is AtenNativeGroupNorm."""
    namespace, name = str(target).split(".")[:2]
    return "".join(word.capitalize() for word in re.split(r"[^A-Za-z0-9]+", f"{namespace}_{name}") if word)


class Translator:
    """Walks a captured graph. `unknown` counts the ops that cost, but do not run."""

    def __init__(self, emitter, graph, inputs, calls=()):
        self._e, self._graph, self._calls = emitter, graph, calls
        self._values = dict(inputs)  # fx node: Value, or a tuple of them
        self.unknown = Counter()

    def run(self):
        """Returns what the graph returns, as Values and None."""
        for node in self._graph.graph.nodes:
            if node.op == "output":
                return [self._values[each] if isinstance(each, torch.fx.Node) else None for each in node.args[0]]
            if node.op == "get_attr":
                tensor = getattr(self._graph, node.target)
                self._values[node] = Value(self._e.tensor(content_of(tensor)), DTYPE_OF[tensor.dtype], tensor.shape)
            elif node.op == "call_function":
                self._values[node] = self._call(node)
        raise ValueError("the captured graph returns nothing")

    def _call(self, node):
        args = torch.fx.node.map_arg(node.args, lambda each: self._values[each])
        if node.target is operator.getitem:
            return args[0][args[1]]
        kwargs = {key: torch.fx.node.map_arg(value, lambda each: self._values[each])
                  for key, value in node.kwargs.items() if key not in _SCHEDULE_ONLY}
        self._e.scope = scope_of(module_path(node))
        number = call_number(node)
        self._e.call = self._calls[number] if 0 <= number < len(self._calls) else None
        emit = RULES.get(str(node.target))
        made = emit(self._e, node, *args, **kwargs) if emit is not None else None
        if made is None:
            made = self._cost_only(node, args, kwargs)
        for value in made if isinstance(made, tuple) else (made,):
            if value is not None:
                self._e.remember(value)
        self._e.scope, self._e.call = "", None
        return made

    def _cost_only(self, node, args, kwargs):
        self.unknown[str(node.target)] += 1
        inputs = []

        def collect(tree):
            if isinstance(tree, Value):
                inputs.append(self._e.plain(tree))
            elif isinstance(tree, (list, tuple)):
                for each in tree:
                    collect(each)

        collect(args)
        collect(list(kwargs.values()))
        result = node.meta.get("val")
        made = list(result) if isinstance(result, (list, tuple)) else [result]
        tensors = [each for each in made if isinstance(each, torch.Tensor)]
        op = _op_name(node.target)
        name = self._e.node(op, op, inputs, _lanescope_cost=cost_attr(node),
                            _output_shapes=[Shape(each.shape) for each in tensors],
                            _output_types=[Dtype(DTYPE_OF[each.dtype]) for each in tensors],
                            _torch_op=str(node.target))
        numbers = iter(range(len(tensors)))
        values = [Value(f"{name}:{next(numbers)}", DTYPE_OF[each.dtype], each.shape)
                  if isinstance(each, torch.Tensor) else None for each in made]
        return tuple(values) if isinstance(result, (list, tuple)) else values[0]
