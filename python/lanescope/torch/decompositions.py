# SPDX-License-Identifier: Apache-2.0
"""Which fused ATen ops are taken apart, by PyTorch's own rules, because no op of TensorFlow does the same."""

import torch
from torch._decomp import decomposition_table, get_decompositions

from lanescope.torch.decomposed import DECOMPOSED
from lanescope.torch.ops import RULES

_NAMES = """
_log_softmax_backward_data _softmax_backward_data addcdiv addcmul baddbmm addmv celu elu elu_backward gelu
gelu_backward glu glu_backward hardsigmoid hardsigmoid_backward hardswish hardswish_backward hardtanh
hardtanh_backward huber_loss huber_loss_backward leaky_relu leaky_relu_backward lerp linalg_vector_norm
log_sigmoid_backward log_sigmoid_forward logit logsumexp mish mish_backward mse_loss mse_loss_backward binary_cross_entropy binary_cross_entropy_backward
binary_cross_entropy_with_logits native_dropout_backward native_group_norm native_group_norm_backward
native_layer_norm_backward silu silu_backward smooth_l1_loss smooth_l1_loss_backward soft_margin_loss softplus
softplus_backward unsafe_split unsafe_split_with_sizes _unsafe_index rsub
unfold_backward diag_embed trace frac _fused_rms_norm
_fused_rms_norm_backward rms_norm addr upsample_nearest2d _reshape_alias narrow_copy
_thnn_fused_lstm_cell dot mv repeat _weight_norm_interface
"""


def table(fused):
    """By overload. Names that this version of PyTorch does not know are left out. `fused`: ops stay as they are run."""
    if fused:
        return _foreach()
    aten = torch.ops.aten
    found = [getattr(aten, name) for name in _NAMES.split() if hasattr(aten, name)]
    return {**_others(), **get_decompositions(found), **DECOMPOSED, **_foreach()}


def _others():
    """PyTorch's of all ops that no rule here takes, but of those that it takes apart itself where they have one."""
    return {op: rule for op, rule in decomposition_table.items()
            if isinstance(op, torch._ops.OpOverload) and str(op) not in RULES and not _is_composite(op)}


def _is_composite(op):
    return torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), "CompositeImplicitAutograd")


def _foreach():
    """Ops on lists of tensors, one by one."""
    aten, found = torch.ops.aten, {}

    def of_each(name, function):
        packet = getattr(aten, name, None)
        for overload in packet.overloads() if packet is not None else ():
            found[getattr(packet, overload)] = function

    def pairs(op):
        def run(tensors, other, *rest):
            others = other if isinstance(other, (list, tuple)) else [other] * len(tensors)
            return [op(tensor, each) for tensor, each in zip(tensors, others)]
        return run

    def norms(tensors, order=2, dtype=None):
        return [torch.linalg.vector_norm(tensor, order, dtype=dtype) for tensor in tensors]

    of_each("_foreach_norm", norms)
    for name in ("add", "sub", "mul", "div", "maximum", "minimum", "clamp_min", "clamp_max"):
        of_each(f"_foreach_{name}", pairs(getattr(torch, name)))
    for name in ("neg", "abs", "sqrt"):
        of_each(f"_foreach_{name}", lambda tensors, op=getattr(torch, name): [op(tensor) for tensor in tensors])
    return found
