# SPDX-License-Identifier: Apache-2.0
"""The CIFAR-10 tutorial network with one tower a GPU: variables and gradient averaging on the CPU."""

import tensorflow.compat.v1 as tf
from tensorflow.python.training import moving_averages

TOWER_BATCH = 128
IMAGE = 24
CLASSES = 10
TRAIN_IMAGES = 50000
EPOCHS_PER_DECAY = 350.0
INITIAL_LEARNING_RATE = 0.1
DECAY_FACTOR = 0.1
MOVING_AVERAGE_DECAY = 0.9999
FEED_SEED = 10


def _variable_on_cpu(name, shape, initializer):
  with tf.device('/cpu:0'):
    return tf.get_variable(name, shape, initializer=initializer, dtype=tf.float32, use_resource=False)


def _weights(shape, stddev, seed, wd=None):
  """A truncated normal kernel; with `wd`, its weighted L2 norm joins the losses."""
  variable = _variable_on_cpu('weights', shape, tf.truncated_normal_initializer(stddev=stddev, seed=seed))
  if wd is not None:
    tf.add_to_collection('losses', tf.multiply(tf.nn.l2_loss(variable), wd, name='weight_loss'))
  return variable


def _biases(size, value):
  return _variable_on_cpu('biases', [size], tf.constant_initializer(value))


def _conv(inputs, name, shape, bias, seed):
  with tf.variable_scope(name) as scope:
    conv = tf.nn.conv2d(inputs, _weights(shape, 5e-2, seed), [1, 1, 1, 1], padding='SAME')
    return tf.nn.relu(tf.nn.bias_add(conv, _biases(shape[-1], bias)), name=scope.name)


def _pool(inputs, name):
  return tf.nn.max_pool(inputs, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding='SAME', name=name)


def _norm(inputs, name):
  return tf.nn.lrn(inputs, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75, name=name)


def _local(inputs, name, units, seed):
  with tf.variable_scope(name) as scope:
    weights = _weights([inputs.shape[-1], units], 0.04, seed, wd=0.004)
    return tf.nn.relu(tf.matmul(inputs, weights) + _biases(units, 0.1), name=scope.name)


def _inference(images):
  conv1 = _conv(images, 'conv1', [5, 5, 3, 64], 0.0, seed=1)
  norm1 = _norm(_pool(conv1, 'pool1'), 'norm1')
  conv2 = _conv(norm1, 'conv2', [5, 5, 64, 64], 0.1, seed=2)
  pool2 = _pool(_norm(conv2, 'norm2'), 'pool2')
  flat = tf.reshape(pool2, [-1, 6 * 6 * 64])
  local4 = _local(_local(flat, 'local3', 384, seed=3), 'local4', 192, seed=4)
  with tf.variable_scope('softmax_linear') as scope:
    weights = _weights([192, CLASSES], 1 / 192.0, seed=5)
    return tf.add(tf.matmul(local4, weights), _biases(CLASSES, 0.0), name=scope.name)


def _tower_loss(scope, images, labels):
  logits = _inference(images)
  entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.cast(labels, tf.int64),
                                                           logits=logits,
                                                           name='cross_entropy_per_example')
  tf.add_to_collection('losses', tf.reduce_mean(entropy, name='cross_entropy'))
  return tf.add_n(tf.get_collection('losses', scope), name='total_loss')


def _average_gradients(tower_gradients):
  averaged = []
  for pairs in zip(*tower_gradients):
    stacked = tf.concat([tf.expand_dims(gradient, 0) for gradient, _ in pairs], axis=0)
    averaged.append((tf.reduce_mean(stacked, 0), pairs[0][1]))
  return averaged


def _moving_averages(variables, step):
  """Shadow copies that follow the variables.

  Written out because `ExponentialMovingAverage.apply` starts its copies by a conditional. Here copy and
  variable read the same initial value, which one run of the initialiser computes once. The variables are
  read anew: their first reading may or may not show an update of the same step.
  """
  decay = tf.minimum(MOVING_AVERAGE_DECAY, (1.0 + step) / (10.0 + step))
  updates = []
  for variable in variables:
    shadow = tf.get_variable(f'{variable.op.name}/ExponentialMovingAverage',
                             initializer=variable.initial_value,
                             trainable=False,
                             use_resource=False)
    value = variable.read_value()
    updates.append(moving_averages.assign_moving_average(shadow, value, decay, zero_debias=False))
  return tf.group(*updates, name='ExponentialMovingAverage')


def _fed_parts(towers):
  """Placeholders of images and labels, a part of both for every tower."""
  images = tf.placeholder(tf.float32, [None, IMAGE, IMAGE, 3], name='images')
  labels = tf.placeholder(tf.int32, [None], name='labels')

  def parts():
    image_parts = tf.split(images, towers) if towers > 1 else [images]
    label_parts = tf.split(labels, towers) if towers > 1 else [labels]
    return list(zip(image_parts, label_parts))

  return parts


def _build_towers(towers, optimizer, parts):
  """Returns the losses and the (gradient, variable) lists of all towers."""
  losses, gradients = [], []
  with tf.variable_scope(tf.get_variable_scope()):
    for i in range(towers):
      with tf.device(f'/gpu:{i}'), tf.name_scope(f'tower_{i}') as scope:
        losses.append(_tower_loss(scope, *parts[i]))
        tf.get_variable_scope().reuse_variables()
        gradients.append(optimizer.compute_gradients(losses[-1]))
  return losses, gradients


def build(towers, inputs=_fed_parts, feeds=True):
  """Returns (graph, run configuration).

  `inputs(towers)` makes what the graph begins with, and what it returns gives each tower's images and labels.
  """
  batch = TOWER_BATCH * towers
  graph = tf.Graph()
  with graph.as_default(), tf.device('/cpu:0'):
    tf.set_random_seed(1)
    parts = inputs(towers)
    global_step = tf.get_variable('global_step', [],
                                  initializer=tf.constant_initializer(0),
                                  trainable=False,
                                  use_resource=False)
    decay_steps = int(TRAIN_IMAGES / batch * EPOCHS_PER_DECAY)
    rate = tf.train.exponential_decay(INITIAL_LEARNING_RATE,
                                      global_step,
                                      decay_steps,
                                      DECAY_FACTOR,
                                      staircase=True)
    optimizer = tf.train.GradientDescentOptimizer(rate)
    losses, gradients = _build_towers(towers, optimizer, parts())
    apply_gradients = optimizer.apply_gradients(_average_gradients(gradients), global_step=global_step)
    with tf.control_dependencies([apply_gradients]):
      averages = _moving_averages(tf.trainable_variables(), global_step.read_value())
    train = tf.group(apply_gradients, averages, name='train')
    loss = tf.divide(tf.add_n(losses), float(towers), name='loss')
    init = tf.global_variables_initializer()
  run = {
      'init': [init.name],
      'feeds': {
          'images': {
              'dtype': 'float32',
              'shape': [batch, IMAGE, IMAGE, 3],
              'generator': 'uniform',
              'low': -1.75,
              'high': 1.75,
              'seed': FEED_SEED,
          },
          'labels': {
              'dtype': 'int32',
              'shape': [batch],
              'generator': 'integers',
              'low': 0,
              'high': CLASSES,
              'seed': FEED_SEED,
          },
      },
      'fetches': [loss.name],
      'targets': [train.name],
      'batch_axis': {
          'images': 0,
          'labels': 0
      },
      'loss': loss.name,
  }
  if not feeds:
    del run['feeds'], run['batch_axis']
  return graph, run
