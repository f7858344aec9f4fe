# SPDX-License-Identifier: Apache-2.0
"""What a step is called with: tensors, which are fed, and whatever else, which stays as it is."""

import torch
from torch.utils import _pytree as pytree

from lanescope.torch.sharded import is_shared


def fake_of(mode, tensor):
    """The tensor without content, of this mode: a module that was copied (copy.deepcopy, as nn.TransformerEncoder does)
    under a FakeTensorMode has tensors of a mode of its own, and PyTorch mixes none (seen in 2.15)."""
    theirs = getattr(tensor, "fake_mode", None)
    if theirs is None and not is_shared(tensor):
        return mode.from_tensor(tensor)
    if theirs is mode:
        return tensor
    with mode:
        return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device)


class Inputs:
    """`tensors`: each once, in order; `axes`: by tensor its axis of the batch, or None; `batch`: its size, or None
    where the graph is of this size alone."""

    def __init__(self, args, kwargs, labels, batch_axis):
        self._leaves, self._spec = pytree.tree_flatten((args, kwargs, labels))
        found = [leaf for leaf in self._leaves if isinstance(leaf, torch.Tensor)]
        self.tensors = list({id(tensor): tensor for tensor in found}.values())  # labels are often the inputs again
        self.axes = self._axes(batch_axis)
        sizes = {tensor.shape[axis] for tensor, axis in zip(self.tensors, self.axes) if axis is not None}
        self.batch = sizes.pop() if len(sizes) == 1 else None

    def _axes(self, batch_axis):
        if batch_axis == "auto":
            shared = {tensor.shape[0] if tensor.dim() else None for tensor in self.tensors}
            return [0 if len(shared) == 1 and None not in shared else None] * len(self.tensors)
        axes = [batch_axis] * len(self.tensors) if batch_axis is None or isinstance(batch_axis, int) else list(batch_axis)
        if len(axes) != len(self.tensors):
            raise ValueError(f"batch_axis has {len(axes)} axes for {len(self.tensors)} tensors; give each its axis, or "
                             "None where it has no batch")
        for number, (tensor, axis) in enumerate(zip(self.tensors, axes)):
            if axis is not None and not 0 <= axis < tensor.dim():
                raise ValueError(f"batch_axis: input {number} has {tensor.dim()} axes, none of them is {axis}; give None "
                                 "where a tensor has no batch")
        sizes = [tensor.shape[axis] for tensor, axis in zip(self.tensors, axes) if axis is not None]
        if len(set(sizes)) > 1:
            raise ValueError(f"batch_axis: the inputs have batches of {', '.join(map(str, sizes))}; give a list of axes, "
                             "with None where a tensor has no batch")
        return axes

    def shapes(self, batch):
        """With a batch of this size; None: their own."""
        return [tuple(batch if batch is not None and number == axis else size for number, size in enumerate(tensor.shape))
                for tensor, axis in zip(self.tensors, self.axes)]

    def fakes(self, mode, batch):
        """The tensors without content, with a batch of this size; None: with their own."""
        made = []
        for tensor, shape in zip(self.tensors, self.shapes(batch)):
            fake = fake_of(mode, tensor)
            if fake.shape != shape:
                with mode:
                    fake = torch.empty(shape, dtype=fake.dtype, device=fake.device)
            made.append(fake)
        return made

    def call(self, tensors):
        """Arguments, keyword arguments and labels with these tensors in place of the own ones."""
        by_id = {id(own): other for own, other in zip(self.tensors, tensors)}
        return pytree.tree_unflatten([by_id.get(id(leaf), leaf) for leaf in self._leaves], self._spec)
