# SPDX-License-Identifier: Apache-2.0
"""Training graphs of every optimizer, with dense gradients and with rows, and of clipped gradients."""

import numpy as np

import tensorflow.compat.v1 as tf
from golden import random_array

_OPTIMIZERS = {
    'sgd': lambda rate: tf.train.GradientDescentOptimizer(rate),
    'momentum': lambda rate: tf.train.MomentumOptimizer(rate, 0.9),
    'nesterov': lambda rate: tf.train.MomentumOptimizer(rate, 0.9, use_nesterov=True),
    'adagrad': lambda rate: tf.train.AdagradOptimizer(rate),
    'rmsprop': lambda rate: tf.train.RMSPropOptimizer(rate),
    'rmsprop_centered': lambda rate: tf.train.RMSPropOptimizer(rate, momentum=0.5, centered=True),
    'adam': lambda rate: tf.train.AdamOptimizer(rate),
}


def _variable(name, shape, dtype=np.float32, resource=False):
  return tf.get_variable(name, initializer=random_array(name, shape, dtype), use_resource=resource)


def _dense(dtype=np.float32, resource=False):
  with tf.device('/cpu:0'):
    w = _variable('w', [3, 2], dtype, resource)
  with tf.device('/gpu:0'):
    b = _variable('b', [2], dtype, resource)
    x = tf.placeholder(dtype, [4, 3], name='x')
    return tf.reduce_mean(tf.square(tf.tanh(tf.nn.bias_add(tf.matmul(x, w), b))), name='loss')


def _rows(resource=False):
  with tf.device('/gpu:1'):
    table = _variable('table', [5, 2], resource=resource)
  x = tf.placeholder(np.int32, [4], name='x')
  return tf.reduce_sum(tf.square(tf.gather(table, x)), name='loss')


def _feeds(loss):
  if loss.graph.get_tensor_by_name('x:0').dtype == tf.int32:
    return np.array([1, 3, 1, 0], np.int32)
  return random_array('x', [4, 3], loss.dtype.as_numpy_dtype)


def record(family):
  for name, make in _OPTIMIZERS.items():
    family.training(f'{name}/dense', _dense, _feeds, lambda loss, make=make: make(0.1).minimize(loss))
    family.training(f'{name}/rows', _rows, _feeds, lambda loss, make=make: make(0.1).minimize(loss))
    family.training(f'{name}/handles', lambda: _dense(resource=True), _feeds,
                    lambda loss, make=make: make(0.1).minimize(loss))
    family.training(f'{name}/handle_rows', lambda: _rows(resource=True), _feeds,
                    lambda loss, make=make: make(0.1).minimize(loss))
  for name in ('sgd', 'adam'):
    make = _OPTIMIZERS[name]
    family.training(f'{name}/double', lambda: _dense(np.float64), _feeds,
                    lambda loss, make=make: make(0.1).minimize(loss))
    family.training(f'{name}/colocated', _dense, _feeds,
                    lambda loss, make=make: make(0.1).minimize(loss, colocate_gradients_with_ops=True))

    def with_rate(loss, make=make):
      rate = tf.multiply(tf.constant(0.5), 0.2, name='rate')
      return rate, lambda: make(rate).minimize(loss)

    family.training(f'{name}/rate', _dense, _feeds, None, prepare=with_rate)

    def clip(loss, make=make, by=tf.clip_by_norm):
      optimizer = make(0.1)
      pairs = optimizer.compute_gradients(loss)
      return optimizer.apply_gradients([(by(g, 0.01), v) for g, v in pairs])

    family.training(f'{name}/clipped', _dense, _feeds, clip)
    family.training(f'{name}/clipped_rows', _rows, _feeds, clip)

    def clip_all(loss, make=make):
      optimizer = make(0.1)
      gradients, variables = zip(*optimizer.compute_gradients(loss))
      gradients, _ = tf.clip_by_global_norm(gradients, 0.01)
      return optimizer.apply_gradients(zip(gradients, variables))

    family.training(f'{name}/clipped_together', _dense, _feeds, clip_all)

  def counted(loss):
    step = tf.get_variable('step', initializer=0, trainable=False, use_resource=False)
    return step, lambda: _OPTIMIZERS['adam'](0.1).minimize(loss, global_step=step)

  family.training('adam/counted', _dense, _feeds, None, prepare=counted)

  def counted_behind_a_handle(loss):
    step = tf.get_variable('step', initializer=0, trainable=False, use_resource=True)
    return step, lambda: _OPTIMIZERS['adam'](0.1).minimize(loss, global_step=step)

  family.training('adam/handles_counted', lambda: _dense(resource=True), _feeds, None, prepare=counted_behind_a_handle)
