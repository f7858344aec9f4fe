# SPDX-License-Identifier: Apache-2.0
"""Updates of optimizers that no op of TensorFlow does: their own step, traced, as arithmetic beside the variable."""

import contextlib
import copy
import sys
from collections import defaultdict

import torch
from torch.func import functionalize
from torch.fx.experimental.proxy_tensor import make_fx

from lanescope.torch.adafactor import adafactor_step, fresh_state
from lanescope.torch.decompositions import table
from lanescope.torch.emitter import dtype_of
from lanescope.torch.translate import Translator
from lanescope.torch.variables import Variable, content_of, has_content

_ADAFACTOR = getattr(torch.optim, "Adafactor", ())  # since PyTorch 2.5


def counts_steps(optimizer, group):
    """Whether its arithmetic depends on the number of the step, and no tensor counts them."""
    counted = "capturable" in group or isinstance(optimizer, _ADAFACTOR)
    plain = (torch.optim.RMSprop, torch.optim.Adadelta, getattr(torch.optim, "Muon", torch.optim.RMSprop))
    return not counted and not isinstance(optimizer, plain) and (not isinstance(optimizer, torch.optim.Adagrad) or bool(group["lr_decay"]))


def _stepper(optimizer, group, parameter, state):
    made = copy.copy(optimizer)
    plain = {key: key == "capturable" for key in ("foreach", "fused", "capturable", "differentiable") if key in group}
    made.param_groups = [{**group, **plain, "params": [parameter]}]
    made.state = defaultdict(dict, {parameter: state} if state else {})
    return made


@contextlib.contextmanager
def _compiling():
    """As for torch.compile, an optimizer that can be captured takes the number of its step from a tensor."""
    before = torch.compiler.is_compiling
    torch.compiler.is_compiling = lambda: True
    try:
        yield
    finally:
        torch.compiler.is_compiling = before


def _step(optimizer, group, parameter, gradient, state):
    """The state after a step."""
    if isinstance(optimizer, _ADAFACTOR):
        with torch.no_grad():
            return adafactor_step(group, parameter, gradient, state or fresh_state(parameter))
    stepper = _stepper(optimizer, group, parameter, state)
    parameter.grad = gradient
    with torch.no_grad(), _compiling() if "capturable" in group else contextlib.nullcontext():
        stepper.step()
    parameter.grad = None
    return stepper.state[parameter]


def _first_values(optimizer, group, rank):
    """What the optimizer keeps begins as, by name, where that is not 0: a step on a small tensor that ends before it computes."""
    module, name = sys.modules[type(optimizer).__module__], type(optimizer).__name__.lower()
    computes = getattr(module, name, None)
    if "capturable" not in group or computes is None:
        return {}
    setattr(module, name, lambda *_, **__: None)
    try:
        small = torch.zeros((2,) * rank)
        state = _step(optimizer, group, small, torch.zeros_like(small), {})
    finally:
        setattr(module, name, computes)
    return {key: float(value.flatten()[0]) for key, value in state.items() if isinstance(value, torch.Tensor)}


def _blank(variable):
    return torch.zeros(variable.shape, dtype=getattr(torch, variable.dtype), device="meta")


def traced_update(e, optimizer, group, member):
    """Nodes that update a member of the group, and nodes that initialize what the optimizer keeps of it. Numbers that an
    optimizer takes from the number of the step stay those of the next one."""
    variable = member.variable
    kept = _step(optimizer, group, _blank(variable), _blank(variable), {})
    slots = {key: value for key, value in kept.items() if isinstance(value, torch.Tensor) and value.is_meta}
    others = {key: value for key, value in kept.items() if key not in slots}

    def function(parameter, gradient, *tensors):
        own = {key: value.clone() if isinstance(value, torch.Tensor) else value for key, value in others.items()}
        state, parameter = {**own, **dict(zip(slots, tensors))}, parameter.clone()
        state = _step(optimizer, group, parameter, gradient, state)
        return [parameter, *(state[key] for key in slots)]

    with _number_of_step(optimizer, member.steps() + 1):
        graph = make_fx(functionalize(function), decomposition_table=table(False))(
            _blank(variable), _blank(variable), *(torch.empty_like(value) for value in slots.values()))
    _drop_unused(graph.graph)
    first = {**_first_values(optimizer, group, len(variable.shape)), "sum": group.get("initial_accumulator_value", 0)}
    variables = [_slot(e, member, key, value, first.get(key, 0)) for key, value in slots.items()]
    values = [variable.read, member.gradient, *(slot.read for slot in variables)]
    nodes = [node for node in graph.graph.nodes if node.op == "placeholder"]
    with e.beside(variable.handle):
        translator = Translator(e, graph, zip(nodes, values), scope=f"{variable.handle}/Update")
        made = translator.run()
        updates = [owner.assign(e.cast(value, owner.dtype), "Assign") for owner, value in zip((variable, *variables), made)]
    return updates, [slot.init for slot in variables], translator.unknown


@contextlib.contextmanager
def _number_of_step(optimizer, number):
    """A trace knows no number that a tensor holds: the optimizer's module is told this one."""
    module = sys.modules[type(optimizer).__module__]
    before = getattr(module, "_get_value", None)
    if before is None:
        yield
        return
    module._get_value = lambda value: float(number)
    try:
        yield
    finally:
        module._get_value = before


def _drop_unused(graph):
    """What no result needs, as the count of steps."""
    needed, waiting = set(), [node for node in graph.nodes if node.op == "output"]
    while waiting:
        node = waiting.pop()
        if node not in needed:
            needed.add(node)
            waiting += node.all_input_nodes
    for node in reversed(list(graph.nodes)):
        if node not in needed and node.op != "placeholder":
            graph.erase_node(node)


def _slot(e, member, key, like, value):
    """`value`: of all its elements, unless the optimizer has some already."""
    name, dtype = f"{member.variable.handle}/{key}", dtype_of(like)
    present = member.state.get(key)
    if present is not None and has_content(present):
        first = e.tensor(content_of(present), name + "/Initializer/Const")
    else:
        first = e.fill(tuple(like.shape), value, dtype).ref if like.dim() else e.const(value, dtype)
    return Variable(e, name, dtype, like.shape, first, member.variable.handle)
