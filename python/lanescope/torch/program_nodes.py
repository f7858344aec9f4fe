# SPDX-License-Identifier: Apache-2.0
"""The nodes of a program that torch.export saved, as far as the translation asks PyTorch's own."""

import math
import operator
import os
import re

from lanescope.torch.archive import DTYPE_OF, SIZE_LIMIT, ProgramError, number_of
from lanescope.torch.calls import Call
from lanescope.torch.costs import cost_of
from lanescope.torch.nodes import MARK, is_node, mapped

_VIEWS = set("""alias as_strided chunk contiguous detach diagonal dropout expand expand_as flatten lift_fresh movedim narrow numpy_T
permute reshape select slice split split_with_sizes squeeze swapaxes swapdims t to transpose unbind unflatten unfold unsqueeze view
view_as _unsafe_view feature_dropout alpha_dropout""".split())  # what may be the memory of their first operand
_SAME = {"detach_": "detach", "lift_fresh": "alias", "lift_fresh_copy": "clone"}
_CHECKS = {"_assert_tensor_metadata", "_assert_async", "_assert_scalar", "sym_constrain_range", "sym_constrain_range_for_size", "sym_size",
           "sym_numel", "sym_stride", "_functional_assert_async", "_functional_sym_constrain_range"}
_WRAPPERS = {"wrap_with_set_grad_enabled": 2, "wrap_with_autocast": 5}  # how many operands come before the graph's own
_AXES_LIMIT, _NODES_LIMIT = 64, 1 << 22
_BYTES_OF = {"float8": 1, "bfloat16": 2, "float16": 2, "int16": 2, "float32": 4, "int32": 4}


class Meta:
    """A tensor without content. Strides are in elements."""

    def __init__(self, entry):
        self.dtype, self.shape = DTYPE_OF[entry["dtype"]], tuple(map(number_of, entry["sizes"]))
        self._strides, self._offset = tuple(map(number_of, entry["strides"])), number_of(entry["storage_offset"])
        if len(self.shape) > _AXES_LIMIT or math.prod(self.shape) > 1 << 50:
            raise ValueError(f"a tensor of shape {list(self.shape)}")

    def element_size(self):
        name = "float8" if self.dtype.startswith("float8") else self.dtype
        return _BYTES_OF.get(name, 8 if name.endswith("64") else 1)

    def stride(self):
        return self._strides

    def storage_offset(self):
        return self._offset

    def dim(self):
        return len(self.shape)

    def lies_as(self, other):
        """Whether it has the same elements of one memory in the same order."""
        return (self.shape, self._strides, self._offset) == (other.shape, other._strides, other._offset)


class Target(str):
    """An op: "aten.addmm.default"."""

    @property
    def base(self):
        return self.split(".")[1]

    @property
    def is_view(self):
        return self.base in _VIEWS

    @property
    def __name__(self):
        return self.partition(".")[2]


class Node:
    def __init__(self, op, target, args=(), kwargs=None, val=None, mark=""):
        self.op, self.target, self.args, self.kwargs, self.users = op, target, args, kwargs or {}, {}
        self.meta = {"val": val, MARK: {"": (mark, "")}}
        self.all_input_nodes = []
        mapped(lambda leaf: self.all_input_nodes.append(leaf) if is_node(leaf) else None, (args, self.kwargs))
        for each in self.all_input_nodes:
            each.users[self] = None


