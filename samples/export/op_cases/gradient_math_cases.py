# SPDX-License-Identifier: Apache-2.0
"""Gradients of arithmetic, reductions and products of matrices."""

import numpy as np

import golden
import tensorflow.compat.v1 as tf
from op_cases.gradient_feeds import numbers as _x
from tensorflow.python.debug.lib import debug_gradients

_UNARY = {
    'Abs': (-2, 2), 'Neg': (-2, 2), 'Sign': (-2, 2), 'Inv': (0.5, 2), 'Reciprocal': (0.5, 2), 'Square': (-2, 2),
    'Sqrt': (0.5, 2), 'Rsqrt': (0.5, 2), 'Exp': (-1, 1), 'Expm1': (-1, 1), 'Log': (0.5, 2), 'Log1p': (-0.5, 2),
    'Sin': (-2, 2), 'Cos': (-2, 2), 'Tan': (-1, 1), 'Asin': (-0.8, 0.8), 'Acos': (-0.8, 0.8), 'Atan': (-2, 2),
    'Sinh': (-1, 1), 'Cosh': (-1, 1), 'Tanh': (-1, 1), 'Asinh': (-2, 2), 'Acosh': (1.5, 3), 'Atanh': (-0.8, 0.8),
    'Sigmoid': (-2, 2), 'Erf': (-1, 1), 'Erfc': (-1, 1), 'Erfinv': (-0.8, 0.8), 'Ndtri': (0.2, 0.8),
    'Lgamma': (0.5, 3), 'Digamma': (0.5, 3), 'Floor': (-2, 2), 'Round': (-2, 2)
}  # yapf: disable


def _watched(x):
  return debug_gradients.GradientsDebugger().identify_gradient(tf.square(x))


def unary(family):
  for op, (low, high) in _UNARY.items():
    family.op(op, op, {'x': _x(op, [2, 3], low, high)})
  for op in ('Relu', 'Relu6', 'LeakyRelu', 'Elu', 'Selu', 'Softplus', 'Softsign'):
    family.op(op, op, {'features': _x(op, [2, 3])})
  family.op('Square/colocated', 'Square', {'x': _x('c', [3])}, colocate=True)
  family.op('Tanh/unknown', 'Tanh', {'x': _x('t', [3])}, unknown=['x'])
  family.op('Identity', 'Identity', {'input': _x('identity', [3])})
  family.case('Cast', lambda x: tf.cast(x, tf.float32), {'x': _x('cast', [3])}, within=golden.FLOAT32)
  family.case('Cast/int', lambda x: tf.cast(tf.cast(x, tf.int32), tf.float64), {'x': _x('cast', [3])})
  family.case('IdentityN', lambda x, y: tf.identity_n([x, y]), {'x': _x('a', [3]), 'y': _x('b', [2])})
  family.case('StopGradient', lambda x: x * tf.stop_gradient(x), {'x': _x('stop', [3])})
  family.op('CheckNumericsV2', 'CheckNumericsV2', {'tensor': _x('check', [3])}, message='text')
  family.case('DebugGradientIdentity', _watched, {'x': _x('watched', [3])})
  family.case('CheckNumerics', lambda x: tf.debugging.check_numerics(x, 'text'), {'x': _x('check', [3])})


_BINARY = ('Add', 'AddV2', 'Sub', 'Mul', 'MulNoNan', 'Div', 'RealDiv', 'DivNoNan', 'FloorMod', 'Pow', 'Maximum', 'Minimum',
           'SquaredDifference', 'Atan2', 'Xlogy', 'Xlog1py', 'Xdivy')
_SHAPES = {'same': ([2, 3], [2, 3]), 'row': ([2, 3], [3]), 'column': ([2, 1], [2, 3]), 'scalar': ([], [2])}


