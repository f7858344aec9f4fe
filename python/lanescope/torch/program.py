# SPDX-License-Identifier: Apache-2.0
"""`read_program`: the program of a `.pt2` file as a graph, without PyTorch."""

from __future__ import annotations

import os
from collections import Counter

from lanescope.torch.archive import Archive, guarded
from lanescope.torch.emitter import Emitter, Value
from lanescope.torch.exported import FED, Exported
from lanescope.torch.graph_def import Dtype, Shape
from lanescope.torch.program_nodes import ProgramNodes
from lanescope.torch.translate import Translator, scope_of
from lanescope.torch.variables import Variable
from lanescope.torch.vocabulary import limit_of


def read_program(path: str | os.PathLike[str], *, fused: bool = False) -> Exported:
    """The inference that `torch.export.save` wrote to `path`, for the shapes of its example inputs.

    fused   as of `export`: ops stay as PyTorch runs them on GPUs, known by their costs.

    Needs NumPy, not PyTorch; nothing is unpickled. Inputs are generated, for a file has theirs as a pickle.
    Raises ValueError, in one line, where the file is damaged or has what no graph can: an update of a part of a tensor that
    is read afterwards, or weights that are pickled.
    """
    with guarded(path, "cannot be read"), Archive(path) as archive:
        module = archive.json_of("models/model.json")["graph_module"]
        weights = archive.tensors_of("data/weights", "model_weights_config.json")
        weights |= archive.tensors_of("data/constants", "model_constants_config.json")
        return _Reader(path, module, weights, fused).run()


class _Reader:
    def __init__(self, path, module, weights, fused):
        self._path, self._weights, self._fused, self._e = path, weights, fused, Emitter()
        self._nodes = ProgramNodes(path, module["graph"])
        self._specs = module["signature"]
        self._variables, self._inputs, self._fixed = {}, {}, {}

    def run(self):
        nodes, run = self._nodes, {"init": [], "feeds": {}, "fetches": [], "targets": []}
        values = {}
        for spec in self._specs["input_specs"]:
            self._add_input(spec, values)
        nodes.read()
        outputs, changed = self._outputs()
        nodes.returns([node for _, node in outputs] + list(changed.values()))
        translator = Translator(self._e, nodes, values.items(), nodes.calls, self._fused)
        made = translator.run()
        run["fetches"] = [self._fetch(number, value) for number, value in enumerate(made[:len(outputs)])]
        for name, value in zip(changed, made[len(outputs):]):
            variable = self._variables[name]
            if value is not variable.read:
                run["targets"].append(variable.assign(value, f"{variable.handle}/Update"))
        inits = [variable.init for variable in self._variables.values()]
        if inits:
            run["init"] = [self._e.node("NoOp", "init", ["^" + name for name in inits])]
        needed = self._e.needed([*run["init"], *run["fetches"], *run["targets"]])
        for name, (node, fed, shape) in self._inputs.items():
            if name in needed:
                run["feeds"][name] = {"dtype": fed, "shape": list(shape), "low": 0, "high": limit_of(node),
                                      "generator": "uniform" if "float" in fed else "integers"}
        for call in nodes.calls:
            call.nodes = [name for name in call.nodes if name in needed]
        return Exported(self._e.serialize(needed), run, {}, Counter(translator.unknown), nodes.calls, nodes.modules, [],
                        {name: len(self._weights[name].data) for name in self._variables}, {}, nodes.notes)

    def _add_input(self, spec, values):
        """The Value of a parameter, a buffer, a constant or an input of the program's."""
        kind, body = next(iter(spec.items()))
        if kind in ("constant_input", "token"):
            return
        if kind == "user_input":
            if "as_tensor" in body["arg"]:
                node = self._nodes.placeholder(body["arg"]["as_tensor"]["name"])
                values[node] = self._fed(node)
            return
        name = body["tensor_constant_name" if kind == "tensor_constant" else f"{kind}_name"]
        node, content = self._nodes.placeholder(body["arg"]["name"]), self._weights[name]
        meta = node.meta["val"]
        if (meta.dtype, meta.shape) != (content.dtype, content.shape):
            raise ValueError(f"'{name[:80]}' is {content.dtype} {list(content.shape)}, the program says {meta.dtype} {list(meta.shape)}")
        handle = scope_of(name)
        if kind == "tensor_constant":
            values[node] = Value(self._e.tensor(content, handle), content.dtype, content.shape)
            return
        first = self._e.tensor(content, handle + "/Initializer/Const")
        self._variables[name] = Variable(self._e, handle, content.dtype, content.shape, first)
        values[node] = self._variables[name].read

    def _fed(self, node):
        meta, name = node.meta["val"], f"input_{len(self._inputs)}"
        fed = FED.get(meta.dtype, meta.dtype)
        made = self._e.node("Placeholder", name, dtype=Dtype(fed), shape=Shape(meta.shape))
        self._inputs[made] = (node, fed, meta.shape)
        return self._e.cast(self._e.remember(Value(made, fed, meta.shape)), meta.dtype)

    def _outputs(self):
        """What the program returns, and by buffer what becomes of it."""
        outputs, changed = [], dict(self._nodes.written(self._variables_by_input()))
        for spec in self._specs["output_specs"]:
            kind, body = next(iter(spec.items()))
            if kind == "buffer_mutation":
                changed[body["buffer_name"]] = self._nodes.node_of(body["arg"]["name"])
            elif kind in ("user_output", "loss_output"):
                argument = body["arg"] if kind == "user_output" else {"as_tensor": body["arg"]}
                if "as_tensor" in argument:
                    outputs.append((kind, self._nodes.node_of(argument["as_tensor"]["name"])))
        return outputs, changed

    def _variables_by_input(self):
        return {spec["buffer"]["arg"]["name"]: spec["buffer"]["buffer_name"] for spec in self._specs["input_specs"] if "buffer" in spec}

    def _fetch(self, number, value):
        if value.dtype in ("float16", "bfloat16") and not self._fused:  # no file of a fetch has them
            value = self._e.cast(value, "float32")
        return self._e.node("Identity", f"output_{number}", [self._e.plain(value)], T=Dtype(value.dtype)) + ":0"
