# SPDX-License-Identifier: Apache-2.0
"""Calls of ATen ops, as a profile of the step shows them."""

from dataclasses import dataclass, field

from lanescope.torch.batch import at_batch


@dataclass
class Call:
    """A call of an ATen op: its name ("aten::addmm"), the shapes of its tensors, the module that it works for, its work
    and the line that calls it ("model.py:12"). `nodes`: those of the exported graph that stand for it."""

    op: str
    shapes: tuple
    module: str
    flops: int
    bytes: int
    line: str = ""
    nodes: list = field(default_factory=list)

    def move_to(self, other, sizes, batch):
        """Becomes the call for `batch`, of this one and `other`, of sizes[0] and sizes[1]."""
        def between(x, y):
            return x if x == y else at_batch((x, y), sizes, batch)

        self.shapes = tuple(tuple(map(between, *pair)) for pair in zip(self.shapes, other.shapes))
        self.flops, self.bytes = between(self.flops, other.flops), between(self.bytes, other.bytes)

    def where(self):
        return f"{self.op} of {owner_of(self.module)}" + (f" ({self.line})" if self.line else "")


def owner_of(path):
    """In words, of a module path ("gradients/layers.0")."""
    goes_back, path = path.startswith("gradients/"), path.removeprefix("gradients/")
    owner = {"": "the model", "loss": "the loss", "before_update": "before_update"}.get(path, f"module '{path}'")
    return ("the gradient of " if goes_back and path != "before_update" else "") + owner
