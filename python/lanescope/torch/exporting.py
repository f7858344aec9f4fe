# SPDX-License-Identifier: Apache-2.0
"""`export`: a PyTorch model as a graph that Lanescope places, simulates and runs."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from lanescope.torch.batch import BatchOpener, FixedBatchError, two_sizes
from lanescope.torch.capture import capture
from lanescope.torch.eager import initialize, left_out, plain_name, uncompiled, unwrapped
from lanescope.torch.emitter import Emitter, Value, dtype_of
from lanescope.torch.exported import FED, Exported
from lanescope.torch.graph_def import Dtype, Shape
from lanescope.torch.inputs import Inputs
from lanescope.torch.optimizers import emit_updates
from lanescope.torch.refusals import ExportError
from lanescope.torch.sharded import as_one
from lanescope.torch.translate import Translator
from lanescope.torch.variables import has_content, variable_of
from lanescope.torch.vocabulary import limit_of

VALUES_LIMIT = 1 << 30  # bytes of parameters that a graph file takes along
_SMALL_FLOATS = ("float16", "bfloat16")


def export(model: torch.nn.Module | torch.export.ExportedProgram | str, example_inputs: torch.Tensor | Iterable[torch.Tensor],
           optimizer: torch.optim.Optimizer | None = None, loss: Callable[..., torch.Tensor] | None = None, *,
           example_kwargs: Mapping[str, Any] | None = None, labels: torch.Tensor | Iterable[torch.Tensor] = (),
           keep_values: bool | None = None, batch_axis: int | Iterable[int | None] | None | str = "auto",
           before_update: Callable[[list[torch.Tensor]], Any] | None = None, fused: bool | None = None,
           fetch_outputs: bool = False) -> Exported:
    """Makes a graph of the inference of `model`, or of a step of its training.

    model           an nn.Module, an ExportedProgram, or the path of one (.pt2). Under FakeTensorMode or on the device "meta"
                    no memory is needed.
    example_inputs  a tensor or a tuple of them: what the model is called with. What is no tensor stays as it is.
    optimizer       of the model's parameters: SGD, Adam or AdamW; RMSprop, Adagrad, Adadelta and Muon are traced. With
                    it, or with `loss`, the graph holds gradients, and with it the updates.
    loss            called with what the model returns and `labels`; returns a scalar. Without it the model's `.loss`,
                    or what it returns first, is the loss.
    labels          a further example tensor or several, for `loss`.
    keep_values     whether the graph holds the values of parameters; None: where all have some, up to 1 GiB.

    batch_axis      which axis of the example tensors is the batch: one for all, or one each, with None for those that
                    have no batch. Shapes and numbers then follow the batch that is fed, and `data-parallel` and
                    `pipeline` share it out. "auto": 0 where all have as much there, with a note where the step is of
                    one size alone. None: the graph is of the examples' shapes.

    before_update   called with the parameters that have gradients, before the optimizer's step: as
                    lambda parameters: torch.nn.utils.clip_grad_norm_(parameters, 1.0).

    fused           whether ops stay as PyTorch runs them on GPUs: attention, norms, losses and updates are one op each,
                    known by its cost, and so are what graphs of TensorFlow have several nodes for. Such a graph is placed,
                    simulated and searched, not run. None: where the model has no values, as on the device "meta".
    fetch_outputs   whether a step of training fetches what the model returns, too, not the loss alone.

    What a training loop has and the graph has not is in `notes` of what is returned, and warned of.
    Raises ValueError where batch_axis is given and something depends on one size, where the model depends on values of
    tensors, and where it fails: one line names module and line. Raises NotImplementedError for another optimizer.

    Module paths are name scopes, the gradients' below "gradients". ATen ops without a counterpart among TensorFlow's
    become ops that are known by cost and shapes alone: such a graph is placed, simulated and searched, not run.
    """
    _check_arguments(example_inputs, optimizer)
    labels = (labels,) if isinstance(labels, torch.Tensor) else labels
    args = (example_inputs,) if isinstance(example_inputs, torch.Tensor) else tuple(example_inputs)
    inputs = Inputs(args, dict(example_kwargs or {}), tuple(labels), batch_axis)
    trains = optimizer is not None or loss is not None
    plain = unwrapped(model)
    with uncompiled(plain), as_one(plain):
        initialize(plain, inputs)
        if fused is None:
            fused = not all(map(has_content, [*plain.parameters(), *plain.buffers(), *inputs.tensors]))
        made = _Export(plain, keep_values, inputs, loss, trains, before_update, fused, fetch_outputs)
        exported = made.run(optimizer, must_open=batch_axis not in ("auto", None))
    exported.notes[:0] = left_out(model, plain, optimizer, trains)
    for note in exported.notes:
        warnings.warn(note, stacklevel=2)
    return exported


def _check_arguments(example_inputs, optimizer):
    if isinstance(example_inputs, Mapping):
        raise TypeError("example_inputs is a dictionary; give () here, and the dictionary as example_kwargs")
    is_tensor = isinstance(example_inputs, torch.Tensor)
    if not is_tensor and (isinstance(example_inputs, str) or hasattr(example_inputs, "__array__") or not isinstance(example_inputs, Iterable)):
        raise TypeError(f"example_inputs is a {type(example_inputs).__name__}; give a tensor, or a tuple of what the model is called with")
    if optimizer is not None and (isinstance(optimizer, type) or not hasattr(optimizer, "param_groups")):
        raise TypeError("optimizer is none of torch.optim; give one of the model's parameters: torch.optim.SGD(model.parameters(), 0.1)")


def node_name(name):
    return plain_name(name).replace(".", "/")


@dataclass
class _Translated:
    emitter: Emitter
    calls: list
    results: list  # the loss, if the step trains, and what the model returns
    rest: list  # gradients and buffers
    unknown: Counter


class _Export:
    def __init__(self, model, keep_values, inputs, loss, trains, before_update, fused, fetch_outputs):
        self._e, self._model, self._inputs, self._loss, self._trains = Emitter(), model, inputs, loss, trains
        self._before_update, self._fused, self._fetch_outputs = before_update, fused, fetch_outputs
        # A tied parameter has several names; it counts once, under the first.
        self._state = {**dict(model.named_parameters()), **dict(model.named_buffers())}
        first = {id(tensor): name for name, tensor in self._state.items()}
        names = [*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False)]
        self._tied = {plain_name(name): plain_name(first[id(tensor)]) for name, tensor in names if name not in self._state}
        if keep_values is None:
            tensors = self._state.values()
            keep_values = (all(map(has_content, tensors))
                           and sum(each.numel() * each.element_size() for each in tensors) <= VALUES_LIMIT)
        self._updates, self._notes, self._keep_values = [], [], keep_values
        norms, near = {path for path, module in model.named_modules() if "Norm" in type(module).__name__}, {}
        self._variables = {}
        for name, tensor in self._state.items():
            owner = name.rpartition(".")[0]
            first = near.get(owner, "") if owner in norms else ""  # a norm works where all of its tensors are
            self._variables[name] = variable_of(self._e, node_name(name), tensor, keep_values, first)
            near.setdefault(owner, self._variables[name].handle)
        self._run, self._feeds = {"init": [], "feeds": {}, "fetches": [], "targets": []}, {}

    def run(self, optimizer, must_open):
        """`must_open`: whether a graph of one batch alone is refused, not noted."""
        step = self._translate(must_open)
        calls, results, rest = step.calls, step.results, step.rest
        if step.emitter.draws:
            self._notes.append("what is drawn at random, as dropout, has other numbers than PyTorch's")
        if self._checks:
            self._notes.append("where the model asks whether its numbers are finite, they are taken to be")
        buffers = [name for name, _ in self._model.named_buffers()]
        wanted = [name for name, tensor in self._model.named_parameters() if self._trains and tensor.requires_grad]
        self._fetch_all(results)
        if self._kept:
            self._notes.append("tensors beside the model that the step changes, as those of a cache, are variables of the graph")
        owners = [self._variables[name] for name in buffers] + list(self._kept.values())
        for variable, value in zip(owners, rest[len(wanted):]):
            if value is not variable.read:
                self._run["targets"].append(variable.assign(value, f"{variable.handle}/Update"))
        inits = [variable.init for variable in (*self._variables.values(), *self._kept.values())]
        inits += self._train(optimizer, [(name, value) for name, value in zip(wanted, rest) if value is not None])
        self._notes += self._e.remarks
        if inits:
            self._run["init"] = [self._e.node("NoOp", "init", ["^" + name for name in inits])]
        roots = [*self._run["init"], *self._run["fetches"], *self._run["targets"]]
        sizes = {plain_name(name): tensor.numel() * tensor.element_size() for name, tensor in self._state.items()}
        modules = {plain_name(path): type(module).__name__ for path, module in self._model.named_modules()
                   if not hasattr(module, "_orig_mod")}
        needed = self._e.needed(roots)
        self._feed(needed)
        for call in calls:
            call.nodes = [name for name in call.nodes if name in needed]
        return Exported(self._e.serialize(needed), self._run, self._feeds,
                        step.unknown + self._e.unknown_updates, calls, modules,
                        self._updates, sizes, self._tied, self._notes)

    def _translate(self, must_open):
        """The step, for any batch where that can be."""
        inputs, before = self._inputs, self._e.fork()
        if inputs.batch:
            sizes = two_sizes(inputs.batch)
            try:
                made = [self._translate_for(size, self._e if size == sizes[0] else before.fork()) for size in sizes]
                feed = next((f"input_{number}", axis) for number, axis in enumerate(inputs.axes) if axis is not None)
                calls = made[0].calls
                BatchOpener(self._e, made[1].emitter, before.nodes, sizes, inputs.batch, feed, calls).run()
                for mine, other in zip(calls, made[1].calls):
                    mine.move_to(other, sizes, inputs.batch)
                self._run["batch_axis"] = {f"input_{number}": axis for number, axis in enumerate(inputs.axes)
                                           if axis is not None}
                return made[0]
            except FixedBatchError as problem:
                if must_open:
                    raise
                self._notes.append(str(problem))
            self._e.go_back_to(before)
        try:
            return self._translate_for(None, self._e)
        except ExportError as problem:
            if not inputs.batch or problem.by_values:
                raise
            raise ExportError(problem.where, problem.reason, "if the model keeps tensors from one call to the next, as a cache does, "
                              "give batch_axis=None: it was traced for another batch before") from None

    def _translate_for(self, batch, emitter):
        captured = self._capture(batch)
        values = [variable.read for variable in self._variables.values()]
        values += [self._placeholder(emitter, number, shape) for number, shape in enumerate(self._inputs.shapes(batch))]
        self._kept = {f"kept_{number}": variable_of(emitter, f"kept/{number}", tensor, True) for number, tensor in enumerate(captured.kept)}
        values += [variable.read for variable in self._kept.values()]
        nodes = [node for node in captured.graph.graph.nodes if node.op == "placeholder"]
        self._checks = captured.checks
        translator = Translator(emitter, captured.graph, zip(nodes, values), captured.calls, self._fused)
        self._limits = [limit_of(node) for node in nodes[len(self._variables):len(values) - len(self._kept)]]
        outputs = translator.run()
        return _Translated(emitter, captured.calls, outputs[:captured.results], outputs[captured.results:], translator.unknown)

    def _capture(self, batch):
        try:
            return capture(self._model, self._state, self._inputs, batch, self._loss, self._trains, self._before_update,
                           self._fused)
        except ExportError as problem:
            if problem.by_values or batch in (None, self._inputs.batch):
                raise
            raise FixedBatchError(f"the graph is of a batch of {self._inputs.batch} alone: {problem.where}: with one of {batch}: "
                                  f"{problem.reason}") from None

    def _fetch_all(self, results):
        results = results[:1] if self._trains and not self._fetch_outputs else results
        names = ["loss"] * self._trains + [f"output_{number}" for number in range(len(results))]
        self._run["fetches"] = [self._fetch(name, value) for name, value in zip(names, results)]
        if self._trains:
            self._run["loss"] = self._run["fetches"][0]

    def _placeholder(self, emitter, number, shape):
        dtype, fed = self._fed(number)
        name = emitter.node("Placeholder", f"input_{number}", dtype=Dtype(fed), shape=Shape(shape))
        return emitter.cast(emitter.remember(Value(name, fed, shape)), dtype)

    def _fed(self, number):
        """The dtype of an input, and that of what it is fed: files have no small floats."""
        tensor = self._inputs.tensors[number]
        dtype = dtype_of(tensor)
        return dtype, dtype if dtype == "float16" and not has_content(tensor) else FED.get(dtype, dtype)

    def _feed(self, needed):
        """Of the inputs that the step reads: their values, or how they are generated."""
        for number, tensor in enumerate(self._inputs.tensors):
            name = f"input_{number}"
            if name not in needed:
                self._run.get("batch_axis", {}).pop(name, None)
                continue
            fed = self._fed(number)[1]
            if has_content(tensor):
                self._feeds[name] = tensor.detach().cpu().to(getattr(torch, fed)).numpy()
            generator = "uniform" if "float" in fed else "integers"
            self._run["feeds"][name] = {"dtype": fed, "shape": list(tensor.shape), "generator": generator, "low": 0,
                                        "high": self._limits[number]}

    def _fetch(self, name, value):
        if value.dtype in _SMALL_FLOATS and not self._fused:  # no file of a fetch has them
            value = self._e.cast(value, "float32")
        return self._e.node("Identity", name, [self._e.plain(value)], T=Dtype(value.dtype)) + ":0"

    def _train(self, optimizer, gradients):
        """Updates as targets; returns what the optimizer's state begins with."""
        if optimizer is None:
            self._run["fetches"] += [self._fetch(f"gradients/{node_name(name)}", gradient)
                                     for name, gradient in gradients]
            return []
        before = set(self._e.nodes)
        updates, inits = emit_updates(self._e, optimizer, [(self._state[name], self._variables[name], gradient)
                                                           for name, gradient in gradients], self._keep_values,
                                      self._fused)
        if gradients and not updates:
            raise ExportError("the optimizer", "it has none of the model's parameters", "make it of model.parameters()")
        self._run["targets"] += updates
        self._updates = [name for name in self._e.nodes if name not in before]
        return inits
