# SPDX-License-Identifier: Apache-2.0
"""A model's step as a graph of ATen ops: no view or update in place is left, and each op knows its module.

The step is traced twice: first with its modules and autograd, which leaves updates in place; then, node by node,
without those. make_fx copies what a node says of itself (`nn_module_stack`) to all that it becomes.
"""

import bisect
import contextlib
import functools
import inspect
import os
import sys
import warnings
from dataclasses import dataclass

import torch
from torch._functorch.eager_transforms import _wrap_functional_tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import functionalize
from torch.fx import traceback
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.utils.stateless import _reparametrize_module
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from lanescope.torch.calls import Call
from lanescope.torch.costs import cost_of
from lanescope.torch.decomposed.pooling import take_places
from lanescope.torch.decompositions import table
from lanescope.torch.eager import as_before, plain_name
from lanescope.torch.finite import FiniteChecks
from lanescope.torch.fused import fused_attention, on_host
from lanescope.torch.inputs import fake_of
from lanescope.torch.kept import take_kept
from lanescope.torch.nodes import MARK, call_number, module_path
from lanescope.torch.refusals import LIBRARIES, ExportError, line_of, quiet, reason_of, told
from lanescope.torch.sharded import precision_of

_LINES = {"record_stack_traces": True} if "record_stack_traces" in inspect.signature(make_fx).parameters else {}


@dataclass
class Captured:
    """graph: takes parameters, buffers and example inputs, flat and in this order; returns the loss, if the step
    trains, what the model returns, the gradients of the parameters that want one, and the buffers as they end."""

    graph: torch.fx.GraphModule
    results: int  # how many the loss and the model's outputs are
    calls: list  # of ATen ops in the order of the first trace: what a profile of the step shows
    kept: list  # tensors beside the model that the step changes: the graph's last inputs and outputs
    checks: bool  # whether the model asks if its numbers are finite


class _Modules:
    """Tells the tracer which module is at work, going forward and going back."""

    def __init__(self):
        self._marks = [(0, "")]  # (number of the next autograd node, module path), in order
        self._goes_back = False

    def enter(self, path):
        if self._goes_back:  # computed again for a gradient
            _set_path("gradients/" + path)
            return
        self._marks.append((torch.autograd._get_sequence_nr(), path))
        _set_path(path)

    @contextlib.contextmanager
    def named(self, model):
        stack, hooks = [""], []

        def enter(path):
            stack.append(path)
            self.enter(path)

        def leave():
            stack.pop()
            self.enter(stack[-1])

        for path, module in model.named_modules():
            path = plain_name(path)
            hooks.append(module.register_forward_pre_hook(lambda *_, path=path: enter(path)))
            hooks.append(module.register_forward_hook(lambda *_: leave()))
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def name_gradients(self, loss):
        """Lets every node of the backward pass say the module of the op that it derives. Returns whether one of them
        refuses gradients of some tensors alone, as reentrant checkpoints do."""
        numbers = [number for number, _ in self._marks]
        seen, waiting = set(), [loss.grad_fn]
        while waiting:
            node = waiting.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            waiting += [each for each, _ in node.next_functions]
            if node.name() != "torch::autograd::AccumulateGrad":
                path = self._marks[max(bisect.bisect_right(numbers, node._sequence_nr()) - 1, 0)][1]
                derived = node._sequence_nr()
                node.register_prehook(lambda *_, path=path, derived=derived: _set_path("gradients/" + path, derived))
        self._goes_back = True
        _set_path("gradients/loss")
        return any(node.name() == "CheckpointFunctionBackward" for node in seen)

    def leave_gradients(self):
        """What follows is made of whole gradients, as hooks and clipping are: strategies that split the batch add those
        up before."""
        self._goes_back = False
        _set_path("gradients/before_update")


def _set_path(path, derived=None, line=""):
    """`derived`: the number of the autograd node that goes back."""
    traceback.current_meta[MARK] = {"": (path, "", derived, line)}


