# SPDX-License-Identifier: Apache-2.0
"""Fit of a second-degree polynomial by Adam, on one device and split over two.

The placeholders are vectors of any length: with an unknown rank, today's `tf.matmul` would choose the
batched product, where TensorFlow 1 wrote a plain MatMul.
"""

import tensorflow.compat.v1 as tf

BATCH = 100
FEED_SEED = 7


def _make_parallel(function, devices, **inputs):
  """Runs `function` on equal slices of the inputs, one slice a device, with shared variables."""
  slices = {name: tf.split(value, devices) for name, value in inputs.items()}
  outputs = []
  for i in range(devices):
    with tf.device(tf.DeviceSpec(device_type='GPU', device_index=i)):
      with tf.variable_scope(tf.get_variable_scope(), reuse=i > 0):
        outputs.append(function(**{name: parts[i] for name, parts in slices.items()}))
  return tf.concat(outputs, axis=0)


def _model(x, y):
  w = tf.get_variable('w',
                      shape=[3, 1],
                      initializer=tf.glorot_uniform_initializer(seed=3),
                      use_resource=False)
  features = tf.stack([tf.square(x), x, tf.ones_like(x)], 1)
  estimate = tf.squeeze(tf.matmul(features, w), 1)
  return tf.square(estimate - y)


def build(parallel):
  """Returns (graph, run configuration)."""
  graph = tf.Graph()
  with graph.as_default():
    tf.set_random_seed(1)
    x = tf.placeholder(tf.float32, [None], name='x')
    y = tf.placeholder(tf.float32, [None], name='y')
    losses = _make_parallel(_model, 2, x=x, y=y) if parallel else _model(x, y)
    mean = tf.reduce_mean(losses)
    train = tf.train.AdamOptimizer(0.1).minimize(mean, colocate_gradients_with_ops=parallel)
    init = tf.global_variables_initializer()
  run = {
      'init': [init.name],
      'feeds': {
          'x': {
              'dtype': 'float32',
              'shape': [BATCH],
              'generator': 'uniform',
              'low': -10.0,
              'high': 10.0,
              'seed': FEED_SEED,
          },
          'y': {
              'dtype': 'float32',
              'shape': [BATCH],
              'generator': 'polynomial',
              'of': 'x',
              'coefficients': [3.0, 0.0, 5.0],
          },
      },
      'fetches': [mean.name],
      'targets': [train.name],
      'batch_axis': {
          'x': 0,
          'y': 0
      },
      'loss': mean.name,
  }
  return graph, run