def binary(family):
  for op in _BINARY:
    for label, (x_shape, y_shape) in _SHAPES.items():
      names = ('y', 'x') if op == 'Atan2' else ('x', 'y')
      feeds = {names[0]: _x(op + label, x_shape, 0.5, 2.0), names[1]: _x(op + label + 'y', y_shape, 0.6, 2.1)}
      family.op(f'{op}/{label}', op, feeds)
    family.op(f'{op}/unknown', op, {names[0]: _x(op, [2, 3], 0.5, 2.0), names[1]: _x(op + 'y', [3], 0.6, 2.1)},
              unknown=['x'])
  for op, names in {'Zeta': ('x', 'q'), 'Polygamma': ('a', 'x')}.items():
    orders = np.array([2.0, 3.0, 4.0])
    family.op(op, op, {names[0]: orders, names[1]: _x(op, [2, 3], 0.5, 2.0)}, xs=[names[1]])
    family.op(f'{op}/row', op, {names[0]: orders.reshape([3, 1]), names[1]: _x(op, [2], 0.5, 2.0)}, xs=[names[1]])
  family.op('Mul/float32', 'Mul', {'x': _x('f', [2, 3], dtype='float32'), 'y': _x('g', [2, 3], dtype='float32')})
  family.op('AddN', 'AddN', {'a': _x('a', [3]), 'b': _x('b', [3]), 'c': _x('c', [3])}, inputs=['a', 'b', 'c'])
  family.case('ClipByValue', lambda t, low, high: tf.raw_ops.ClipByValue(t=t, clip_value_min=low, clip_value_max=high),
              {'t': _x('t', [2, 3]), 'low': np.array(-0.5), 'high': np.array(0.7)})
  mask = np.array([[True, False, True], [False, False, True]])
  family.case('Select', lambda mask, t, e: tf.where(mask, t, e),
              {'mask': mask, 't': _x('t', [2, 3]), 'e': _x('e', [2, 3])})
  family.op('SelectV2', 'SelectV2', {'condition': mask, 't': _x('t', [3]), 'e': _x('e', [2, 1])})
  family.op('SelectV2/unknown', 'SelectV2', {'condition': mask, 't': _x('t', [3]), 'e': _x('e', [2, 1])},
            unknown=['t'])


def reductions(family):
  for op in ('Sum', 'Mean', 'Max', 'Min', 'Prod', 'EuclideanNorm'):
    for label, axes in (('all', [0, 1, 2]), ('one', [1]), ('last', [-1]), ('two', [0, 2])):
      for keep in (False, True):
        family.case(f'{op}/{label}{"_kept" if keep else ""}',
                    lambda input, op=op, axes=axes, keep=keep: getattr(tf.raw_ops, op)(
                        input=input, axis=tf.constant(axes), keep_dims=keep),
                    {'input': _x(op, [2, 3, 2], 0.5, 2)})
    family.case(f'{op}/unknown',
                lambda input, op=op: getattr(tf.raw_ops, op)(input=input, axis=tf.constant([0])),
                {'input': _x(op, [2, 3], 0.5, 2)}, unknown=['input'])
  for op in ('Cumsum', 'Cumprod'):
    for exclusive in (False, True):
      for reverse in (False, True):
        family.case(f'{op}/{exclusive}_{reverse}',
                    lambda x, op=op, e=exclusive, r=reverse: getattr(tf.raw_ops, op)(
                        x=x, axis=tf.constant(1), exclusive=e, reverse=r), {'x': _x(op, [2, 4], 0.5, 2)})
  family.op('L2Loss', 'L2Loss', {'t': _x('t', [2, 3])})
  family.case('TopKV2', lambda input: tf.math.top_k(input, 2)[0], {'input': _x('top', [3, 5])})


