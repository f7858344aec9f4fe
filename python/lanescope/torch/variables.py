# SPDX-License-Identifier: Apache-2.0
"""Parameters, buffers and the state of optimizers as resource variables."""

import torch

from lanescope.torch.emitter import DTYPE_OF, Value, content_of
from lanescope.torch.graph_def import Dtype, Shape


def has_content(tensor):
    return not tensor.is_meta and not isinstance(tensor, torch._subclasses.FakeTensor)


class Variable:
    """A variable, read once a step."""

    def __init__(self, emitter, name, dtype, shape, first, near=""):
        """`first`: reference of the first value. `near`: the handle of the variable that it lies beside."""
        self._e, self.dtype, self.shape = emitter, dtype, tuple(shape)
        self.handle = emitter.node("VarHandleOp", name, dtype=Dtype(dtype), shape=Shape(shape), container="",
                                   shared_name=name, **({"_class": [f"loc:@{near}"]} if near else {}))
        self.init = emitter.node("AssignVariableOp", name + "/Assign", [self.handle, first], dtype=Dtype(dtype))
        self.read = Value(emitter.node("ReadVariableOp", name + "/Read/ReadVariableOp", [self.handle],
                                       dtype=Dtype(dtype)), dtype, shape)

    def assign(self, value, name, after=(), **attrs):
        """Writes after the step has read, and after the nodes `after`."""
        control = ["^" + each for each in (self.read.ref, *after)]
        return self._e.node("AssignVariableOp", name, [self.handle, self._e.plain(value), *control],
                            dtype=Dtype(self.dtype), **attrs)


def variable_of(emitter, name, tensor, keep_values, near=""):
    """A variable that begins as `tensor`, or as zeros where that has no content. `near`: as of Variable."""
    dtype = DTYPE_OF[tensor.dtype]
    if keep_values and has_content(tensor):
        first = emitter.tensor(content_of(tensor), name + "/Initializer/Const")
    else:
        first = emitter.fill(tensor.shape, 0, dtype).ref
    return Variable(emitter, name, dtype, tensor.shape, first, near)


def slot_of(emitter, name, like, tensor=None):
    """What an optimizer keeps of the variable `like`: begins as `tensor`, or as zeros."""
    if tensor is not None and has_content(tensor):
        first = emitter.tensor(content_of(tensor.to(getattr(torch, like.dtype))), name + "/Initializer/Const")
    else:
        first = emitter.fill(like.shape, 0, like.dtype).ref
    return Variable(emitter, name, like.dtype, like.shape, first, like.handle)
