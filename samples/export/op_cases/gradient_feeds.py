# SPDX-License-Identifier: Apache-2.0
"""What the cases of gradients are fed."""

import numpy as np

from golden import random_array

_DOUBLE = 'float64'


def numbers(name, shape, low=-2.0, high=2.0, dtype=_DOUBLE):
  return random_array(name, shape, dtype, low, high)


def integers(values, dtype='int32'):
  return np.array(values, dtype)