class ProgramNodes:
    """`graph.nodes` are in order, as of a torch.fx.GraphModule; `calls`: the ops that cost; `modules`: by path their classes."""

    def __init__(self, path, graph):
        self._path, self._json, self.graph, self.nodes = path, graph, self, []
        self.calls, self.modules, self.notes = [], {}, []
        self._now, self._at_first = {}, {}  # by name the node that a tensor is
        self._groups = {}  # by name the tensors of one memory
        self._last_use, self._metas = {}, {}

    def placeholder(self, name):
        node = Node("placeholder", name, val=Meta(self._json["tensor_values"][name]))
        self._metas[name] = node.meta["val"]
        self.nodes.append(node)
        self._now[name] = self._at_first[name] = node
        return node

    def node_of(self, name):
        return self._now[name]

    def written(self, names):
        """By `names` of inputs, what those are that the program writes."""
        return {called: self._now[name] for name, called in names.items() if self._now.get(name) is not self._at_first.get(name)}

    def returns(self, nodes):
        self.nodes.append(Node("output", "output", (tuple(nodes),)))

    def read(self):
        if any("as_expr" in size for entry in self._json["tensor_values"].values() for size in entry["sizes"]):
            self.notes.append("the graph is of the example's sizes alone; lanescope.torch.export with PyTorch leaves the batch open")
        self._read(self._json)

    def _read(self, graph):
        for number, entry in enumerate(graph["nodes"]):
            for name in re.findall(r"'as_tensors?': (.*?})", str(entry["inputs"])):
                for each in re.findall(r"'name': '([^']*)'", name):
                    self._last_use[each] = (id(graph), number)
        for number, entry in enumerate(graph["nodes"]):
            self._add(graph, number, entry)

    def _add(self, graph, number, entry):
        full = entry["target"]
        if "higher_order." in full:
            self._inline(graph, entry, full.rsplit(".", 1)[1])
            return
        if not full.startswith("torch.ops."):  # arithmetic of sizes, which are known
            return
        target = Target(full.removeprefix("torch.ops."))
        if target.base in _CHECKS:
            return
        if len(self.nodes) > _NODES_LIMIT:
            raise ProgramError(f"{self._path}: has more than {_NODES_LIMIT} nodes")
        writes = target.base.endswith("_") and not target.base.startswith("__") and target.base not in _SAME
        name = _SAME.get(target.base, target.base.removesuffix("_") if writes else target.base)
        target = Target(".".join([target.split(".")[0], name, *target.split(".")[2:]]))
        given = [(each["name"], self._argument(graph, each["arg"]), each.get("kind", 1)) for each in entry["inputs"]]
        args = tuple(value for _, value, kind in given if kind != 2)
        kwargs = {name: value for name, value, kind in given if kind == 2}
        names, val = self._results(graph, entry)
        node = self._called(target, args, kwargs, val, entry.get("metadata", {}))
        parts = [node]
        if isinstance(val, tuple):
            parts = [Node("call_function", operator.getitem, (node, position), val=each) for position, each in enumerate(val)]
            self.nodes += parts
        self._now.update((name, part) for name, part in zip(names, parts) if name)
        self._metas.update((name, part.meta["val"]) for name, part in zip(names, parts) if name)
        first = _tensor_name(entry["inputs"])
        if writes:
            self._write(graph, number, first, node)
        if (writes or target.is_view) and first is not None:
            group = self._groups.setdefault(first, {first})
            for each in filter(None, names):
                group.add(each)
                self._groups[each] = group

    def _called(self, target, args, kwargs, val, metadata):
        stack = [each.split(",") for each in metadata.get("nn_module_stack", "").split(";") if each.count(",") >= 2]
        self.modules.update((path, kind.rpartition(".")[2]) for _, path, kind in (each[:3] for each in stack))
        node = Node("call_function", target, args, kwargs, val, stack[-1][1] if stack else "")
        work = cost_of(node)
        node.meta[MARK] = {"": (stack[-1][1] if stack else "", str(len(self.calls)))}
        shapes = tuple(each.meta["val"].shape for each in node.all_input_nodes if isinstance(each.meta["val"], Meta))
        line = re.search(r'File "([^"]+)", line (\d+)', metadata.get("stack_trace", ""))
        self.calls.append(Call("::".join(target.split(".")[:2]), shapes, node.meta[MARK][""][0], work["flops"], work["bytes"],
                               f"{os.path.basename(line[1])}:{line[2]}" if line else ""))
        self.nodes.append(node)
        return node

    def _write(self, graph, number, name, node):
        """What is written is from now on what the op makes; a view of it that is read later would have to change, too."""
        if name is None:
            return
        for other in self._groups.get(name, {name}) - {name}:
            where, last = self._last_use.get(other, (None, -1))
            same = self._metas[other].lies_as(self._metas[name])
            if (other in self._at_first or (where == id(graph) and last > number)) and not same:
                raise ProgramError(f"{self._path}: {node.target} writes a part of a tensor that is read afterwards; save "
                                   "program.run_decompositions() in place of the program")
            if same:
                self._now[other] = node
        self._now[name] = node

    def _inline(self, graph, entry, wrapper):
        if wrapper not in _WRAPPERS:
            raise ProgramError(f"{self._path}: {wrapper[:80]} is a part of the program, which is not read; export it with PyTorch")
        first = _WRAPPERS[wrapper]
        inputs = [each["arg"] for each in entry["inputs"]]
        place = next(number for number, each in enumerate(inputs) if "as_graph" in each)
        if place + 1 < first or (wrapper == "wrap_with_autocast" and inputs[2].get("as_bool") is True):
            raise ProgramError(f"{self._path}: autocast is a part of the program, which is not read; export it with PyTorch")
        inner = inputs[place]["as_graph"]["graph"]
        for mine, outer in zip(inner["inputs"], inputs[place + 1:]):
            if "as_tensor" in mine:
                names = mine["as_tensor"]["name"], outer["as_tensor"]["name"]
                self._now[names[0]], self._metas[names[0]] = self._now[names[1]], self._metas[names[1]]
        self._read(inner)
        made = [each["as_tensor"]["name"] for each in inner["outputs"]]
        names = [each["name"] for output in entry["outputs"] for each in (output["as_tensors"] if "as_tensors" in output else [output["as_tensor"]])]
        self._now.update({name: self._now[inside] for name, inside in zip(names, made)})
        self._metas.update({name: self._metas[inside] for name, inside in zip(names, made)})

    def _results(self, graph, entry):
        """Names of what an op makes, and its tensors: one, or a tuple."""
        names, several = [], len(entry["outputs"]) != 1
        for output in entry["outputs"]:
            kind, body = next(iter(output.items()))
            if kind == "as_tensors":
                names += [each["name"] for each in body]
                several = True
            elif kind == "as_tensor":
                names.append(body["name"])
            else:
                names.append(None)
        metas = [Meta(graph["tensor_values"][name]) if name else None for name in names]
        return names, tuple(metas) if several else metas[0]

    def _argument(self, graph, argument):
        kind, body = next(iter(argument.items()))
        if kind in ("as_tensor", "as_optional_tensor"):
            return self._optional(body)
        if kind in ("as_tensors", "as_optional_tensors"):
            return [self._optional(each) for each in body]
        if kind in ("as_sym_int", "as_sym_float", "as_sym_bool"):
            return self._symbol(graph, body)
        if kind in ("as_sym_ints", "as_sym_floats"):
            return [self._symbol(graph, each) for each in body]
        if kind == "as_scalar_type":
            return DTYPE_OF[body]
        if kind in ("as_none", "as_layout", "as_memory_format", "as_device"):
            return None
        if kind in ("as_int", "as_float", "as_bool", "as_string", "as_ints", "as_floats", "as_bools", "as_strings"):
            numbers = body if isinstance(body, list) else [body]
            if not all(isinstance(each, (int, float, str)) for each in numbers):
                raise TypeError(f"an argument of {type(body).__name__}")
            return body
        raise ValueError(f"an argument of the kind {kind[:80]}")

    def _optional(self, body):
        body = body.get("as_tensor", body)
        return None if "as_none" in body else self._now[body["name"]]

    def _symbol(self, graph, body):
        if "as_name" not in body:
            return next(iter(body.values()))
        known = {**graph.get("sym_float_values", {}), **graph.get("sym_bool_values", {}), **graph["sym_int_values"]}[body["as_name"]]
        if "as_expr" in known:
            known = known["as_expr"]["hint"]
        value = next(iter(known.values()))
        if not isinstance(value, (int, float)) or abs(value) > SIZE_LIMIT:
            raise ValueError(f"a size of {str(value)[:80]}")
        return value


def _tensor_name(inputs):
    first = inputs[0]["arg"] if inputs else {}
    return first["as_tensor"]["name"] if "as_tensor" in first else None
