# SPDX-License-Identifier: Apache-2.0
"""What cannot be exported, in one line: module, line of the model, what is wrong and what to do."""

import contextlib
import logging
import os
import re
import traceback

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException
from torch.fx import traceback as tracer

from lanescope.torch.calls import owner_of
from lanescope.torch.nodes import MARK

LIBRARIES = (os.path.dirname(torch.__file__) + os.sep, os.path.dirname(os.path.dirname(__file__)) + os.sep)
_BY_VALUES = (DataDependentOutputException, DynamicOutputShapeException)
_PLAIN = (RuntimeError, ValueError, TypeError, NotImplementedError)  # whose messages say enough
_LONGEST = 300
_PICKED = "elements are picked by it: multiply by a mask, or take torch.where"
_NUMBER = "a number is taken out of a tensor: keep it a tensor"
_SIZED = "its result is as long as the values say: take one of a fixed length"
_ADVICE = {
    "__bool__": "a branch depends on it: take torch.where in place of the branch",
    "item": _NUMBER, "tolist": _NUMBER, "__int__": _NUMBER, "__float__": _NUMBER, "__index__": _NUMBER,
    "__getitem__": _PICKED, "__setitem__": _PICKED, "masked_select": _PICKED, "nonzero": _PICKED, "argwhere": _PICKED, "where": _PICKED,
    "unique": _SIZED, "unique_consecutive": _SIZED,
    "one_hot": "give num_classes", "repeat_interleave": "give output_size",
    "bincount": "take scatter_add on zeros of a given length",
    "ctc_loss": "its lengths are read as numbers: export the model without this loss",
}
_BY_MESSAGE = (  # what PyTorch says, what to do, whether values are asked for
    (r"\.numpy\(\)|FakeTensor\.__format__", "a trace has no values: keep to functions of tensors", True),
    ("modified by an inplace operation", "write what follows the op that is named without in-place functions", False),
    ("on the same device", "put the model and its inputs on one device", False),
)
_ELSE = "see whether the step runs in PyTorch"


class ExportError(ValueError):
    """`where`: module and line; `reason`: what is wrong there; `by_values`: the model asks for values of tensors."""

    def __init__(self, where, reason, advice="", by_values=False):
        super().__init__(f"{where}: {reason}" + (f"; {advice}" if advice else ""))
        self.where, self.reason, self.by_values = where, reason, by_values


def line_of(text):
    """The innermost line of the user's own in a traceback."""
    found = re.findall(r'File "([^"]+)", line (\d+)', text or "")
    own = [f"{os.path.basename(file)}:{line}" for file, line in found if not file.startswith(("<", *LIBRARIES)) and not _is_pythons(file)]
    return own[-1] if own else ""


def _is_pythons(file):
    """Packages may lie below what comes with Python."""
    return file.startswith(os.path.dirname(os.__file__) + os.sep) and "site-packages" not in file


def reason_of(problem):
    """In one line; PyTorch's messages go on for pages."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    text = lines[0] if lines else "no message"
    text = text if isinstance(problem, _PLAIN) and lines else f"{type(problem).__name__}: {text}"
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


@contextlib.contextmanager
def told(step):
    """What fails inside, while modules tell the tracer where it is, is an ExportError. `step`: FiniteChecks, which knows the function
    of PyTorch that failed."""
    try:
        with quiet():
            yield
    except ExportError:
        raise
    except Exception as problem:
        mark = next(iter(tracer.current_meta.get(MARK, {"": ("",)}).values()))
        line = line_of("".join(traceback.format_tb(problem.__traceback__)))
        where = owner_of(mark[0]) + (f" ({line})" if line else "")
        if isinstance(problem, _BY_VALUES):
            name = str(problem.func) if step.failed in ("", "grad", "backward") else step.failed
            advice = _ADVICE.get(name, "take torch.where in place of a branch, and a mask in place of elements picked by one")
            raise ExportError(where, f"'{name}' depends on the values of tensors, which a trace has not", advice, True) from None
        reason = reason_of(problem)
        advice, by_values = next((found[1:] for found in _BY_MESSAGE if re.search(found[0], reason)), (_ELSE, False))
        raise ExportError(where, reason.rstrip("."), advice, by_values) from None


@contextlib.contextmanager
def quiet():
    """PyTorch logs the stack of every op that fails on a tensor without values."""
    loggers = [logging.getLogger(name) for name in ("torch._subclasses.fake_tensor", "torch._subclasses.fake_impls")]
    before = [each.disabled for each in loggers]
    for each in loggers:
        each.disabled = True
    try:
        yield
    finally:
        for each, was in zip(loggers, before):
            each.disabled = was
