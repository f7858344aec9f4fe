# SPDX-License-Identifier: Apache-2.0
"""Batch normalisation, gradients of sparse segments, bands of matrices, special functions, sets and coordinates."""

import numpy as np

import golden
import tensorflow.compat.v1 as tf
from golden import Constant
from golden import random_array
from op_cases.state_cases import START
from op_cases.state_cases import placeholder
from op_cases.state_cases import reference


def _batch_norm(family, label, shape, channels, version='V3', running=True, **attributes):
  arrays = {
      name: random_array(label + name, [channels], 'float32', 0.5, 2.0)
      for name in ('scale', 'offset', 'mean', 'variance')
  }
  if not running:
    arrays.update(mean=np.zeros([0], np.float32), variance=np.zeros([0], np.float32))
  op = 'FusedBatchNorm' + version
  # Of the outputs for the gradient, V3's last has no use on a host, and all have none where nothing is measured.
  family.op(f'{op}/{label}',
            op,
            golden.FLOAT32_SUM,
            fetched=3 if attributes.get('is_training') is False or 0 in shape else 5,
            x=random_array(label, shape, 'float32'),
            **arrays,
            **attributes)


def _batch_norm_grad(family, label, shape, channels, version='V3', **attributes):
  axes = (0, 2, 3) if attributes.get('data_format') == 'NCHW' else (0, 1, 2)
  x = random_array(label, shape, 'float32')
  mean, variance = (x.mean(axes), x.var(axes)) if x.size else (np.zeros([channels]), np.ones([channels]))
  arrays = {
      'y_backprop': random_array(label + 'dy', shape, 'float32'),
      'x': x,
      'scale': random_array(label + 'scale', [channels], 'float32', 0.5, 2.0),
      'reserve_space_1': mean.astype(np.float32),
      'reserve_space_2': variance.astype(np.float32),
  }
  if version == 'V3':
    arrays['reserve_space_3'] = np.zeros([0], np.float32)
  op = 'FusedBatchNormGrad' + version
  family.op(f'{op}/{label}', op, golden.FLOAT32_SUM, **arrays, **attributes)


_IMAGES = {
    'small': ([2, 3, 4, 5], 5, {}),
    'one_channel': ([3, 2, 2, 1], 1, {}),
    'one_element': ([1, 1, 1, 3], 3, {}),
    'empty': ([0, 2, 2, 3], 3, {}),
    'channels_first': ([2, 3, 4, 5], 3, {
        'data_format': 'NCHW'
    }),
}


def batch_norm(family):
  for label, (shape, channels, attributes) in _IMAGES.items():
    _batch_norm(family, label, shape, channels, running=False, **attributes)
    _batch_norm(family, label + '_fixed', shape, channels, is_training=False, **attributes)
    _batch_norm_grad(family, label, shape, channels, **attributes)
    if not attributes:  # TensorFlow has no other for a host
      _batch_norm_grad(family, label + '_fixed', shape, channels, is_training=False)
  _batch_norm(family, 'moving', [2, 3, 4, 5], 5, exponential_avg_factor=0.25)
  _batch_norm(family, 'epsilon', [2, 3, 4, 5], 5, running=False, epsilon=0.5)
  for version in ('', 'V2'):
    _batch_norm(family, 'plain', [2, 2, 3, 4], 4, version, running=False)
    _batch_norm_grad(family, 'plain', [2, 2, 3, 4], 4, version)