class _LineMode(TorchFunctionMode):
    """Tells the tracer the line that calls an op. By itself it keeps those of functions named "forward" alone."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        path = next(iter(traceback.current_meta[MARK].values()))[0]
        _set_path(path, line=_line_at(sys._getframe(1)))
        return func(*args, **(kwargs or {}))


def _with_lines(function, *args):
    with _LineMode():
        return function(*args)


def _line_at(frame):
    """The innermost line of the user's own below `_with_lines`."""
    while frame is not None and frame.f_code is not _with_lines.__code__:
        if not frame.f_code.co_filename.startswith(("<", *LIBRARIES)):
            return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def _number_calls(graph):
    """What the second trace copies to all that a call becomes is its number too."""
    calls, lines = [], _Lines()
    for node in graph.graph.nodes:
        if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
            continue
        work = cost_of(node)
        tensors = pytree.tree_map_only(torch.fx.Node, lambda each: each.meta.get("val"), (node.args, node.kwargs))
        shapes = tuple(tuple(each.shape) for each in _tensors(tensors))
        path, line = module_path(node), lines.of(node)
        node.meta[MARK] = {"": (path, str(len(calls)))}
        op = str(node.target).rsplit(".", 1)[0].replace(".", "::", 1)
        calls.append(Call(op, shapes, path, work["flops"], work["bytes"], line))
    return calls


class _Lines:
    """The lines of the user's own that ops are of, told in the order of the trace. A gradient's is that of what it derives."""

    def __init__(self):
        self._by_number = {}  # of autograd nodes

    def of(self, node):
        mark = next(iter((node.meta.get(MARK) or {"": ()}).values()))
        derived, line = mark[2:] if len(mark) == 4 else (None, "")  # others than _set_path have two
        line = line or line_of(node.meta.get("stack_trace"))
        if derived is not None:
            return line or self._by_number.get(derived, "")
        if line:
            self._by_number.setdefault(node.meta.get("seq_nr"), line)  # what makes an autograd node is the first of its number
        return line


def _tensors(outputs):
    return [leaf for leaf in pytree.tree_leaves(outputs) if isinstance(leaf, torch.Tensor)]


def _loss_of(outputs):
    if getattr(outputs, "loss", None) is not None:
        return outputs.loss
    found = _tensors(outputs)
    if not found:
        raise ExportError("the model", "it returns no tensor that could be its loss", "return one, or give loss")
    return found[0]


class _Step:
    """The function that is traced. `state`: the model's tensors by name, each once; `wanted`: of each whether it wants a
    gradient, None for buffers."""

    def __init__(self, model, state, inputs, loss, wanted, trains, before_update):
        self._model, self._state, self._inputs, self._loss = model, state, inputs, loss
        self._wanted, self._trains, self._before_update = wanted, trains, before_update
        self._precision = precision_of(model)

    def __call__(self, *flat):
        state = [tensor.detach().requires_grad_(bool(wants) and self._trains)
                 for tensor, wants in zip(flat, self._wanted)]
        args, kwargs, labels = self._inputs.call(flat[len(state):])
        modules = _Modules()
        # Until the gradients are there: what is computed again going back needs the traced tensors too.
        own = {name: tensor.to(self._precision.get(name, tensor.dtype)) for name, tensor in zip(self._state, state)}
        with modules.named(self._model), _reparametrize_module(self._model, own, tie_weights=True):
            outputs = self._model(*args, **kwargs)
            buffers = [tensor for tensor, wants in zip(state, self._wanted) if wants is None]
            if not self._trains:
                if not _tensors(outputs):
                    raise ExportError("the model", "it returns no tensor", "return one")
                return [*_tensors(outputs), *buffers]
            modules.enter("loss")
            loss = _with_lines(self._loss, outputs, *labels) if self._loss is not None else _loss_of(outputs)
            if not isinstance(loss, torch.Tensor):
                raise ExportError("the loss", f"it is a {type(loss).__name__}", "return a tensor")
            if loss.dim() != 0:
                raise ExportError("the loss" if self._loss is not None else "the model",
                                  f"the loss must be a scalar, this one has the shape {tuple(loss.shape)}",
                                  "take its mean" if self._loss is not None else "give loss, which makes one of what the model returns")
            others = [tensor.detach() for tensor in _tensors(outputs) if tensor is not loss]
            gradients = self._gradients(modules, loss, state)
        return [loss.detach(), *others, *gradients, *buffers]

    def _gradients(self, modules, loss, state):
        wanted = [tensor for tensor in state if tensor.requires_grad]
        if not wanted:
            return []
        if not loss.requires_grad:
            raise ExportError("the loss", "it depends on no parameter that wants a gradient",
                              "look for detach(), no_grad() and whole numbers on the way to it")
        whole = modules.name_gradients(loss)
        first = torch.ones_like(loss)
        if whole:
            loss.backward(first)
            gradients = [tensor.grad for tensor in wanted]
        else:
            gradients = torch.autograd.grad(loss, wanted, first, allow_unused=True)
        modules.leave_gradients()
        owners = [tensor for tensor, wants in zip(self._state.values(), self._wanted) if wants]
        gradients = [_hooked(owner, gradient) for owner, gradient in zip(owners, gradients)]
        if self._before_update is None:
            return gradients
        for tensor, gradient in zip(wanted, gradients):
            tensor.grad = None if gradient is None else gradient.detach()
        with torch.no_grad():
            _with_lines(self._before_update, wanted)
        return [tensor.grad for tensor in wanted]


