# SPDX-License-Identifier: Apache-2.0
"""Element-wise ops, broadcasting, comparisons and casts."""

import functools
import itertools

import numpy as np
from tensorflow.python.framework import kernels
from tensorflow.python.framework import op_def_registry

import tensorflow.compat.v1 as tf
from golden import Constant
from golden import random_array

_SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, 1e-30, 1e30, np.nan, np.inf, -np.inf])
_PAIR = np.array([0.0, 1.0, -1.0, 2.5, -2.5, np.nan, np.inf, -np.inf])

# Ops of one input with the interval of their ordinary test values.
_UNARY = {
    'Abs': (-3, 3),
    'Acos': (-1, 1),
    'Acosh': (1, 4),
    'Asin': (-1, 1),
    'Asinh': (-3, 3),
    'Atan': (-3, 3),
    'Atanh': (-0.9, 0.9),
    'Ceil': (-3, 3),
    'Cos': (-6, 6),
    'Cosh': (-3, 3),
    'Elu': (-3, 3),
    'Erf': (-3, 3),
    'Erfc': (-3, 3),
    'Exp': (-5, 5),
    'Expm1': (-2, 2),
    'Floor': (-3, 3),
    'Inv': (0.2, 3),
    'LeakyRelu': (-3, 3),
    'Log': (0.1, 9),
    'Log1p': (-0.5, 3),
    'Neg': (-3, 3),
    'Reciprocal': (0.2, 3),
    'Relu': (-3, 3),
    'Relu6': (-3, 9),
    'Rint': (-3, 3),
    'Round': (-3, 3),
    'Rsqrt': (0.1, 9),
    'Selu': (-3, 3),
    'Sigmoid': (-6, 6),
    'Sign': (-3, 3),
    'Sin': (-6, 6),
    'Sinh': (-3, 3),
    'Softplus': (-6, 6),
    'Softsign': (-3, 3),
    'Sqrt': (0, 9),
    'Square': (-3, 3),
    'Tan': (-1.4, 1.4),
    'Tanh': (-4, 4),
}
_FEATURES = ('Elu', 'LeakyRelu', 'Relu', 'Relu6', 'Selu', 'Softplus', 'Softsign')
# At these points the vectorised and the scalar code of TensorFlow differ among themselves.
_FINITE_ONLY = ('Cos', 'Sin', 'Tan', 'Erfc', 'Acosh', 'Asinh', 'Erf')

_ARITHMETIC = ('Add', 'AddV2', 'Sub', 'Mul', 'Div', 'RealDiv', 'FloorDiv', 'FloorMod', 'Mod', 'TruncateDiv',
               'TruncateMod', 'Pow', 'Maximum', 'Minimum', 'SquaredDifference', 'DivNoNan', 'MulNoNan',
               'Xdivy', 'Xlogy', 'Atan2')
_COMPARE = ('Equal', 'NotEqual', 'Less', 'LessEqual', 'Greater', 'GreaterEqual')

_SHAPE_PAIRS = (([3, 1], [1, 4]), ([], [2, 3]), ([2, 3], []), ([2, 3], [3]), ([3], [2, 3]), ([1], [0]),
                ([0, 3], [1, 3]), ([2, 1, 4], [3, 1]), ([2, 3, 1, 2], [1, 4, 1]), ([1, 3, 1, 2,
                                                                                    1], [2, 1, 2, 1, 3]),
                ([5], [1]), ([1, 1], [4]), ([0], []), ([2, 0, 3], [2, 1,
                                                                   1]), ([4, 16], [16]), ([17, 33], [17, 1]))


@functools.lru_cache(maxsize=None)
def supported(op, dtype, attribute='T'):
  """True if `op` allows the type and the CPU has a kernel for it."""
  wanted = tf.as_dtype(dtype).as_datatype_enum
  allowed = next(a for a in op_def_registry.get(op).attr if a.name == attribute).allowed_values.list.type
  if allowed and wanted not in allowed:
    return False
  for kernel in kernels.get_registered_kernels_for_op(op).kernel:
    if kernel.device_type != 'CPU' or kernel.label:
      continue
    types = [c.allowed_values.list.type for c in kernel.constraint if c.name == attribute]
    if not types or wanted in types[0]:
      return True
  return False


