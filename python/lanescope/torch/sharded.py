# SPDX-License-Identifier: Apache-2.0
"""Modules that fully_shard or parallelize_module shared out over a mesh, as the one model that they make together."""

import contextlib

import torch
from torch.utils import _pytree as pytree

_SHARING = "torch.distributed."


def is_shared(tensor):
    return hasattr(tensor, "device_mesh") and hasattr(tensor, "to_local")


def _states(model):
    """By path of what fully_shard was called on, parents before children, its state and parameters."""
    for path, module in model.named_modules():
        state = module._get_fsdp_state() if hasattr(module, "_get_fsdp_state") else None
        if state is not None:
            yield path, module, state._mp_policy


def precision_of(model):
    """By name of a parameter the dtype in which fully_shard gathers it, where that is another."""
    found = {}
    for path, module, policy in _states(model):
        names = (f"{path}.{name}" if path else name for name, _ in module.named_parameters())
        found.update(dict.fromkeys(names, policy.param_dtype))
    return {name: dtype for name, dtype in found.items() if dtype is not None}


def _cast(tree, dtype):
    return pytree.tree_map_only(torch.Tensor, lambda each: each.to(dtype) if each.is_floating_point() else each, tree)


@contextlib.contextmanager
def as_one(model):
    """Modules compute on whole tensors: what fully_shard and parallelize_module do around them is left out, but for dtypes."""
    removed, added = [], []
    for module in model.modules():
        for hooks in (module._forward_pre_hooks, module._forward_hooks):
            for key, hook in list(hooks.items()):
                if (getattr(hook, "__module__", None) or "").startswith(_SHARING):
                    removed.append((hooks, list(hooks.items())))
                    del hooks[key]
    for _, module, policy in _states(model):
        if policy.param_dtype is not None and policy.cast_forward_inputs:
            added.append(module.register_forward_pre_hook(
                lambda _, args, kwargs, dtype=policy.param_dtype: (_cast(args, dtype), _cast(kwargs, dtype)), prepend=True, with_kwargs=True))
        if policy.output_dtype is not None:
            added.append(module.register_forward_hook(lambda _, args, made, dtype=policy.output_dtype: _cast(made, dtype)))
    try:
        yield
    finally:
        for handle in added:
            handle.remove()
        for hooks, before in reversed(removed):
            hooks.clear()
            hooks.update(before)