def linear(family):
  for ta in (False, True):
    for tb in (False, True):
      a, b = ([3, 2] if ta else [2, 3]), ([4, 3] if tb else [3, 4])
      family.op(f'MatMul/{ta}_{tb}', 'MatMul', {'a': _x('a', a), 'b': _x('b', b)}, transpose_a=ta, transpose_b=tb)
      x, y = ([2, 3, 2] if ta else [2, 2, 3]), ([2, 4, 3] if tb else [2, 3, 4])
      family.op(f'BatchMatMulV2/{ta}_{tb}', 'BatchMatMulV2', {'x': _x('x', x), 'y': _x('y', y)}, adj_x=ta, adj_y=tb)
  family.op('BatchMatMulV2/broadcast', 'BatchMatMulV2', {'x': _x('x', [2, 2, 3]), 'y': _x('y', [3, 4])})
  family.op('BatchMatMul', 'BatchMatMul', {'x': _x('x', [2, 2, 3]), 'y': _x('y', [2, 3, 4])})
  for padding in ('SAME', 'VALID'):
    family.op(f'Conv2D/{padding}', 'Conv2D', {'input': _x('i', [1, 4, 5, 2]), 'filter': _x('f', [2, 3, 2, 2])},
              strides=[1, 2, 1, 1], padding=padding)
    family.case(f'Conv2DBackpropInput/{padding}',
                lambda filter, out_backprop, padding=padding: tf.raw_ops.Conv2DBackpropInput(
                    input_sizes=tf.constant([1, 4, 5, 2]), filter=filter, out_backprop=out_backprop,
                    strides=[1, 1, 1, 1], padding=padding),
                {'filter': _x('f', [2, 3, 2, 2]), 'out_backprop': _x('o', [1, 4, 5, 2] if padding == 'SAME' else [1, 3, 3, 2])})
    family.case(f'Conv2DBackpropFilter/{padding}',
                lambda input, out_backprop, padding=padding: tf.raw_ops.Conv2DBackpropFilter(
                    input=input, filter_sizes=tf.constant([2, 3, 2, 2]), out_backprop=out_backprop,
                    strides=[1, 1, 1, 1], padding=padding),
                {'input': _x('i', [1, 4, 5, 2]), 'out_backprop': _x('o', [1, 4, 5, 2] if padding == 'SAME' else [1, 3, 3, 2])})


def einsum(family):
  for equation, x, y in (('ab,bc->ac', [2, 3], [3, 4]), ('abc,cde->abde', [2, 3, 2], [2, 2, 3]),
                         ('bij,bkj->bik', [2, 2, 3], [2, 4, 3]), ('abc,adbe->acbde', [2, 3, 2], [2, 2, 3, 2])):
    family.case(equation, lambda x, y, equation=equation: tf.raw_ops.Einsum(inputs=[x, y], equation=equation),
                {'x': _x('x' + equation, x), 'y': _x('y' + equation, y)})
  for equation, x, y in (('abc,cd->ad', [2, 3, 2], [2, 4]), ('abc,cd->da', [2, 3, 2], [2, 4]),
                         ('ab,cb->a', [2, 3], [4, 3]), ('...ab,...bc->...ac', [3, 1, 2, 4], [2, 4, 3]),
                         ('...ab,bc->...ac', [2, 2, 3], [3, 2]), ('a...,b...->ab...', [2, 3], [2, 3])):
    family.case(equation, lambda x, y, equation=equation: tf.raw_ops.Einsum(inputs=[x, y], equation=equation),
                {'x': _x('x' + equation, x), 'y': _x('y' + equation, y)})
  for equation in ('abc->cab', 'abc->ac', 'abc->ca', '...ab->...b'):
    family.case(equation, lambda x, equation=equation: tf.raw_ops.Einsum(inputs=[x], equation=equation),
                {'x': _x('x', [2, 3, 4])})
  for equation, x, y in (('abc,cd->ad', [2, 3, 2], [2, 4]), ('...ab,...bc->...ac', [3, 1, 2, 4], [2, 4, 3])):
    family.case(equation + '/unknown', lambda x, y, equation=equation: tf.raw_ops.Einsum(inputs=[x, y], equation=equation),
                {'x': _x('x' + equation, x), 'y': _x('y' + equation, y)}, unknown=('x', 'y'))


def factors(family):
  for label, shape in {'square': [3, 3], 'tall': [4, 2], 'wide': [2, 4], 'batch': [2, 3, 2]}.items():
    family.op(f'Qr/{label}', 'Qr', {'input': _x('qr' + label, shape)}, output='all')
  family.op('Qr/r', 'Qr', {'input': _x('r', [3, 2])}, output=1)
  for lower in (True, False):
    for adjoint in (True, False):
      matrix = _x('m', [3, 3], 0.2, 1.0) + 2 * np.eye(3)
      family.op(f'MatrixTriangularSolve/{lower}_{adjoint}', 'MatrixTriangularSolve',
                {'matrix': matrix, 'rhs': _x('rhs', [3, 2])}, lower=lower, adjoint=adjoint)
  family.op('MatrixTriangularSolve/batches', 'MatrixTriangularSolve',
            {'matrix': _x('b', [2, 1, 3, 3], 0.2, 1.0) + 2 * np.eye(3), 'rhs': _x('rhs', [2, 3, 2])})