def unary(family):
  for op, (low, high) in _UNARY.items():
    argument = {'Elu': 'features'}.get(op, 'features' if op in _FEATURES else 'x')

    def case(label, array):
      family.op(f'{op}/{label}', op, **{argument: array})

    case('float32', random_array(op, [7, 3], 'float32', low, high))
    case('float32_scalar', random_array(op + 's', [], 'float32', low, high))
    case('float32_empty', np.zeros([0, 4], np.float32))
    if op not in _FINITE_ONLY:
      case('float32_special', _SPECIAL.astype(np.float32))
    if supported(op, 'float64'):
      case('float64', random_array(op, [2, 5], 'float64', low, high))
    for dtype in ('int32', 'int64'):
      if supported(op, dtype) and op not in ('Inv', 'Reciprocal'):
        case(dtype, np.array([[-7, -1, 0], [1, 2, 9]], dtype))
  family.op('LeakyRelu/alpha', 'LeakyRelu', features=random_array('leaky', [5], 'float32'), alpha=0.05)


def binary(family):
  for op in _ARITHMETIC:
    for dtype in ('float32', 'float64', 'int32', 'int64'):
      if not supported(op, dtype):
        continue
      shape = [3, 7] if dtype == 'float32' else [2, 3]
      y = random_array(op + 'y', shape, dtype, 0.5, 4)
      low = 0.5 if op in ('Pow', 'Xlogy') else -4
      x = random_array(op + 'x', shape, dtype, low, 4)
      family.op(f'{op}/{dtype}', op, x=x, y=y)
    if op not in ('Pow', 'Atan2') and supported(op, 'float32'):
      pairs = np.array(list(itertools.product(_PAIR, _PAIR)), np.float32)
      family.op(f'{op}/float32_special', op, x=pairs[:, 0].copy(), y=pairs[:, 1].copy())
  negative = np.array([-7, -7, 7, 7, -6, 0, 5], np.int32), np.array([2, -2, 2, -2, 3, -5, 5], np.int32)
  for op in ('Div', 'FloorDiv', 'FloorMod', 'Mod', 'TruncateDiv', 'TruncateMod', 'RealDiv'):
    for dtype in ('int32', 'int64', 'float32'):
      if supported(op, dtype):
        family.op(f'{op}/{dtype}_signs', op, x=negative[0].astype(dtype), y=negative[1].astype(dtype))
  family.op('Pow/float32_special',
            'Pow',
            x=np.array([0, 0, -2, -2, 2, 4], np.float32),
            y=np.array([0, 2, 3, 2, -1, 0.5], np.float32))
  family.op('Atan2/quadrants',
            'Atan2',
            y=np.array([1, 1, -1, -1, 0], np.float32),
            x=np.array([1, -1, 1, -1, 1], np.float32))
  for op in ('BitwiseAnd', 'BitwiseOr', 'BitwiseXor'):
    family.op(f'{op}/int32', op, x=np.array([0, 5, -1, 12], np.int32), y=np.array([7, 3, 9, 10], np.int32))
  family.op('Add/string', 'Add', x=np.array([b'a', b'', b'c'], object), y=np.array([b'x', b'y', b''], object))
  for dtype in ('float32', 'float64', 'int32', 'int64'):
    for count in (1, 2, 5):
      arrays = [random_array(f'addn{i}', [2, 3], dtype) for i in range(count)]
      family.op(f'AddN/{dtype}_{count}', 'AddN', inputs=arrays)
  family.op('AddN/float32_11', 'AddN', inputs=[random_array(f'addn{i}', [3], 'float32') for i in range(11)])
  family.op('AddN/float32_empty', 'AddN', inputs=[np.zeros([0], np.float32)] * 2)
  family.op('ClipByValue/float32',
            'ClipByValue',
            t=random_array('clip', [2, 5], 'float32'),
            clip_value_min=Constant(-1, np.float32),
            clip_value_max=Constant(1.5, np.float32))


