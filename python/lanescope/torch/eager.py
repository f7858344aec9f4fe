# SPDX-License-Identifier: Apache-2.0
"""A model as if nobody had compiled or wrapped it, with the names of its plain form, and what a graph leaves out of it."""

import collections
import contextlib
import copy
import functools
import gc
import inspect
import os

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from lanescope.torch.sharded import is_shared
from lanescope.torch.variables import has_content

_COMPILED = "_orig_mod."
_OF_MODULES = {"_parameters", "_buffers", "_modules"}  # which tracing puts back itself


def unwrapped(model):
    """The module: of an ExportedProgram or its file (.pt2), and of what a compiler or DistributedDataParallel wraps. Tensors
    that stand for several, as those of quantized weights, come apart."""
    if isinstance(model, (str, os.PathLike)):
        if not os.path.isfile(model):
            raise FileNotFoundError(f"there is no file '{os.fspath(model)}'; give a module, an ExportedProgram or a file of torch.export.save")
        model = torch.export.load(model)
    if isinstance(model, torch.export.ExportedProgram):
        return model.module(check_guards=False) if _can_leave_guards() else model.module()
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"the model is a {type(model).__name__}; give a module, an ExportedProgram or the path of one")
    while True:
        if isinstance(model, torch.nn.parallel.DistributedDataParallel):
            model = model.module
        elif _is_compiled(model):
            model = model._orig_mod
        else:
            return _plain_tensors(model)


def _can_leave_guards():
    return "check_guards" in inspect.signature(torch.export.ExportedProgram.module).parameters


def _plain_tensors(model):
    kinds = {type(each) for each in (*model.parameters(), *model.buffers()) if is_traceable_wrapper_subclass(each)}
    if any(isinstance(module, FullyShardedDataParallel) for module in model.modules()):
        raise ValueError("the model's parameters lie flat in FullyShardedDataParallel; export it before, or take fully_shard")
    if all(kind is FakeTensor or kind.__name__ == "DTensor" for kind in kinds):
        return model
    from torch._functorch._aot_autograd.subclass_parametrization import unwrap_tensor_subclass_parameters

    return unwrap_tensor_subclass_parameters(copy.deepcopy(model))


def _is_compiled(module):
    return hasattr(module, "_orig_mod") and isinstance(module._orig_mod, torch.nn.Module)


def plain_name(name):
    """The name of a tensor or module without its compiler."""
    return name.replace(_COMPILED, "").removesuffix(_COMPILED[:-1]).removesuffix(".")


@contextlib.contextmanager
def uncompiled(model):
    """Modules that are compiled, and functions that they call, run as they are written."""
    with contextlib.ExitStack() as stack:
        if hasattr(torch.compiler, "set_stance"):
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        for module in model.modules():
            if _is_compiled(module):
                stack.enter_context(_replaced(module, "forward", module._orig_mod.forward))
            if getattr(module, "_compiled_call_impl", None) is not None:
                stack.enter_context(_replaced(module, "_compiled_call_impl", None))
        yield


@contextlib.contextmanager
def _replaced(module, name, value):
    before = module.__dict__.get(name)
    module.__dict__[name] = value
    try:
        yield
    finally:
        module.__dict__.pop(name)
        if before is not None:
            module.__dict__[name] = before


def initialize(model, inputs):
    """Lazy modules take their shapes from the first call."""
    lazy = [name for name, each in (*model.named_parameters(), *model.named_buffers()) if torch.nn.parameter.is_lazy(each)]
    if not lazy:
        return
    if not all(map(has_content, inputs.tensors)):
        raise ValueError(f"'{lazy[0]}' of the model has no shape before a call; call it once with tensors that have values")
    args, kwargs, _ = inputs.call(inputs.tensors)
    trains = [module for module in model.modules() if module.training]
    with torch.no_grad():
        model.eval()(*args, **kwargs)
    for module in trains:
        module.training = True


_COLLECTIONS = (dict, list, collections.OrderedDict)


@contextlib.contextmanager
def as_before(model):
    """What modules and functions remember of a trace, as tensors without content in a cache of theirs, is forgotten."""
    before = {module: {name: (value, value.copy() if type(value) in _COLLECTIONS else None)
                       for name, value in vars(module).items() if name not in _OF_MODULES} for module in model.modules()}
    try:
        yield
    finally:
        for module, values in before.items():
            now = vars(module)
            for name in [name for name in now if name not in values and name not in _OF_MODULES]:
                del now[name]
            for name, (value, content) in values.items():
                now[name] = value
                if content is not None:
                    value.clear()
                    (value.update if isinstance(value, dict) else value.extend)(content)
        for each in gc.get_objects():
            if type(each) is functools._lru_cache_wrapper and _holds_fakes(each):
                each.cache_clear()


def _holds_fakes(cache):
    """It refers to its results, or to a table of them where it has no limit."""
    found = gc.get_referents(cache)
    found += gc.get_referents(*(each for each in found if isinstance(each, dict)))
    several = [leaf for each in found if type(each) in (tuple, list) for leaf in each]
    return any(isinstance(each, FakeTensor) for each in (*found, *several))


def left_out(model, plain, optimizer, trains):
    """Sentences on what a step of training has and the graph has not. `plain`: the model unwrapped."""
    notes = []
    if isinstance(model, torch.nn.parallel.DistributedDataParallel):
        notes.append("the graph is of one process: 'data-parallel' adds the all-reduce of DistributedDataParallel")
    if any(map(is_shared, plain.parameters())):
        notes.append("the graph is of the whole model on one device: 'fsdp' adds the collectives of fully_shard, a plan those of "
                     "parallelize_module")
    if not trains:
        return notes
    parameters = dict(plain.named_parameters())
    later = [name for name, each in parameters.items() if getattr(each, "_post_accumulate_grad_hooks", None)]
    if later:
        notes.append(f"hooks after gradients are left out, as that of '{plain_name(later[0])}'")
    if any(each.grad is not None for each in parameters.values()):
        notes.append("gradients that parameters have already are left out: the step begins without any")
    if optimizer is not None and any("initial_lr" in group for group in optimizer.param_groups):
        rates = ", ".join(f"{float(group['lr']):g}" for group in optimizer.param_groups)
        notes.append(f"the learning rate stays {rates}: what a scheduler makes of it is left out")
    return notes
