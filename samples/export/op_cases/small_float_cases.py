# SPDX-License-Identifier: Apache-2.0
"""Numbers of 16 bits: cast from and to others, and multiplied."""

import numpy as np

import golden
import tensorflow.compat.v1 as tf
from golden import random_array

_SPECIAL = np.array([0, -0.0, 1, -1, 65504, 65519, 65520, -1e6, 6e-8, 2.9e-8, 3.1e-8, 6.1e-5, 1e-40, 0.1, 1 / 3, 2049,
                     2051, 1.00390625, 1.01171875, 3.4e38, np.inf, -np.inf, np.nan], np.float32)  # yapf: disable


def small_floats(family):

  def cast(label, values, small):

    def build():
      x = tf.placeholder(values.dtype, values.shape, name='x')
      tf.cast(tf.cast(x, small), tf.float32, name='y')

    family.graph(label, build, [({'x': values}, ['y:0'], [])], golden.EXACT)

  def back(label, dtype, small):
    values = random_array(label, [3, 5], np.float32, 0, 100)

    def build():
      x = tf.placeholder(tf.float32, values.shape, name='x')
      tf.cast(tf.cast(x, small), dtype, name='y')

    family.graph(label, build, [({'x': values}, ['y:0'], [])], golden.EXACT)

  def product(label, small, batch):
    a, b = random_array(label + 'a', batch + [3, 7], 'float32', -1, 1), random_array(label + 'b', [7, 4], 'float32', -1, 1)

    def build():
      x, y = tf.placeholder(tf.float32, a.shape, name='x'), tf.placeholder(tf.float32, b.shape, name='y')
      multiply = tf.raw_ops.BatchMatMulV2(x=tf.cast(x, small), y=tf.cast(y, small)) if batch else tf.matmul(
          tf.cast(x, small), tf.cast(y, small))
      tf.cast(multiply, tf.float32, name='z')

    step = 2.0**-10 if small == tf.float16 else 2.0**-7
    family.graph(label, build, [({'x': a, 'y': b}, ['z:0'], [])], {'rtol': 2 * step, 'atol': 4 * step})

  for small in (tf.float16, tf.bfloat16):
    cast(f'special/{small.name}', _SPECIAL, small)
    cast(f'many/{small.name}', random_array('many' + small.name, [2000], np.float32, -300, 300), small)
    for dtype in (np.float64, np.int32, np.int64, np.uint8, np.bool_):
      name = np.dtype(dtype).name
      cast(f'{name}_to_{small.name}', random_array(name + small.name, [4, 3], dtype, 0, 100), small)
      back(f'{small.name}_to_{name}', tf.as_dtype(dtype), small)
    product(f'MatMul/{small.name}', small, [])
    product(f'BatchMatMulV2/{small.name}', small, [2])


FAMILIES = {'small_floats': small_floats}
