# SPDX-License-Identifier: Apache-2.0
"""ATen ops as TensorFlow's: RULES gives by name a function of the emitter, the fx node and its arguments. It returns a
Value, a tuple of them, or None where no op of TensorFlow does the same."""

RULES = {}


def rule(*names):
    def register(function):
        for name in names:
            RULES["aten." + name] = function
        return function

    return register


from lanescope.torch.ops import batch_norm, composites, convolutions, elementwise, images, indexing, layers, linear, scattering, shapes, strides  # noqa: E402, F401
