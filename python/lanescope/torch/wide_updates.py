# SPDX-License-Identifier: Apache-2.0
"""Updates of bfloat16 parameters. TensorFlow's update ops have none of these on GPUs, and neither the powers of Adam's betas
nor its epsilon are bfloat16 numbers. So they are arithmetic in float beside their variable, rounded once a step."""

import json
import math

from lanescope.torch.emitter import Value
from lanescope.torch.graph_def import Dtype, Shape

WIDE = "float32"
SIZES = {"bfloat16": 2, "float16": 2, "float32": 4, "float64": 8}


_FLOPS = {0: 2, 1: 4, 2: 12}  # an element, by what an optimizer keeps of it


def fused_update(e, variable, slots, gradient):
    """One op that reads the gradient and rewrites variable and slots, known by its cost; the assignment that tells
    graphs of an update costs nothing beside it."""
    count = math.prod(variable.shape)
    size = SIZES[variable.dtype]
    cost = {"flops": count * _FLOPS[len(slots)], "bytes": count * size * (3 + 2 * len(slots))}
    with e.beside(variable.handle):
        name = e.node("FusedUpdate", "FusedUpdate", [gradient.ref, *(each.handle for each in (variable, *slots)),
                                                     "^" + variable.read.ref],
                      _lanescope_cost=json.dumps(cost), _output_shapes=[Shape(variable.shape)],
                      _output_types=[Dtype(variable.dtype)])
        return variable.assign(Value(name, variable.dtype, variable.shape), "Assign",
                               _lanescope_cost=json.dumps({"ns": {"GPU": 0, "CPU": 0}, "flops": 0, "bytes": 0}))


def _scaled(e, value, number):
    return e.binary("Mul", value, e.scalar(float(number), WIDE))


def _write(e, variable, value):
    return variable.assign(e.cast(value, variable.dtype), "Assign")


def wide_sgd(e, group, variable, slot, gradient):
    """`slot`: of the momentum, or None."""
    updates = []
    with e.beside(variable.handle):
        before, step = e.cast(variable.read, WIDE), e.cast(e.in_order(gradient), WIDE)
        if group["weight_decay"]:
            step = e.binary("AddV2", step, _scaled(e, before, group["weight_decay"]))
        if slot is not None:
            kept = e.binary("AddV2", _scaled(e, e.cast(slot.read, WIDE), group["momentum"]), step)
            updates.append(_write(e, slot, kept))
            step = e.binary("AddV2", step, _scaled(e, kept, group["momentum"])) if group["nesterov"] else kept
        updates.append(_write(e, variable, e.binary("Sub", before, _scaled(e, step, group["lr"]))))
    return updates


def wide_adam(e, group, variable, slots, powers, gradient, decoupled):
    """`powers`: the betas to the number of the step, in float."""
    with e.beside(variable.handle):
        before, step = e.cast(variable.read, WIDE), e.cast(e.in_order(gradient), WIDE)
        decay = group["weight_decay"]
        if decay and decoupled:
            before = _scaled(e, before, 1 - float(group["lr"]) * decay)
        elif decay:
            step = e.binary("AddV2", step, _scaled(e, before, decay))
        moments = []
        for slot, beta, value in zip(slots, group["betas"], (step, e.binary("Mul", step, step))):
            moments.append(e.binary("AddV2", _scaled(e, e.cast(slot.read, WIDE), beta), _scaled(e, value, 1 - beta)))
        first, second = (e.binary("Sub", e.scalar(1, WIDE), power) for power in powers)
        root = e.unary("Sqrt", e.binary("RealDiv", moments[1], second))
        move = e.binary("RealDiv", moments[0], e.binary("AddV2", root, e.scalar(group["eps"], WIDE)))
        rate = e.binary("RealDiv", e.scalar(float(group["lr"]), WIDE), first)
        updates = [_write(e, slot, moment) for slot, moment in zip(slots, moments)]
        updates.append(_write(e, variable, e.binary("Sub", before, e.binary("Mul", move, rate))))
    return updates