def special_math(family):
  special = [0.0, -0.0, np.nan, np.inf, -np.inf, -1.0, -7.0, 1.0, 0.5, 1e-10]
  for dtype in ('float32', 'float64'):
    values = np.concatenate([np.array(special), np.linspace(-9.3, 30.0, 41)]).astype(dtype)
    within = {'rtol': 2e-5, 'atol': 2e-5} if dtype == 'float32' else {'rtol': 1e-11, 'atol': 1e-11}
    family.op(f'Digamma/{dtype}', 'Digamma', within, x=values)
    chances = np.concatenate([[0.0, 1.0, -0.5, 1.5, np.nan, 1e-30], np.linspace(0.001, 0.999, 21)]).astype(dtype)
    family.op(f'Ndtri/{dtype}', 'Ndtri', within, x=chances)
    signed = np.concatenate([[0.0, 1.0, -1.0, 1.5, np.nan], np.linspace(-0.99, 0.99, 21)]).astype(dtype)
    family.op(f'Erfinv/{dtype}', 'Erfinv', within, x=signed)
    orders, points = np.meshgrid(np.array([1.5, 2.0, 3.0, 7.0, 1.0, 0.5]), np.array([0.3, 1.0, 2.5, 11.0, 40.0]))
    family.op(f'Zeta/{dtype}', 'Zeta', within, x=orders.astype(dtype), q=points.astype(dtype))
    family.op(f'Zeta/{dtype}_below', 'Zeta', within, x=np.array([2, 3, 2, 2.5, 4], dtype),
              q=np.array([-0.5, -2.25, -3, -0.5, 0], dtype))
    orders, points = np.meshgrid(np.arange(5.0), np.array([0.3, 1.0, 2.5, 11.0, -0.5]))
    family.op(f'Polygamma/{dtype}', 'Polygamma', within, a=orders.astype(dtype), x=points.astype(dtype))
    family.op(f'Polygamma/{dtype}_none', 'Polygamma', a=np.array([-1, 0.5], dtype), x=np.array([2, 2], dtype))
    family.op(f'Xlog1py/{dtype}_special',
              'Xlog1py',
              x=np.array([0, 0, 0, 1, 1, np.nan, np.inf, 2, 0], dtype),
              y=np.array([np.nan, -1, -2, -1, -2, 1, 0, 1e-9, np.inf], dtype))
    family.op(f'Xlog1py/{dtype}',
              'Xlog1py',
              x=random_array('x', [4, 3], dtype),
              y=random_array('y', [3], dtype, 0.0, 5.0))


def segment_gradients(family):
  rows, ids = np.array([0, 2, 2, 3], np.int32), np.array([0, 0, 1, 2], np.int32)
  for op in ('SparseSegmentSumGrad', 'SparseSegmentMeanGrad', 'SparseSegmentSqrtNGrad'):
    for dtype in ('float32', 'float64'):
      grad = random_array(op, [3, 2], dtype)
      family.op(f'{op}/{dtype}', op, grad=grad, indices=rows, segment_ids=ids, output_dim0=Constant(5))
    family.op(f'{op}/int64', op, grad=grad, indices=rows.astype(np.int64), segment_ids=ids, output_dim0=Constant(4))
    family.op(f'{op}/gaps', op, grad=grad, indices=rows, segment_ids=np.array([0, 0, 2, 2], np.int32),
              output_dim0=Constant(4))
    family.op(f'{op}/none', op, grad=grad, indices=rows[:0], segment_ids=ids[:0], output_dim0=Constant(2))
    family.op(f'{op}/no_rows', op, grad=grad, indices=rows, segment_ids=ids, output_dim0=Constant(0))


def matrix_bands(family):
  for label, shape in (('square', [3, 3]), ('wide', [2, 3, 5]), ('tall', [5, 2]), ('empty', [0, 3, 3]),
                       ('no_columns', [3, 0])):
    matrices = random_array(label, shape, 'float32')
    for lower, upper in ((0, 0), (-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1)):
      if max(lower - shape[-2], upper - shape[-1]) > 0:
        continue
      family.op(f'MatrixBandPart/{label}_{lower}_{upper}',
                'MatrixBandPart',
                input=matrices,
                num_lower=Constant(lower),
                num_upper=Constant(upper))
  for dtype in ('int32', 'int64', 'bool', 'float64'):
    family.op(f'MatrixBandPart/{dtype}',
              'MatrixBandPart',
              input=random_array(dtype, [4, 4], dtype),
              num_lower=Constant(1, np.int64),
              num_upper=Constant(2, np.int64))