def _hooked(parameter, gradient):
    """What the parameter's own hooks make of its gradient."""
    for hook in (getattr(parameter, "_backward_hooks", None) or {}).values():
        changed = hook(gradient) if gradient is not None else None
        gradient = gradient if changed is None else changed
    return gradient


class _Functional(torch.fx.Interpreter):
    """Runs the first trace. An op that updates in place without saying so is replaced by one that says it."""

    def __init__(self, graph, calls):
        super().__init__(graph)
        self._calls = calls

    def run_node(self, node):
        try:
            return super().run_node(node)
        except Exception as problem:
            number = call_number(node)
            raise ExportError(self._calls[number].where() if number >= 0 else "the model", reason_of(problem)) from None

    def get_attr(self, target, args, kwargs):
        """A constant, which later ops may write to."""
        made = super().get_attr(target, args, kwargs)
        if not isinstance(made, torch.Tensor) or torch._is_functional_tensor(made):
            return made
        return _wrap_functional_tensor(made, torch._C._functorch.peek_interpreter_stack().level())

    def call_function(self, target, args, kwargs):
        if target is torch.ops.aten.native_batch_norm.default:
            target = torch.ops.aten._native_batch_norm_legit.default
            if args[3] is None:  # as norms of instances, which keep no statistics
                target, args = torch.ops.aten._native_batch_norm_legit.no_stats, (*args[:3], *args[5:])
        return super().call_function(target, args, kwargs)


def capture(model, state, inputs, batch, loss, trains, before_update=None, fused=False):
    """`state`: by name every parameter and buffer once; those that want no gradient as they are. `batch`: traced with one
    of this size; None: with that of `inputs`. `before_update`: called with parameters that have gradients. `fused`: ops stay as PyTorch runs them."""
    parameters = dict(model.named_parameters())
    wanted = [parameters[name].requires_grad if name in parameters else None for name in state]
    mode = next((each.fake_mode for each in [*state.values(), *inputs.tensors] if hasattr(each, "fake_mode")), None)
    mode = mode or FakeTensorMode(allow_non_fake_inputs=True)
    fakes = [fake_of(mode, each) for each in state.values()]
    fakes += inputs.fakes(mode, batch)
    if fused:
        fakes = [on_host(mode, each) for each in fakes]
    step = _Step(model, state, inputs, loss, wanted, trains, before_update)
    with contextlib.ExitStack() as stack:
        stack.enter_context(fused_attention() if fused else sdpa_kernel(SDPBackend.MATH))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer versions warn of flags that nobody set
            stack.enter_context(torch.backends.mkldnn.flags(enabled=False))
        stack.enter_context(traceback.preserve_node_meta())
        stack.enter_context(torch.set_grad_enabled(trains))
        stack.enter_context(mode)
        with as_before(model), FiniteChecks() as checks, told(checks):
            graph = make_fx(step, **_LINES)(*fakes)
        traceback.current_meta.pop(MARK, None)
        kept = take_kept(graph, functools.partial(fake_of, mode))
        if kept and batch is not None:
            raise ExportError("the model", "the step changes a tensor beside the model, which has the sizes of this batch alone")
        fakes += [fake_of(mode, each) for each in kept]
        calls = _number_calls(graph)
        if not fused:
            take_places(graph)
        stack.enter_context(torch.no_grad())
        with quiet():
            graph = make_fx(functionalize(_Functional(graph, calls).run), decomposition_table=table(fused))(*fakes)
    made = next(node for node in graph.graph.nodes if node.op == "output").args[0]
    others = sum(each is True for each in wanted) * trains + sum(each is None for each in wanted) + len(kept)
    return Captured(graph, len(made) - others, calls, kept, checks.asked)