def broadcasting(family):
  for left, right in _SHAPE_PAIRS:
    label = f'{left}x{right}'.replace(' ', '')
    x, y = random_array(label + 'x', left, 'float32'), random_array(label + 'y', right, 'float32')
    family.op(f'Sub/{label}', 'Sub', x=x, y=y)
    if x.size < 20:
      family.op(f'Less/{label}', 'Less', x=x, y=y)
      family.op(f'Mul_int32/{label}', 'Mul', x=x.astype(np.int32), y=y.astype(np.int32))
    family.op(f'BroadcastGradientArgs/{label}',
              'BroadcastGradientArgs',
              s0=Constant(left),
              s1=Constant(right))
  family.op('Maximum/float64',
            'Maximum',
            x=random_array('a', [2, 1, 3], 'float64'),
            y=random_array('b', [4, 1], 'float64'))
  for source, target in (([3], [2, 3]), ([], [2, 2]), ([1, 3], [4, 3]), ([2, 1], [2, 5]), ([1], [0]),
                         ([2, 3], [2, 3]), ([1, 2, 1], [3, 2, 4]), ([0], [0]), ([0, 1], [3, 0, 2])):
    for dtype in ('float32', 'int32'):
      label = f'{source}to{target}_{dtype}'.replace(' ', '')
      family.op(f'BroadcastTo/{label}',
                'BroadcastTo',
                input=random_array(label, source, dtype),
                shape=Constant(target))
  family.op('BroadcastTo/bool',
            'BroadcastTo',
            input=np.array([[True], [False]]),
            shape=Constant([2, 3], np.int64))


def comparisons(family):
  pairs = np.array(list(itertools.product(_PAIR, _PAIR)), np.float32)
  for op in _COMPARE:
    family.op(f'{op}/float32_special', op, x=pairs[:, 0].copy(), y=pairs[:, 1].copy())
    for dtype in ('float64', 'int32', 'int64'):
      x, y = random_array(op + 'x', [3, 4], dtype), random_array(op + 'y', [3, 4], dtype)
      family.op(f'{op}/{dtype}', op, x=np.round(x).astype(dtype), y=np.round(y).astype(dtype))
    family.op(f'{op}/empty', op, x=np.zeros([0], np.float32), y=np.zeros([1], np.float32))
  for op in ('Equal', 'NotEqual'):
    family.op(f'{op}/bool',
              op,
              x=np.array([True, True, False, False]),
              y=np.array([True, False, True, False]))
    family.op(f'{op}/string',
              op,
              x=np.array([b'a', b'bc', b''], object),
              y=np.array([b'a', b'bd', b''], object))
  for op in ('LogicalAnd', 'LogicalOr'):
    family.op(f'{op}/bool', op, x=np.array([[True], [False]]), y=np.array([True, False]))
  family.op('LogicalNot/bool', 'LogicalNot', x=np.array([True, False]))
  family.op('ApproximateEqual/float32',
            'ApproximateEqual',
            x=np.array([1, 2, 3], np.float32),
            y=np.array([1.000001, 2.1, 3], np.float32),
            tolerance=0.01)
  for op in ('IsNan', 'IsInf', 'IsFinite'):
    for dtype in (np.float32, np.float64):
      family.op(f'{op}/{np.dtype(dtype).name}', op, x=_SPECIAL.astype(dtype))


def casts(family):
  types = ('float32', 'float64', 'int32', 'int64', 'bool')
  values = np.array([[0, 1, -1, 2.5], [-2.5, 100.75, -7, 3]])
  for source, target in itertools.product(types, types):
    family.op(f'Cast/{source}_to_{target}', 'Cast', x=values.astype(source), DstT=tf.as_dtype(target))
  for target in ('int64', 'float32'):
    family.op(f'Cast/empty_to_{target}', 'Cast', x=np.zeros([0, 2], np.int32), DstT=tf.as_dtype(target))
  family.op('Cast/float64_special_to_float32',
            'Cast',
            x=np.append(_SPECIAL, [1e300, -1e300]),
            DstT=tf.float32)
  family.op('Cast/float32_nan_to_bool',
            'Cast',
            x=np.array([np.nan, 0.0, -0.0, np.inf], np.float32),
            DstT=tf.bool)
  family.op('Cast/int64_wraps_to_int32',
            'Cast',
            x=np.array([2**32 + 5, -2**40 - 1, 2**31], np.int64),
            DstT=tf.int32)
  family.op('Cast/int64_large_to_float32',
            'Cast',
            x=np.array([2**53 + 1, 16777217, -2**62], np.int64),
            DstT=tf.float32)


FAMILIES = {
    'math_unary': unary,
    'math_binary': binary,
    'broadcasting': broadcasting,
    'comparisons': comparisons,
    'casts': casts,
}