def sets_and_coordinates(family):
  x, y = np.array([1, 2, 3, 2, 4], np.int32), np.array([2, 9], np.int32)
  for label, left, right in (('int32', x, y), ('float32', x.astype(np.float32), y.astype(np.float32)),
                             ('empty', x[:0], y), ('nothing_taken', x, y[:0]), ('all_taken', x, x)):
    family.op(f'ListDiff/{label}', 'ListDiff', x=left, y=right)
  family.op('ListDiff/nan', 'ListDiff', x=np.array([1, np.nan], np.float32), y=np.array([np.nan], np.float32))
  family.op('ListDiff/int64', 'ListDiff', x=x, y=y, out_idx=tf.int64)
  for axis in ([], [0]):
    for op in ('UniqueV2', 'UniqueWithCountsV2'):
      family.op(f'{op}/{len(axis)}', op, x=x, axis=Constant(axis, np.int64))
  matrix = np.array([[1, 2, 1, 2], [3, 4, 3, 5], [1, 2, 1, 2]], np.int32)
  cube = np.stack([matrix, matrix[::-1], matrix])
  for label, tensor, axis in (('rows', matrix, 0), ('columns', matrix, 1), ('last', cube, -1), ('first', cube, 0),
                              ('middle', cube, 1), ('no_rows', matrix[:0], 0), ('no_columns', matrix[:, :0], 0)):
    for op in ('UniqueV2', 'UniqueWithCountsV2'):
      family.op(f'{op}/{label}', op, x=tensor, axis=Constant([axis], np.int64))
  family.op('UniqueV2/float32', 'UniqueV2', x=np.array([[0, 1], [-0.0, 1], [np.nan, 1], [np.nan, 1]], np.float32),
            axis=Constant([0], np.int64), out_idx=tf.int64)
  for label, indices, sizes, values in (('scalar', 3, [5], [7]), ('vector', [1, 3], [5], [1, 2]),
                                        ('matrix', [[0, 1], [2, 0]], [3, 2], [1, 2]), ('none', [], [3], [])):
    at = np.array(indices, np.int32)
    for dtype in ('float32', 'int64', 'bool'):
      family.op(f'SparseToDense/{dtype}_{label}',
                'SparseToDense',
                sparse_indices=at,
                output_shape=Constant(sizes),
                sparse_values=np.array(values, dtype).reshape([] if label == 'scalar' else [-1]),
                default_value=np.array(0, dtype))
    family.op(f'SparseToDense/one_value_{label}',
              'SparseToDense',
              sparse_indices=at,
              output_shape=Constant(sizes),
              sparse_values=np.array(5, np.float32),
              default_value=np.array(-1, np.float32))
  family.op('SparseToDense/unordered',
            'SparseToDense',
            sparse_indices=np.array([3, 1, 3], np.int32),
            output_shape=Constant([5]),
            sparse_values=np.array([1, 2, 3], np.float32),
            default_value=np.array(0, np.float32),
            validate_indices=False)
  for dtype in ('float32', 'int32', 'int64'):
    numbers = random_array(dtype, [2, 4], dtype)
    for target in (tf.float32, tf.int32, tf.uint8, tf.int16):
      if dtype != 'int64' or target not in (tf.float32, tf.int32):
        family.op(f'Bitcast/{dtype}_{target.name}', 'Bitcast', input=numbers, type=target)
  family.op('Bitcast/wider', 'Bitcast', input=np.array([[1, 2], [3, 4]], np.int32), type=tf.int64)
  family.op('Bitcast/scalar', 'Bitcast', input=np.array(1, np.float32), type=tf.int32)
  family.op('ConjugateTranspose/float32', 'ConjugateTranspose', x=random_array('x', [2, 3, 4], 'float32'),
            perm=Constant([2, 0, 1]))
  for op in ('ScatterNdUpdate', 'ScatterNdAdd', 'ScatterNdSub'):
    _scatter_nd(family, op, 'rows', [[1], [0]], [2, 2])
    _scatter_nd(family, op, 'elements', [[1, 1], [2, 0]], [2])
    _scatter_nd(family, op, 'none', np.zeros([0, 2]), [0])
  for op in ('ScatterNdAdd', 'ScatterNdSub'):
    _scatter_nd(family, op, 'repeated', [[1], [1]], [2, 2])


def _scatter_nd(family, op, label, indices, shape):
  updates = random_array(op + label, shape, 'float32')

  def build():
    variable, init = reference('var', START.astype('float32'))
    update = getattr(tf.raw_ops, op)(ref=variable,
                                     indices=tf.constant(np.array(indices, np.int32)),
                                     updates=placeholder('updates', updates))
    with tf.control_dependencies([update.op]):
      tf.identity(variable, name='read')
    return [init]

  family.graph(f'{op}/{label}', build, [({'updates': updates}, ['read:0'], [])])


def mirror_gradients(family):
  for mode, cases in (('REFLECT', (([9], [[2, 3]]), ([5, 6], [[1, 1], [0, 2]]), ([3, 4, 9], [[0, 0], [1, 0], [2, 2]]),
                                   ([3], [[1, 0]]))),
                      ('SYMMETRIC', (([7], [[2, 2]]), ([6, 6], [[2, 2], [2, 2]]), ([2, 5], [[1, 0], [1, 2]]),
                                     ([3, 2], [[1, 1], [0, 0]])))):
    for shape, paddings in cases:
      for dtype in ('float32', 'float64'):
        family.op(f'MirrorPadGrad/{mode}_{dtype}_{shape}',
                  'MirrorPadGrad',
                  input=random_array(mode, shape, dtype),
                  paddings=Constant(paddings),
                  mode=mode)


FAMILIES = {
    'mirror_gradients': mirror_gradients,
    'sets_and_coordinates': sets_and_coordinates,
    'batch_norm': batch_norm,
    'special_math': special_math,
    'segment_gradients': segment_gradients,
    'matrix_bands': matrix_bands,
}
