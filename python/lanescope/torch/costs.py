"""What an ATen op costs, for ops that are known by their cost alone."""

import json
import math

import torch
from torch.utils import _pytree as pytree
from torch.utils.flop_counter import flop_registry


def _tensors(tree):
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def cost_of(node):
    """FLOPs and bytes of one call: PyTorch's own count of products and convolutions, else one FLOP an element made;
    every operand read and every result written once, nothing for views."""
    operands = pytree.tree_map_only(torch.fx.Node, lambda each: each.meta.get("val"), (node.args, node.kwargs))
    made = _tensors(node.meta.get("val"))
    if torch.Tag.inplace_view in getattr(node.target, "tags", ()) or getattr(node.target, "is_view", False):
        return {"flops": 0, "bytes": 0}
    counter = flop_registry.get(getattr(node.target, "overloadpacket", None))
    if counter is not None:
        flops = counter(*operands[0], **operands[1], out_val=node.meta["val"])
    else:
        flops = sum(math.prod(tensor.shape) for tensor in made)
    sizes = [math.prod(tensor.shape) * tensor.element_size() for tensor in _tensors(operands) + made]
    return {"flops": int(flops), "bytes": sum(sizes)}


def cost_attr(node):
    return json.dumps(cost_of(node))
