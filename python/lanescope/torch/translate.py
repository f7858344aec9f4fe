# SPDX-License-Identifier: Apache-2.0
"""From a captured graph to TensorFlow's ops, node by node."""

import itertools
import operator
import re
from collections import Counter

from lanescope.torch.costs import cost_attr
from lanescope.torch.emitter import Value, dtype_of
from lanescope.torch.graph_def import Dtype, Shape
from lanescope.torch.nodes import call_number, is_node, mapped, module_path
from lanescope.torch.ops import RULES
from lanescope.torch.variables import constant_of

_NO_KERNELS = {"Const", "Reshape", "Transpose"}  # a transposed tensor is read as such where costs alone are known
_SCHEDULE_ONLY = {"memory_format", "layout", "device", "pin_memory", "non_blocking"}


def scope_of(path):
    """A module path ("gradients/layers.0.attention") as a scope that TensorFlow accepts."""
    return re.sub(r"[^A-Za-z0-9_.\-/]", "_", path).replace(".", "/").strip("/")


def _op_name(target):
    """A name for an op that TensorFlow has not: aten.native_group_norm.default is AtenNativeGroupNorm."""
    namespace, name = str(target).split(".")[:2]
    return "".join(word.capitalize() for word in re.split(r"[^A-Za-z0-9]+", f"{namespace}_{name}") if word)


def _lacks_results(node, made):
    """Whether PyTorch's op makes more, and keeps it: as the places of the largest numbers of windows."""
    theirs = node.meta.get("val")
    return isinstance(made, tuple) and any(mine is None and other is not None
                                           for mine, other in zip(made, theirs))


def _causal_attr(node):
    """Of an attention whether later keys are hidden, which plans ask for."""
    arguments = [argument.name for argument in node.target._schema.arguments] if hasattr(node.target, "_schema") else []
    if "is_causal" not in arguments:
        return {}
    given = {**dict(zip(arguments, node.args)), **node.kwargs}
    return {"_torch_causal": bool(given.get("is_causal", False))}


class Translator:
    """Walks a captured graph. `fused`: an op that takes several nodes here becomes one that is known by its cost. `unknown`
    counts the ops that cost, but do not run."""

    def __init__(self, emitter, graph, inputs, calls=(), fused=False, scope=""):
        self._fused, self._scope = fused, scope  # of nodes without a module
        self._e, self._graph, self._calls = emitter, graph, calls
        self._values = emitter.sources = dict(inputs)  # fx node: Value, or a tuple of them
        self._gradients, self._last_gradient = set(), None  # fx nodes that depend on the loss, and what the last became
        self.unknown = Counter()

    def run(self):
        """Returns what the graph returns, as Values and None."""
        for node in self._graph.graph.nodes:
            if node.op == "output":
                return [self._values[each] if is_node(each) else None for each in node.args[0]]
            if node.op == "get_attr":
                held = getattr(self._graph, node.target)
                self._values[node] = constant_of(self._e, held) if hasattr(held, "shape") else None  # or a generator of random numbers
            elif node.op == "call_function":
                self._values[node] = self._call(node)
        raise ValueError("the captured graph returns nothing")

    def _value(self, leaf):
        return self._values[leaf] if is_node(leaf) else leaf

    def _call(self, node):
        args = mapped(self._value, node.args)
        if node.target is operator.getitem:
            if node.args[0] in self._gradients:
                self._gradients.add(node)
            return None if args[0] is None else args[0][args[1]]
        if args and args[0] is None and is_node(node.args[0]):
            return None  # of what no op here makes, as the places of the largest numbers of windows
        kwargs = {key: mapped(self._value, value)
                  for key, value in node.kwargs.items() if key not in _SCHEDULE_ONLY}
        self._e.scope = scope_of(module_path(node)) or self._scope
        number = call_number(node)
        self._e.call = self._calls[number] if 0 <= number < len(self._calls) else None
        is_gradient = self._is_gradient(node)
        self._e.after = None if is_gradient else self._wait_of(node)
        emit = RULES.get(str(node.target))
        before = len(self._e.nodes)
        made = self._by_rule(emit, node, args, kwargs) if emit is not None else None
        if made is None or (self._fused and (self._is_compound(before) or _lacks_results(node, made))):
            made = self._cost_only(node, args, kwargs)
        for value in made if isinstance(made, tuple) else (made,):
            if value is not None:
                self._e.remember(value)
        self._e.scope, self._e.call, self._e.after = self._scope, None, None
        if is_gradient:
            self._last_gradient = next((value.ref.split(":")[0] for value in (made if isinstance(made, tuple) else (made,))
                                        if value is not None), self._last_gradient)
        return made

    def _by_rule(self, emit, node, args, kwargs):
        try:
            return emit(self._e, node, *args, **kwargs)
        except ValueError as problem:  # a type that graphs have not, or two that do not fit
            where = self._e.call.where() if self._e.call is not None else f"node '{node.name}'"
            raise ValueError(f"{where}: {problem}") from None

    def _is_compound(self, before):
        """Whether several kernels were added: then they are left to nobody."""
        names = itertools.islice(reversed(self._e.nodes), len(self._e.nodes) - before)
        return sum(self._e.nodes[name][0] not in _NO_KERNELS for name in names) > 1

    def _is_gradient(self, node):
        """Whether it depends on the gradient of the loss, which is the first node that goes back."""
        first = not self._gradients and module_path(node).startswith("gradients/")
        found = first or any(each in self._gradients for each in node.all_input_nodes)
        if found:
            self._gradients.add(node)
        return found

    def _wait_of(self, node):
        """What goes back without a gradient, as what a checkpoint computes again, waits for the gradient before it."""
        return self._last_gradient if module_path(node).startswith("gradients/") else None

    def _cost_only(self, node, args, kwargs):
        self.unknown[str(node.target)] += 1
        inputs = []

        def collect(tree):
            if isinstance(tree, Value):
                inputs.append(tree.ref)
            elif isinstance(tree, (list, tuple)):
                for each in tree:
                    collect(each)

        collect(args)
        collect(list(kwargs.values()))
        result = node.meta.get("val")
        made = list(result) if isinstance(result, (list, tuple)) else [result]
        tensors = [each for each in made if hasattr(each, "element_size")]
        op = _op_name(node.target)
        name = self._e.node(op, op, inputs, _lanescope_cost=cost_attr(node),
                            _output_shapes=[Shape(each.shape) for each in tensors],
                            _output_types=[Dtype(dtype_of(each)) for each in tensors],
                            _torch_op=str(node.target), **_causal_attr(node))
        numbers = iter(range(len(tensors)))
        values = [Value(f"{name}:{next(numbers)}", dtype_of(each), each.shape)
                  if hasattr(each, "element_size") else None for each in made]
        return tuple(values) if isinstance(result, (list, tuple)) else values[0]
