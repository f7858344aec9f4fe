# SPDX-License-Identifier: Apache-2.0
"""PyTorch's optimizers as TensorFlow's update ops, with the same arithmetic."""

from dataclasses import dataclass

import torch

from lanescope.torch.emitter import Value
from lanescope.torch.graph_def import Dtype
from lanescope.torch.traced_updates import counts_steps, traced_update
from lanescope.torch.variables import Variable, has_content, slot_of
from lanescope.torch.wide_updates import WIDE, fused_update, wide_adam, wide_sgd


def emit_updates(e, optimizer, gradients, keep_values, fused):
    """Nodes that update and nodes that initialize. `gradients`: (parameter, its Variable, its gradient); `keep_values`:
    whether the optimizer's state begins as it is, not as that of a new one; `fused`: an update that no op of TensorFlow
    does is one op, known by its cost."""
    known = {torch.optim.SGD: _sgd, torch.optim.Adam: _adam, torch.optim.AdamW: _adam}
    emit = known.get(type(optimizer))
    groups = {parameter: group for group in optimizer.param_groups for parameter in group["params"]}
    wanted = [(groups[parameter], parameter, variable, gradient) for parameter, variable, gradient in gradients
              if parameter in groups]
    updates, inits = [], []
    e.scope = ""
    for number, group in enumerate(optimizer.param_groups):
        members = [_Member(variable, gradient, optimizer.state.get(parameter, {}) if keep_values else {})
                   for owner, parameter, variable, gradient in wanted if owner is group]
        if members and emit is None:
            _traced(e, optimizer, group, members, updates, inits)
        elif members:
            emit(e, group, members, f"optimizer/group{number}", updates, inits,
                 decoupled=isinstance(optimizer, torch.optim.AdamW), fused=fused)
    return updates, inits


@dataclass
class _Member:
    """A parameter of a group. `state`: what the optimizer has of it by now."""

    variable: Variable
    gradient: Value
    state: dict

    def slot(self, e, name, known):
        """A variable of the optimizer's; `known`: its name there."""
        return slot_of(e, f"{self.variable.handle}/{name}", self.variable, self.state.get(known))

    def steps(self):
        step = self.state.get("step", 0)
        return int(step) if not isinstance(step, torch.Tensor) or has_content(step) else 0


def _traced(e, optimizer, group, members, updates, inits):
    name = type(optimizer).__name__
    if counts_steps(optimizer, group):
        e.remarks.append(f"what {name} takes from the number of the step stays that of step {members[0].steps() + 1}")
    for member in members:
        try:
            mine, first, unknown = traced_update(e, optimizer, group, member)
        except Exception as problem:
            raise NotImplementedError(f"optimizer {name} has no graph here; take SGD, Adam, AdamW, Adafactor, RMSprop, Adagrad, "
                                      "Adadelta, Adamax, NAdam, RAdam, ASGD, Rprop or Muon") from problem
        updates += mine
        inits += first
        e.unknown_updates += unknown


def _refuse(group, *keys):
    for key in keys:
        if group.get(key):
            raise NotImplementedError(f"the optimizer's option '{key}' has no graph here; leave it out")


def _decayed(e, group, variable, gradient):
    if not group["weight_decay"]:
        return gradient
    decay = e.binary("Mul", variable.read, e.scalar(group["weight_decay"], variable.dtype))
    return e.binary("AddV2", gradient, decay)


def _apply(e, op, handles, inputs, variable, after=(), **attrs):
    control = ["^" + each for each in (variable.read.ref, *after)]
    return e.node(op, f"{variable.handle}/{op}", [*handles, *inputs, *control], T=Dtype(variable.dtype),
                  use_locking=False, **attrs)


def _sgd(e, group, members, scope, updates, inits, decoupled, fused):
    _refuse(group, "maximize", "dampening")
    for member in members:
        variable, gradient = member.variable, member.gradient
        slot = member.slot(e, "momentum", "momentum_buffer") if group["momentum"] else None
        inits += [slot.init] if slot else []
        if fused and (variable.dtype == "bfloat16" or group["weight_decay"]):
            updates.append(fused_update(e, variable, [slot] if slot else [], gradient))
            continue
        if variable.dtype == "bfloat16":
            updates += wide_sgd(e, group, variable, slot, gradient)
            continue
        gradient = e.plain(_decayed(e, group, variable, gradient))
        rate = e.const(float(group["lr"]), variable.dtype)
        if not group["momentum"]:
            updates.append(_apply(e, "ResourceApplyGradientDescent", [variable.handle], [rate, gradient], variable))
            continue
        momentum = e.const(group["momentum"], variable.dtype)
        updates.append(_apply(e, "ResourceApplyMomentum", [variable.handle, slot.handle], [rate, gradient, momentum],
                              variable, use_nesterov=bool(group["nesterov"])))


def _adam(e, group, members, scope, updates, inits, decoupled, fused):
    """TensorFlow scales epsilon by the correction of the second moment, PyTorch does not: it is scaled beforehand."""
    _refuse(group, "maximize", "amsgrad")
    powers = {}
    applied = []
    for member in members:
        variable, gradient = member.variable, member.gradient
        dtype = WIDE if variable.dtype == "bfloat16" else variable.dtype
        decouples = decoupled or group.get("decoupled_weight_decay")
        key = (dtype, member.steps())
        if key not in powers:
            suffix = "_".join([dtype, *[str(key[1])] * (key[1] > 0)])
            powers[key] = [Variable(e, f"{scope}/beta{i + 1}_power_{suffix}", dtype, (), e.const(beta ** (key[1] + 1), dtype))
                           for i, beta in enumerate(group["betas"])]
            inits += [power.init for power in powers[key]]
        slots = [member.slot(e, name, name) for name in ("exp_avg", "exp_avg_sq")]
        inits += [slot.init for slot in slots]
        first, second = (power.read for power in powers[key])
        if fused and (dtype != variable.dtype or group["weight_decay"]):
            applied.append(fused_update(e, variable, slots, gradient))
            continue
        if dtype != variable.dtype:
            applied += wide_adam(e, group, variable, slots, (first, second), gradient, decouples)
            continue
        after = []
        if decouples:
            if group["weight_decay"]:
                kept = e.scalar(1 - float(group["lr"]) * group["weight_decay"], dtype)
                after = [variable.assign(e.binary("Mul", variable.read, kept), f"{variable.handle}/Decay")]
        else:
            gradient = _decayed(e, group, variable, gradient)
        left = e.unary("Sqrt", e.binary("Sub", e.scalar(1, dtype), second))
        epsilon = e.binary("Mul", left, e.scalar(group["eps"], dtype))
        numbers = [float(group["lr"]), *group["betas"]]
        inputs = [first.ref, second.ref, *(e.const(each, dtype) for each in numbers), epsilon.ref, e.plain(gradient)]
        applied.append(_apply(e, "ResourceApplyAdam", [variable.handle, *(slot.handle for slot in slots)], inputs,
                              variable, after, use_nesterov=False))
    updates += applied
    for (dtype, _), pair in powers.items():
        for power, beta in zip(pair, group["betas"]):
            name = f"{power.handle}/Update"
            updates.append(power.assign(e.binary("Mul", power.read, e.scalar(beta, dtype)), name, applied))
