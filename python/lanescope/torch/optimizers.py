"""PyTorch's optimizers as TensorFlow's update ops, with the same arithmetic."""

import torch

from lanescope.torch.graph_def import Dtype
from lanescope.torch.variables import Variable, slot_of
from lanescope.torch.wide_updates import WIDE, wide_adam, wide_sgd


def emit_updates(e, optimizer, gradients):
    """Nodes that update and nodes that initialize. `gradients`: (parameter, its Variable, its gradient)."""
    known = {torch.optim.SGD: _sgd, torch.optim.Adam: _adam, torch.optim.AdamW: _adam}
    emit = known.get(type(optimizer))
    if emit is None:
        names = ", ".join(each.__name__ for each in known)
        raise NotImplementedError(f"optimizer {type(optimizer).__name__} has no graph here; take one of {names}")
    groups = {parameter: group for group in optimizer.param_groups for parameter in group["params"]}
    wanted = [(groups[parameter], variable, gradient) for parameter, variable, gradient in gradients
              if parameter in groups]
    updates, inits = [], []
    e.scope = ""
    for number, group in enumerate(optimizer.param_groups):
        members = [(variable, gradient) for owner, variable, gradient in wanted if owner is group]
        if members:
            emit(e, group, members, f"optimizer/group{number}", updates, inits,
                 decoupled=isinstance(optimizer, torch.optim.AdamW))
    return updates, inits


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


def _sgd(e, group, members, scope, updates, inits, decoupled):
    _refuse(group, "maximize", "dampening")
    for variable, gradient in members:
        if variable.dtype == "bfloat16":
            slot = slot_of(e, f"{variable.handle}/momentum", variable) if group["momentum"] else None
            inits += [slot.init] if slot else []
            updates += wide_sgd(e, group, variable, slot, gradient)
            continue
        gradient = e.plain(_decayed(e, group, variable, gradient))
        rate = e.const(float(group["lr"]), variable.dtype)
        if not group["momentum"]:
            updates.append(_apply(e, "ResourceApplyGradientDescent", [variable.handle], [rate, gradient], variable))
            continue
        slot = slot_of(e, f"{variable.handle}/momentum", variable)
        inits.append(slot.init)
        momentum = e.const(group["momentum"], variable.dtype)
        updates.append(_apply(e, "ResourceApplyMomentum", [variable.handle, slot.handle], [rate, gradient, momentum],
                              variable, use_nesterov=bool(group["nesterov"])))


def _adam(e, group, members, scope, updates, inits, decoupled):
    """TensorFlow scales epsilon by the correction of the second moment, PyTorch does not: it is scaled beforehand."""
    _refuse(group, "maximize", "amsgrad")
    powers = {}
    applied = []
    for variable, gradient in members:
        dtype = WIDE if variable.dtype == "bfloat16" else variable.dtype
        decouples = decoupled or group.get("decoupled_weight_decay")
        if dtype not in powers:
            powers[dtype] = [Variable(e, f"{scope}/beta{i + 1}_power_{dtype}", dtype, (), e.const(beta, dtype))
                             for i, beta in enumerate(group["betas"])]
            inits += [power.init for power in powers[dtype]]
        slots = [slot_of(e, f"{variable.handle}/{name}", variable) for name in ("exp_avg", "exp_avg_sq")]
        inits += [slot.init for slot in slots]
        first, second = (power.read for power in powers[dtype])
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
    for dtype, pair in powers.items():
        for power, beta in zip(pair, group["betas"]):
            name = f"{power.handle}/Update"
            updates.append(power.assign(e.binary("Mul", power.read, e.scalar(beta, dtype)), name, applied))
