# SPDX-License-Identifier: Apache-2.0
"""Parameters, buffers and the state of optimizers as resource variables."""

from lanescope.torch.emitter import Value, dtype_of
from lanescope.torch.graph_def import Content, Dtype, Shape

# Types that NumPy has not go as integers of their width.
_BITS = {"bfloat16": "int16", "float8_e4m3fn": "int8", "float8_e5m2": "int8"}


def content_of(tensor):
    """A torch tensor as the attribute of a Const."""
    import torch

    tensor = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    tensor, dtype = tensor.detach().contiguous().cpu(), dtype_of(tensor)
    return Content(dtype, tensor.shape, tensor.view(getattr(torch, _BITS.get(dtype, dtype))).numpy().tobytes())


def constant_of(emitter, tensor):
    """One that a model makes in its step. On the device "meta" it is as good as empty."""
    if has_content(tensor):
        return Value(emitter.tensor(content_of(tensor)), dtype_of(tensor), tensor.shape)
    return emitter.fill(tensor.shape, 0, dtype_of(tensor))


def has_content(tensor):
    """Whether its numbers are known: of one that is shared out over processes, a part of them is."""
    mesh = getattr(tensor, "device_mesh", None)
    return not (tensor.is_meta or hasattr(tensor, "fake_mode") or (mesh is not None and mesh.size() > 1))


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
    dtype = dtype_of(tensor)
    if keep_values and has_content(tensor):
        first = emitter.tensor(content_of(tensor), name + "/Initializer/Const")
    else:
        first = emitter.fill(tensor.shape, 0, dtype).ref
    return Variable(emitter, name, dtype, tensor.shape, first, near)


def slot_of(emitter, name, like, tensor=None):
    """What an optimizer keeps of the variable `like`: begins as `tensor`, or as zeros."""
    if tensor is not None and has_content(tensor):
        import torch

        first = emitter.tensor(content_of(tensor.to(getattr(torch, like.dtype))), name + "/Initializer/Const")
    else:
        first = emitter.fill(like.shape, 0, like.dtype).ref
    return Variable(emitter, name, like.dtype, like.shape, first, like.handle)
