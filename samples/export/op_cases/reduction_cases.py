# SPDX-License-Identifier: Apache-2.0
"""Reductions, scans and matrix products."""

import itertools

import numpy as np

import golden
import tensorflow.compat.v1 as tf
from golden import Constant
from golden import random_array

_REDUCE = ('Sum', 'Mean', 'Max', 'Min', 'Prod', 'EuclideanNorm')
_AXES = ([], [0], [1], [2], [-1], [0, 1], [0, 2], [1, 2], [0, 1, 2], [-1, 0])
_MATMUL_SIZES = ((1, 1, 1), (2, 3, 4), (5, 1, 7), (17, 33, 9), (3, 64, 2), (0, 3, 2), (2, 0, 3), (2, 3, 0))


def _reduce(family, op, case, array, axes, keep_dims=False, dtype=np.int32):
  family.op(f'{op}/{case}',
            op,
            golden.FLOAT32_SUM if array.dtype == np.float32 else None,
            input=array,
            axis=Constant(axes, dtype),
            keep_dims=keep_dims)


def _arithmetic_reductions(family):
  for op in _REDUCE:
    cube = random_array(op, [3, 4, 5], 'float32', -2, 2)
    for axes in _AXES:
      _reduce(family, op, f'float32_{axes}'.replace(' ', ''), cube, axes)
    _reduce(family, op, 'float32_keep', cube, [0, 2], True)
    _reduce(family, op, 'float32_scalar_axis', cube, -2)
    _reduce(family, op, 'float32_of_scalar', np.array(2.5, np.float32), [])
    _reduce(family, op, 'float32_int64_axis', cube, [1], dtype=np.int64)
    if op in ('Sum', 'Mean', 'Max'):
      _reduce(family, op, 'float32_rows', random_array(op + 'm', [13, 70], 'float32', -1, 1), [1])
      _reduce(family, op, 'float32_columns', random_array(op + 'c', [70, 13], 'float32', -1, 1), [0])
    _reduce(family, op, 'float32_rank5', random_array(op + '5', [2, 3, 1, 2, 3], 'float32'), [0, 3])
    for shape, axes in (([0], [0]), ([0, 3], [0]), ([0, 3], [1]), ([2, 0], [0, 1])):
      _reduce(family, op, f'float32_empty_{shape}_{axes}'.replace(' ', ''), np.zeros(shape, np.float32), axes)
    special = np.array([[1, np.nan, 2], [np.inf, 1, -np.inf], [np.inf, 2, 3]], np.float32)
    _reduce(family, op, 'float32_special', special, [1])
    _reduce(family, op, 'float64', cube.astype(np.float64), [1])
    if op != 'EuclideanNorm':
      for dtype in ('int32', 'int64'):
        _reduce(family, op, dtype, random_array(op + dtype, [3, 4], dtype, -5, 9), [1])


def _other_reductions(family):
  bools = random_array('bools', [3, 4], 'bool')
  for op, axes in itertools.product(('All', 'Any'), ([0], [1], [0, 1], [])):
    _reduce(family, op, f'{axes}'.replace(' ', ''), bools, axes)
  for op in ('All', 'Any'):
    _reduce(family, op, 'empty', np.zeros([0, 2], bool), [0], True)
  for op in ('ArgMax', 'ArgMin'):
    values = random_array(op, [3, 4, 5], 'float32')
    for axis in (0, 1, -1):
      family.op(f'{op}/float32_{axis}', op, input=values, dimension=Constant(axis))
    family.op(f'{op}/int32_output', op, input=values, dimension=Constant(1), output_type=tf.int32)
    family.op(f'{op}/ties', op, input=np.array([[1, 3, 3, 1], [2, 2, 2, 2]], np.int32), dimension=Constant(1))
  for dtype in ('float32', 'float64'):
    family.op(f'L2Loss/{dtype}', 'L2Loss', golden.FLOAT32_SUM, t=random_array('l2' + dtype, [7, 9], dtype))
    family.op(f'L2Loss/{dtype}_empty', 'L2Loss', t=np.zeros([0], dtype))
  for op in ('Cumsum', 'Cumprod'):
    x = random_array(op, [3, 4], 'float32', 0.5, 1.5)
    for axis, exclusive, reverse in itertools.product((0, 1), (False, True), (False, True)):
      family.op(f'{op}/axis{axis}_exclusive{exclusive:d}_reverse{reverse:d}',
                op,
                x=x,
                axis=Constant(axis),
                exclusive=exclusive,
                reverse=reverse)


def reductions(family):
  _arithmetic_reductions(family)
  _other_reductions(family)


def matmul(family):
  for m, k, n in _MATMUL_SIZES:
    for transpose_a, transpose_b in itertools.product((False, True), (False, True)):
      if m * k * n > 300 and transpose_a and transpose_b:
        continue
      label = f'{m}x{k}x{n}{"_ta" * transpose_a}{"_tb" * transpose_b}'
      a = random_array(label + 'a', [k, m] if transpose_a else [m, k], 'float32', -1, 1)
      b = random_array(label + 'b', [n, k] if transpose_b else [k, n], 'float32', -1, 1)
      family.op(f'MatMul/{label}',
                'MatMul',
                golden.FLOAT32_SUM,
                a=a,
                b=b,
                transpose_a=transpose_a,
                transpose_b=transpose_b)
  for dtype in ('float64', 'int32', 'int64'):
    family.op(f'MatMul/{dtype}',
              'MatMul',
              a=random_array(dtype + 'a', [3, 4], dtype),
              b=random_array(dtype, [4, 2], dtype))
  nan = np.array([[1, np.nan], [np.inf, 0]], np.float32)
  family.op('MatMul/special', 'MatMul', a=nan, b=np.array([[1, 0], [2, 1]], np.float32))
  for left, right in (([2, 3, 4], [2, 4, 5]), ([1, 3, 4], [5, 4, 2]), ([3, 4], [2, 4, 2]),
                      ([2, 1, 2, 3], [4, 3, 2]), ([0, 2, 3], [0, 3, 2])):
    label = f'{left}x{right}'.replace(' ', '')
    family.op(f'BatchMatMulV2/{label}',
              'BatchMatMulV2',
              golden.FLOAT32_SUM,
              x=random_array(label + 'x', left, 'float32'),
              y=random_array(label + 'y', right, 'float32'))
  family.op('BatchMatMulV2/adjoint',
            'BatchMatMulV2',
            golden.FLOAT32_SUM,
            x=random_array('ax', [2, 4, 3], 'float32'),
            y=random_array('ay', [2, 5, 4], 'float32'),
            adj_x=True,
            adj_y=True)
  family.op('BatchMatMul/plain',
            'BatchMatMul',
            golden.FLOAT32_SUM,
            x=random_array('px', [2, 3, 4], 'float32'),
            y=random_array('py', [2, 4, 2], 'float32'))


FAMILIES = {'reductions': reductions, 'matmul': matmul}
