# SPDX-License-Identifier: Apache-2.0
"""Gradients of what layers of networks are made of, in images and volumes."""

import numpy as np

import golden
import sample_graphs
import tensorflow.compat.v1 as tf
from op_cases.gradient_feeds import integers as _ints
from op_cases.gradient_feeds import numbers as _x


def network(family):
  family.op('BiasAdd', 'BiasAdd', {'value': _x('v', [2, 3]), 'bias': _x('b', [3])})
  family.op('BiasAdd/images', 'BiasAdd', {'value': _x('v', [2, 2, 2, 3]), 'bias': _x('b', [3])})
  family.op('Softmax', 'Softmax', {'logits': _x('l', [2, 3])})
  family.op('LogSoftmax', 'LogSoftmax', {'logits': _x('l', [2, 3])})
  labels = np.array([[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]])
  family.op('SoftmaxCrossEntropyWithLogits', 'SoftmaxCrossEntropyWithLogits',
            {'features': _x('f', [2, 3]), 'labels': labels})
  family.op('SoftmaxCrossEntropyWithLogits/both', 'SoftmaxCrossEntropyWithLogits',
            {'features': _x('f', [2, 3]), 'labels': labels}, output='all', xs=['features'])
  family.op('SparseSoftmaxCrossEntropyWithLogits', 'SparseSoftmaxCrossEntropyWithLogits',
            {'features': _x('f', [2, 3]), 'labels': _ints([2, 0], 'int64')})
  for op, argument in (('MaxPool', 'input'), ('AvgPool', 'value')):
    for padding in ('SAME', 'VALID'):
      family.op(f'{op}/{padding}', op, {argument: _x(op, [1, 4, 5, 2])}, ksize=[1, 2, 2, 1], strides=[1, 2, 1, 1],
                padding=padding)
  family.op('LRN', 'LRN', {'input': _x('l', [1, 2, 2, 5], dtype='float32')}, depth_radius=2, bias=1.0, alpha=0.5,
            beta=0.75, within=golden.FLOAT32_SUM)
  for version in ('', 'V2', 'V3'):
    for training in (True, False):
      arrays = {n: _x(n, [2], 0.5, 2, 'float32') for n in ('scale', 'offset')}
      if training:
        arrays.update(mean=np.zeros([0], np.float32), variance=np.zeros([0], np.float32))
      else:
        arrays.update({n: _x(n, [2], 0.5, 2, 'float32') for n in ('mean', 'variance')})
      family.op(f'FusedBatchNorm{version}/{training}', f'FusedBatchNorm{version}',
                {'x': _x('x', [2, 3, 2, 2], dtype='float32'), **arrays}, xs=['x', 'scale', 'offset'],
                is_training=training, within=golden.FLOAT32_SUM)


def depthwise(family):
  for padding in ('SAME', 'VALID'):
    family.op(f'DepthwiseConv2dNative/{padding}', 'DepthwiseConv2dNative',
              {'input': _x('i', [1, 4, 5, 2]), 'filter': _x('f', [2, 3, 2, 2])}, strides=[1, 1, 1, 1], padding=padding)
    out = [1, 4, 5, 4] if padding == 'SAME' else [1, 3, 3, 4]
    family.case(f'DepthwiseConv2dNativeBackpropInput/{padding}',
                lambda filter, out_backprop, padding=padding: tf.raw_ops.DepthwiseConv2dNativeBackpropInput(
                    input_sizes=tf.constant([1, 4, 5, 2]), filter=filter, out_backprop=out_backprop,
                    strides=[1, 1, 1, 1], padding=padding),
                {'filter': _x('f', [2, 3, 2, 2]), 'out_backprop': _x('o', out)})
    family.case(f'DepthwiseConv2dNativeBackpropFilter/{padding}',
                lambda input, out_backprop, padding=padding: tf.raw_ops.DepthwiseConv2dNativeBackpropFilter(
                    input=input, filter_sizes=tf.constant([2, 3, 2, 2]), out_backprop=out_backprop,
                    strides=[1, 1, 1, 1], padding=padding),
                {'input': _x('i', [1, 4, 5, 2]), 'out_backprop': _x('o', out)})


