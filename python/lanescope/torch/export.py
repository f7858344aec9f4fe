"""`export`: a PyTorch model as a graph that Lanescope places, simulates and runs."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy
import torch

from lanescope.torch.capture import capture
from lanescope.torch.emitter import DTYPE_OF, Emitter, Value
from lanescope.torch.graph_def import Dtype, Shape
from lanescope.torch.optimizers import emit_updates
from lanescope.torch.translate import Translator
from lanescope.torch.variables import has_content, variable_of

VALUES_LIMIT = 1 << 30  # bytes of parameters that a graph file takes along
_SMALL_FLOATS = ("float16", "bfloat16")
_FED = {"float16": "float32", "bfloat16": "float32", "int8": "int32", "int16": "int32"}  # what no feed may be


@dataclass(repr=False)
class Exported:
    """A graph with its step. `graph_def`: the GraphDef's bytes; `run`: its run configuration; `feeds`: by name the
    values of the example inputs; `cost_only`: how often which ATen op stands for its cost, for want of a kernel;
    `calls`: the ATen ops of the step with the nodes that stand for them; `modules`: by path the class of every module;
    `parameters`: by name the bytes of every parameter and buffer; `tied`: by their further names the first ones of
    those that have several; `updates`: the optimizer's nodes."""

    graph_def: bytes
    run: dict
    feeds: dict = field(default_factory=dict)
    cost_only: Counter = field(default_factory=Counter)
    calls: list = field(default_factory=list)
    modules: dict = field(default_factory=dict)
    updates: list = field(default_factory=list)
    parameters: dict = field(default_factory=dict)
    tied: dict = field(default_factory=dict)

    def __repr__(self) -> str:
        by_cost = f", {sum(self.cost_only.values())} ops by cost alone" if self.cost_only else ""
        return f"<lanescope.torch.Exported: {len(self.graph_def)} bytes, {len(self.calls)} calls{by_cost}>"

    def run_without_files(self) -> dict[str, Any]:
        """The run configuration for who is given `feeds` as they are."""
        feeds = {name: feed for name, feed in self.run["feeds"].items() if feed}
        return dict(self.run, feeds=feeds)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes `path`, which should end in .pb, with its run configuration and the values fed beside it."""
        stem = os.path.splitext(path)[0]
        run = dict(self.run, feeds=dict(self.run["feeds"]))
        for name, values in self.feeds.items():
            file = f"{stem}.{name}.npy"
            numpy.save(file, values)
            run["feeds"][name] = {"file": os.path.basename(file)}
        with open(path, "wb") as out:
            out.write(self.graph_def)
        with open(stem + ".run.json", "w", encoding="utf-8") as out:
            json.dump(run, out, indent=2)
            out.write("\n")
        with open(stem + ".modules.json", "w", encoding="utf-8") as out:
            out.write(self.modules_json())

    def modules_json(self) -> str:
        """What turns placements into those of other libraries: modules, parameters with their further names, and the
        order in which modules work."""
        order = dict.fromkeys(call.module for call in self.calls if not call.module.startswith("gradients/"))
        return json.dumps({"modules": self.modules, "parameters": self.parameters, "tied": self.tied, "order": list(order)})


def export(model: torch.nn.Module, example_inputs: torch.Tensor | Iterable[torch.Tensor],
           optimizer: torch.optim.Optimizer | None = None, loss: Callable[..., torch.Tensor] | None = None, *,
           example_kwargs: Mapping[str, torch.Tensor] | None = None, labels: Iterable[torch.Tensor] = (),
           keep_values: bool | None = None) -> Exported:
    """Makes a graph of the inference of `model`, or of a step of its training.

    model           an nn.Module. Under FakeTensorMode or on the device "meta" no memory is needed.
    example_inputs  a tensor or a tuple of them: what the model is called with; their shapes are the graph's.
    optimizer       a torch.optim.SGD, Adam or AdamW of the model's parameters; with it, or with `loss`, the graph holds
                    gradients, and with it the updates.
    loss            called with what the model returns and `labels`; returns a scalar. Without it the model's `.loss`,
                    or what it returns first, is the loss.
    labels          further example tensors, for `loss`.
    keep_values     whether the graph holds the values of parameters; None: where all have some, up to 1 GiB.

    Module paths are name scopes, the gradients' below "gradients". ATen ops without a counterpart among TensorFlow's
    become ops that are known by cost and shapes alone: such a graph is placed, simulated and searched, not run.
    """
    inputs = (example_inputs,) if isinstance(example_inputs, torch.Tensor) else tuple(example_inputs)
    trains = optimizer is not None or loss is not None
    return _Export(model, keep_values, trains).run(inputs, dict(example_kwargs or {}), tuple(labels), loss,
                                                  optimizer)


class _Export:
    def __init__(self, model, keep_values, trains):
        self._e, self._model, self._trains = Emitter(), model, trains
        # A tied parameter has several names; it counts once, under the first.
        self._state = {**dict(model.named_parameters()), **dict(model.named_buffers())}
        first = {id(tensor): name for name, tensor in self._state.items()}
        names = [*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False)]
        self._tied = {name: first[id(tensor)] for name, tensor in names if name not in self._state}
        if keep_values is None:
            tensors = self._state.values()
            keep_values = (all(map(has_content, tensors))
                           and sum(each.numel() * each.element_size() for each in tensors) <= VALUES_LIMIT)
        self._updates = []
        self._variables = {name: variable_of(self._e, name.replace(".", "/"), tensor, keep_values)
                           for name, tensor in self._state.items()}
        self._run, self._feeds = {"init": [], "feeds": {}, "fetches": [], "targets": []}, {}

    def run(self, args, kwargs, labels, loss, optimizer):
        captured = capture(self._model, self._state, args, kwargs, labels, loss, self._trains)
        inputs = [variable.read for variable in self._variables.values()]
        inputs += [self._placeholder(number, tensor) for number, tensor in enumerate(captured.inputs)]
        nodes = [node for node in captured.graph.graph.nodes if node.op == "placeholder"]
        translator = Translator(self._e, captured.graph, zip(nodes, inputs), captured.calls)
        outputs = translator.run()
        buffers = [name for name, _ in self._model.named_buffers()]
        wanted = [name for name, tensor in self._model.named_parameters() if self._trains and tensor.requires_grad]
        results, rest = outputs[:captured.results], outputs[captured.results:]
        self._fetch_all(results)
        for name, value in zip(buffers, rest[len(wanted):]):
            variable = self._variables[name]
            if value is not variable.read:
                self._run["targets"].append(variable.assign(value, f"{variable.handle}/Update"))
        inits = [variable.init for variable in self._variables.values()]
        inits += self._train(optimizer, [(name, value) for name, value in zip(wanted, rest) if value is not None])
        if inits:
            self._run["init"] = [self._e.node("NoOp", "init", ["^" + name for name in inits])]
        roots = [*self._run["init"], *self._run["fetches"], *self._run["targets"]]
        sizes = {name: tensor.numel() * tensor.element_size() for name, tensor in self._state.items()}
        modules = {path: type(module).__name__ for path, module in self._model.named_modules()}
        needed = self._e.needed(roots)
        for call in captured.calls:
            call.nodes = [name for name in call.nodes if name in needed]
        return Exported(self._e.serialize(needed), self._run, self._feeds, translator.unknown, captured.calls, modules,
                        self._updates, sizes, self._tied)

    def _fetch_all(self, results):
        names = ["loss"] * self._trains + [f"output_{number}" for number in range(len(results))]
        self._run["fetches"] = [self._fetch(name, value) for name, value in zip(names, results)]
        if self._trains:
            self._run["loss"] = self._run["fetches"][0]

    def _placeholder(self, number, tensor):
        dtype = DTYPE_OF[tensor.dtype]
        fed = _FED.get(dtype, dtype)
        name = self._e.node("Placeholder", f"input_{number}", dtype=Dtype(fed), shape=Shape(tensor.shape))
        if has_content(tensor):
            self._feeds[name] = tensor.detach().cpu().to(getattr(torch, fed)).numpy()
            self._run["feeds"][name] = {}
        else:
            generator = "uniform" if fed.startswith("float") else "integers"
            self._run["feeds"][name] = {"dtype": fed, "shape": list(tensor.shape), "generator": generator, "low": 0,
                                        "high": 1}
        return self._e.cast(Value(name, fed, tensor.shape), dtype)

    def _fetch(self, name, value):
        if value.dtype in _SMALL_FLOATS:  # no file of a fetch has them
            value = self._e.cast(value, "float32")
        return self._e.node("Identity", name, [self._e.plain(value)], T=Dtype(value.dtype)) + ":0"

    def _train(self, optimizer, gradients):
        """Updates as targets; returns what the optimizer's state begins with."""
        if optimizer is None:
            self._run["fetches"] += [self._fetch(f"gradients/{name.replace('.', '/')}", gradient)
                                     for name, gradient in gradients]
            return []
        before = set(self._e.nodes)
        updates, inits = emit_updates(self._e, optimizer, [(self._state[name], self._variables[name], gradient)
                                                           for name, gradient in gradients])
        self._run["targets"] += updates
        self._updates = [name for name in self._e.nodes if name not in before]
        return inits
