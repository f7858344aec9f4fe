#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# JAX 0.10.2 (XLA) and PyTorch's, TensorFlow's and ONNX's usual way to count, compiled.cost_analysis() on a processor.
#
# XLA counts the products of a convolution that meet an image and leaves those out that meet padding; FlopCounterMode of PyTorch,
# TensorFlow's profiler and most papers count all. So one model has two numbers, a third apart where filters are as large as images.
# The gradient of a depthwise filter counts once before compilation and once a channel after it, for it is compiled as a dense
# convolution: the number depends on which of two objects is asked.
#
# Seen:
#   3 x 3 on 16 x 16, 8 channels, SAME       541696 of 589824 products' FLOPs
#   7 x 7 on 7 x 7, 8 channels, SAME         350464 of 614656
#   gradient of a depthwise filter, lowered   67712
#   gradient of a depthwise filter, compiled 543352
#
# Led to nothing new: core/graph/ops/convolution.cpp counts all products, as TensorFlow and PyTorch do.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
PYTHONPATH="$scratch/packages" JAX_PLATFORMS=cpu python3 - <<'END'
import jax
import jax.numpy as jnp
from jax import lax


def convolve(images, filters, groups=1):
    return lax.conv_general_dilated(images, filters, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                    feature_group_count=groups)


def lowered(work, *arguments):
    return jax.jit(work).lower(*(jnp.ones(shape) for shape in arguments))


small = lowered(convolve, (2, 16, 16, 8), (3, 3, 8, 8)).compile().cost_analysis()["flops"]
large = lowered(convolve, (2, 7, 7, 8), (7, 7, 8, 8)).compile().cost_analysis()["flops"]
depthwise = lowered(jax.grad(lambda images, filters: convolve(images, filters, 8).sum(), 1), (2, 16, 16, 8), (3, 3, 1, 8))
before, after = depthwise.cost_analysis()["flops"], depthwise.compile().cost_analysis()["flops"]
print(f"3 x 3 on 16 x 16, 8 channels, SAME       {small:.0f} of {2 * 2 * 16 * 16 * 8 * 8 * 9} products' FLOPs")
print(f"7 x 7 on 7 x 7, 8 channels, SAME         {large:.0f} of {2 * 2 * 7 * 7 * 8 * 8 * 49}")
print(f"gradient of a depthwise filter, lowered   {before:.0f}")
print(f"gradient of a depthwise filter, compiled {after:.0f}")
inside = sum(min(16, at + 2) - max(0, at - 1) for at in range(16))  # of one axis: window positions inside the image
assert small == 2 * 2 * 8 * 8 * inside**2
assert small < 2 * 2 * 16 * 16 * 8 * 8 * 9 and large < 2 * 2 * 7 * 7 * 8 * 8 * 49 * 0.6, "XLA counts padding now"
assert after > 7 * before, "both objects count a depthwise gradient alike now"
END