def _pooled(volumes_in, window):
  with tf.Graph().as_default() as graph, sample_graphs.plain_session(graph, 1, 1) as session:
    return session.run(tf.raw_ops.MaxPool3D(input=tf.constant(volumes_in), **window))


def volumes(family):
  # No two so close that a small step makes the other one the largest.
  apart = (np.random.RandomState(3).permutation(72).reshape([1, 3, 4, 3, 2]) / 10).astype(np.float32)
  for padding in ('SAME', 'VALID'):
    out = [1, 3, 4, 3, 2] if padding == 'SAME' else [1, 2, 2, 2, 2]
    family.op(f'Conv3D/{padding}', 'Conv3D', {'input': _x('i', [1, 3, 4, 3, 2]), 'filter': _x('f', [2, 3, 2, 2, 2])},
              strides=[1, 2, 1, 1, 1], padding=padding)
    family.case(f'Conv3DBackpropInputV2/{padding}',
                lambda filter, out_backprop, padding=padding: tf.raw_ops.Conv3DBackpropInputV2(
                    input_sizes=tf.constant([1, 3, 4, 3, 2]), filter=filter, out_backprop=out_backprop,
                    strides=[1, 1, 1, 1, 1], padding=padding),
                {'filter': _x('f', [2, 3, 2, 2, 2]), 'out_backprop': _x('o', out)})
    family.case(f'Conv3DBackpropFilterV2/{padding}',
                lambda input, out_backprop, padding=padding: tf.raw_ops.Conv3DBackpropFilterV2(
                    input=input, filter_sizes=tf.constant([2, 3, 2, 2, 2]), out_backprop=out_backprop,
                    strides=[1, 1, 1, 1, 1], padding=padding),
                {'input': _x('i', [1, 3, 4, 3, 2]), 'out_backprop': _x('o', out)})
    window = {'ksize': [1, 2, 2, 2, 1], 'strides': [1, 2, 1, 2, 1], 'padding': padding}
    family.op(f'MaxPool3D/{padding}', 'MaxPool3D', {'input': apart}, **window)
    pooled = _pooled(apart, window)
    family.op(f'MaxPool3DGrad/{padding}', 'MaxPool3DGrad',
              {'grad': _x('g', pooled.shape, dtype='float32'), 'orig_input': apart, 'orig_output': pooled},
              xs=['grad'], **window)
    family.op(f'MaxPool3DGradGrad/{padding}', 'MaxPool3DGradGrad',
              {'grad': _x('gg', apart.shape, dtype='float32'), 'orig_input': apart, 'orig_output': pooled},
              xs=['grad'], **window)
    family.op(f'AvgPool3D/{padding}', 'AvgPool3D',
              {'input': _x('p', [1, 3, 4, 3, 2], dtype='float32')}, **window)
    family.case(f'AvgPool3DGrad/{padding}',
                lambda grad, window=window: tf.raw_ops.AvgPool3DGrad(
                    orig_input_shape=tf.constant([1, 3, 4, 3, 2]), grad=grad, **window),
                {'grad': _x('g', [1, 2, 4, 2, 2] if padding == 'SAME' else [1, 1, 3, 1, 2], dtype='float32')})
  for kind in ('ResizeBilinear', 'ResizeNearestNeighbor'):
    for unknown in ((), ('images',)):
      family.case(f'{kind}/{"unknown" if unknown else "known"}',
                  lambda images, kind=kind: getattr(tf.raw_ops, kind)(images=images, size=tf.constant([5, 4]),
                                                                      half_pixel_centers=True),
                  {'images': _x('images', [1, 3, 2, 2], dtype='float32')}, unknown=unknown,
                  within=golden.FLOAT32_SUM)
  family.op('DepthToSpace', 'DepthToSpace', {'input': _x('d', [1, 2, 2, 8])}, block_size=2)
  family.op('SpaceToDepth', 'SpaceToDepth', {'input': _x('s', [1, 4, 2, 2])}, block_size=2)
  family.case('ReverseSequence', lambda input, lengths: tf.reverse_sequence(input, lengths, seq_axis=1, batch_axis=0),
              {'input': _x('r', [2, 4, 2]), 'lengths': _ints([3, 1])})
