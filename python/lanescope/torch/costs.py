# SPDX-License-Identifier: Apache-2.0
"""What an ATen op costs: FLOPs by definition, and every operand read and every result written once."""

import json
import math

from lanescope.torch.nodes import is_node, mapped


def _tensors(tree):
    found = []
    mapped(lambda leaf: found.append(leaf) if hasattr(leaf, "element_size") else None, tree)
    return found


def _product(a, b):
    """Of matrices, or of as many pairs of them: two FLOPs a multiplication and addition."""
    return 2 * math.prod(a.shape) * b.shape[-1]


def _grouped_product(a, b, *_, **__):
    """Of rows that are shared out over groups (a's, of matrices b), or sums over such rows."""
    if a.dim() == 2:
        return 2 * math.prod(a.shape) * b.shape[-1]
    return 2 * math.prod(b.shape) * a.shape[-2] if b.dim() == 2 else _product(a, b)


def _convolution(x, weight, made, transposed):
    """Each element of the smaller side meets a whole filter."""
    return 2 * math.prod((x if transposed else made).shape) * math.prod(weight.shape[1:])


def _convolution_backward(gradient, x, weight, *rest, **__):
    transposed, wanted = rest[4], rest[7]
    return sum(wanted[:2]) * _convolution(x, weight, gradient, transposed)


def _attention(q, k, v):
    """Scores of all pairs of positions, and means of values by them."""
    rows = math.prod(q.shape[:-1]) * k.shape[-2]
    return 2 * rows * (q.shape[-1] + v.shape[-1])


def _attention_backward(q, k, v):
    """Scores again, then the gradients of scores, queries, keys and values."""
    rows = math.prod(q.shape[:-1]) * k.shape[-2]
    return 2 * rows * (3 * q.shape[-1] + 2 * v.shape[-1])


def _flops(name, args, made):
    """By the op's name; None: one FLOP an element made."""
    if name in ("mm", "bmm", "_int_mm", "_scaled_mm"):
        return _product(*args[:2])
    if name in ("addmm", "baddbmm", "addbmm", "_addmm_activation"):
        return _product(*args[1:3])
    if name in ("_grouped_mm", "_scaled_grouped_mm", "grouped_mm_fallback"):
        return _grouped_product(*args)
    if name in ("convolution", "_convolution"):
        return _convolution(args[0], args[1], made, args[6])
    if name in ("cudnn_convolution", "mkldnn_convolution"):
        return _convolution(args[0], args[1], made, False)
    if name == "convolution_backward":
        return _convolution_backward(*args)
    if name.startswith("_scaled_dot_product") or name in ("_flash_attention_forward", "_efficient_attention_forward"):
        return _attention_backward(*args[1:4]) if "backward" in name else _attention(*args[:3])
    return None


def cost_of(node):
    """FLOPs and bytes of one call, nothing for views."""
    operands, options = mapped(lambda leaf: leaf.meta.get("val") if is_node(leaf) else leaf, (node.args, node.kwargs))
    made = _tensors(node.meta.get("val"))
    if any(tag.name == "inplace_view" for tag in getattr(node.target, "tags", ())) or getattr(node.target, "is_view", False):
        return {"flops": 0, "bytes": 0}
    name = str(node.target).split(".")[1] if "." in str(node.target) else str(node.target)
    flops = _flops(name, operands, made[0] if made else None)
    if flops is None:
        flops = sum(math.prod(tensor.shape) for tensor in made)
    sizes = [math.prod(tensor.shape) * tensor.element_size() for tensor in _tensors((operands, options)) + made]
    return {"flops": int(flops), "bytes": sum(sizes)}


def cost_attr(node):
    return json.dumps(cost_of(node))
