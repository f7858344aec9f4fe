# SPDX-License-Identifier: Apache-2.0
"""Small graphs for every op with a gradient, with exact shapes and, where TensorFlow then writes other ops, without."""

import numpy as np

import sample_graphs
import tensorflow.compat.v1 as tf
from op_cases import gradient_array_cases
from op_cases import gradient_math_cases
from op_cases import gradient_network_cases
from op_cases.gradient_feeds import numbers as _x


def second(family):
  for op in ('InvGrad', 'ReciprocalGrad', 'SqrtGrad', 'RsqrtGrad', 'TanhGrad', 'SigmoidGrad'):
    family.op(op, op, {'y': _x(op, [3], 0.3, 0.9), 'dy': _x(op + 'dy', [3])})
  for op in ('ReluGrad', 'Relu6Grad', 'LeakyReluGrad', 'SoftplusGrad'):
    family.op(op, op, {'gradients': _x(op, [4]), 'features': _x(op + 'x', [4])})
  for op in ('EluGrad', 'SeluGrad'):
    family.op(op, op, {'gradients': _x(op, [4]), 'outputs': _x(op + 'x', [4], -0.9, 0.9)})
  family.op('BiasAddGrad', 'BiasAddGrad', {'out_backprop': _x('b', [2, 3])})
  family.case('AvgPoolGrad', lambda grad: tf.raw_ops.AvgPoolGrad(
      orig_input_shape=[1, 4, 4, 1], grad=grad, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding='VALID'),
              {'grad': _x('g', [1, 2, 2, 1])})
  for padding in ('SAME', 'VALID'):
    x = _x('pool', [1, 4, 5, 2])
    y = tf.nn.max_pool(tf.constant(x), [1, 2, 3, 1], [1, 2, 1, 1], padding)
    with sample_graphs.plain_session(y.graph) as session:
      y = session.run(y)
    family.op(f'MaxPoolGrad/{padding}', 'MaxPoolGrad', {'grad': _x('g', y.shape), 'orig_input': x, 'orig_output': y},
              xs=['grad'], ksize=[1, 2, 3, 1], strides=[1, 2, 1, 1], padding=padding)
    family.op(f'MaxPoolGradGrad/{padding}', 'MaxPoolGradGrad',
              {'grad': _x('gg', x.shape), 'orig_input': x, 'orig_output': y},
              xs=['grad'], ksize=[1, 2, 3, 1], strides=[1, 2, 1, 1], padding=padding)
  rows = {'y_backprop': [2, 3, 2, 4], 'x': [2, 3, 2, 4], 'scale': [4]}
  for version in ('', 'V2', 'V3'):
    for training in (True, False):
      feeds = {n: _x(n, shape, 0.5, 2.0, 'float32') for n, shape in rows.items()}
      mean, variance = feeds['x'].mean((0, 1, 2)), feeds['x'].var((0, 1, 2))
      extra = {'reserve_space_3': np.zeros([0], np.float32)} if version == 'V3' else {}
      feeds.update(reserve_space_1=mean, reserve_space_2=variance, **extra)
      family.op(f'FusedBatchNormGrad{version}/{training}', f'FusedBatchNormGrad{version}', feeds, output='first3',
                xs=['y_backprop', 'x', 'scale'], epsilon=0.01, is_training=training,
                within={'rtol': 2e-3, 'atol': 2e-3})
  family.case('StridedSliceGrad', lambda dy: tf.raw_ops.StridedSliceGrad(
      shape=[4], begin=[1], end=[4], strides=[2], dy=dy), {'dy': _x('dy', [2])})


def networks(family):
  """Several ops, where gradients meet, are not wanted, or go nowhere."""
  family.case('fan_out', lambda x: tf.tanh(x) * tf.sigmoid(x) + x, {'x': _x('x', [2, 3])})
  family.case('two_ys', lambda x, y: [tf.matmul(x, y), tf.square(x)], {'x': _x('x', [2, 3]), 'y': _x('y', [3, 2])})
  family.case('unconnected', lambda x, y: tf.square(x), {'x': _x('x', [3]), 'y': _x('y', [3])})
  family.case('through_x', lambda x: tf.square(tf.identity(x)), {'x': _x('x', [3])})

  def devices(x, y):
    with tf.device('/gpu:0'):
      a = tf.square(x)
    with tf.device('/gpu:1'):
      b = tf.tanh(x) * y
    with tf.device('/cpu:0'):
      return a + b

  for colocate in (False, True):
    family.case(f'devices/{colocate}', devices, {'x': _x('x', [3]), 'y': _x('y', [3])}, colocate=colocate)

  def layers(x, w, b, v):
    hidden = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w), b))
    return tf.reduce_mean(tf.square(tf.squeeze(tf.matmul(hidden, v), 1)))

  feeds = {'x': _x('x', [4, 3]), 'w': _x('w', [3, 5]), 'b': _x('b', [5]), 'v': _x('v', [5, 1])}
  family.case('layers', layers, dict(feeds))
  family.case('layers/unknown', layers, dict(feeds), unknown=['x'])
  family.case('layers/colocated', layers, dict(feeds), colocate=True)


FAMILIES = {
    'unary': gradient_math_cases.unary,
    'binary': gradient_math_cases.binary,
    'reductions': gradient_math_cases.reductions,
    'linear': gradient_math_cases.linear,
    'factors': gradient_math_cases.factors,
    'depthwise': gradient_network_cases.depthwise,
    'einsum': gradient_math_cases.einsum,
    'segment_rows': gradient_array_cases.segment_rows,
    'volumes': gradient_network_cases.volumes,
    'network': gradient_network_cases.network,
    'array': gradient_array_cases.array,
    'slices': gradient_array_cases.slices,
    'gather': gradient_array_cases.gather,
    'segments': gradient_array_cases.segments,
    'second': second,
    'networks': networks,
}
