# SPDX-License-Identifier: Apache-2.0
"""Layers of the benchmark networks: graph mode, reference variables, fixed seeds."""

import tensorflow.compat.v1 as tf

BATCH_NORM_DECAY = 0.9
# Whether the size of the batch is left open and images are made where they are used, of one number each.
SYNTHETIC = False


def variable(name, shape, stddev=None, value=0.0, trainable=True):
  """Of truncated normal values where `stddev` is given, else of one value."""
  seed = 1 + len(tf.global_variables())
  initializer = tf.constant_initializer(value) if stddev is None else tf.truncated_normal_initializer(stddev=stddev, seed=seed)
  return tf.get_variable(name, shape, tf.float32, initializer, trainable=trainable, use_resource=False)


def conv(x, name, size, filters, stride=1, padding='SAME', bias=False):
  height, width = size if isinstance(size, tuple) else (size, size)
  channels = int(x.shape[-1])
  with tf.variable_scope(name):
    weights = variable('weights', [height, width, channels, filters], (2.0 / (height * width * channels))**0.5)
    y = tf.nn.conv2d(x, weights, [1, stride, stride, 1], padding)
    return tf.nn.bias_add(y, variable('biases', [filters])) if bias else y


def batch_norm(x, name='norm'):
  channels = int(x.shape[-1])
  with tf.variable_scope(name):
    scale, offset = variable('scale', [channels], value=1.0), variable('offset', [channels])
    means = [variable(n, [channels], value=v, trainable=False) for n, v in (('mean', 0.0), ('variance', 1.0))]
    y, *moments = tf.nn.fused_batch_norm(x, scale, offset, epsilon=1e-3, is_training=True)
    for mean, moment in zip(means, moments):
      tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign_sub(mean, (mean - moment) * (1 - BATCH_NORM_DECAY)))
    return y


def conv_norm(x, name, size, filters, stride=1, padding='SAME', relu=True):
  with tf.variable_scope(name):
    y = batch_norm(conv(x, 'conv', size, filters, stride, padding))
    return tf.nn.relu(y) if relu else y


def max_pool(x, size, stride, padding='SAME'):
  return tf.nn.max_pool(x, [1, size, size, 1], [1, stride, stride, 1], padding)


def dense(x, name, units, stddev=None):
  width = int(x.shape[-1])
  with tf.variable_scope(name):
    weights = variable('weights', [width, units], stddev or (1.0 / width)**0.5)
    return tf.matmul(x, weights) + variable('biases', [units])


def inputs(batch, shape, classes):
  """Placeholders of images or vectors and their labels, and the feeds of a run configuration."""
  labels = tf.placeholder(tf.int32, [None if SYNTHETIC else batch], name='labels')
  if SYNTHETIC:
    seed = tf.placeholder(tf.float32, [None], name='images')
    images = tf.tile(tf.reshape(seed, [-1] + [1] * len(shape)), [1, *shape])
  else:
    images = tf.placeholder(tf.float32, [batch, *shape], name='images')
  fed = [batch] if SYNTHETIC else [batch, *shape]
  feeds = {
      'images': {'dtype': 'float32', 'shape': fed, 'generator': 'uniform', 'low': -1.0, 'high': 1.0, 'seed': 1},
      'labels': {'dtype': 'int32', 'shape': [batch], 'generator': 'integers', 'low': 0, 'high': classes, 'seed': 2},
  }
  return images, labels, feeds


def token_inputs(batch, steps, words):
  """Placeholders of texts and the words that follow each of theirs, and the feeds of a run configuration."""
  names = ('tokens', 'labels')
  feeds = {name: {'dtype': 'int32', 'shape': [batch, steps], 'generator': 'integers', 'low': 0, 'high': words, 'seed': seed}
           for seed, name in enumerate(names, 1)}
  return *(tf.placeholder(tf.int32, [batch, steps], name=name) for name in names), feeds


def finish(logits, labels, feeds, rate=0.001):
  """Loss and one step of gradient descent with momentum. Returns (graph, run configuration)."""
  loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits), name='loss')
  step = tf.train.MomentumOptimizer(rate, 0.9).minimize(loss)
  train = tf.group(step, *tf.get_collection(tf.GraphKeys.UPDATE_OPS), name='train')
  init = tf.global_variables_initializer()
  run = {'init': [init.name], 'feeds': feeds, 'fetches': [loss.name], 'targets': [train.name], 'loss': loss.name}
  return tf.get_default_graph(), run
