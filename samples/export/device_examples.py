# SPDX-License-Identifier: Apache-2.0
"""Four small graphs that show device scopes: products and sums over one, two and mixed devices."""

import tensorflow.compat.v1 as tf

_VALUES = [1.0, 2.0, 3.0, 4.0]


def _gpu(index):
  return tf.DeviceSpec(device_type='GPU', device_index=index)


def _run(*fetches):
  return {'init': [], 'feeds': {}, 'fetches': [f.name for f in fetches], 'targets': [], 'batch_axis': {}}


def _matmul_cpu_gpu():
  with tf.device('/cpu:0'):
    a = tf.constant(_VALUES, shape=[2, 2], name='a')
    b = tf.constant(_VALUES, shape=[2, 2], name='b')
  return _run(tf.matmul(a, b))


def _two_towers_matmul():
  products = []
  for device in ('/gpu:2', '/gpu:3'):
    with tf.device(device):
      a = tf.constant(_VALUES, shape=[2, 2])
      b = tf.constant(_VALUES, shape=[2, 2])
      products.append(tf.matmul(a, b))
  with tf.device('/cpu:0'):
    return _run(tf.add_n(products))


def _random_pair():
  with tf.device(_gpu(0)):
    return tf.random_uniform([1000, 100], seed=101), tf.random_uniform([1000, 100], seed=102)


def _random_add():
  a, b = _random_pair()
  with tf.device(_gpu(0)):
    return _run(a + b)


def _random_add_split():
  a, b = _random_pair()
  split_a, split_b = tf.split(a, 2), tf.split(b, 2)
  split_c = []
  for i in range(2):
    with tf.device(_gpu(i)):
      split_c.append(split_a[i] + split_b[i])
  return _run(tf.concat(split_c, axis=0))


_EXAMPLES = {
    'matmul_cpu_gpu': _matmul_cpu_gpu,
    'two_towers_matmul': _two_towers_matmul,
    'random_add': _random_add,
    'random_add_split': _random_add_split,
}

NAMES = tuple(_EXAMPLES)


def build(name):
  """Returns (graph, run configuration)."""
  graph = tf.Graph()
  with graph.as_default():
    tf.set_random_seed(1)
    run = _EXAMPLES[name]()
  return graph, run
