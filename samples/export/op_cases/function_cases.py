# SPDX-License-Identifier: Apache-2.0
"""Graphs that call functions of their library, as tf.function and Defun write them."""

import numpy as np

import tensorflow.compat.v1 as tf
from golden import random_array
from tensorflow.python.framework import function as legacy


def _x(name, shape=(2, 3)):
  return random_array(name, list(shape), np.float32)


def _nested():

  @tf.function
  def inner(x, y):
    return tf.square(x) + y, tf.tanh(y)

  @tf.function
  def outer(x):
    a, b = inner(x, 2.0 * x)
    c, _ = inner(b, a)
    return a * b, c, x

  x = tf.placeholder(tf.float32, [2, 3], name='x')
  for i, y in enumerate(outer(x)):
    tf.identity(y, name=f'y{i}')


def _several_outputs():

  @tf.function
  def parts(x):
    first, second, third = tf.split(x, 3, axis=1)
    values, indices = tf.math.top_k(x, 2)
    unique, places = tf.unique(tf.reshape(indices, [-1]))
    return third - first, second, values, unique, places, tf.stack([first, third])

  x = tf.placeholder(tf.float32, [2, 3], name='x')
  for i, y in enumerate(parts(x)):
    tf.identity(y, name=f'y{i}')


def _effects():
  v = tf.get_variable('v', [2], initializer=tf.ones_initializer(), use_resource=True)

  @tf.function
  def step(x):
    v.assign_add(x)
    before = v * 2.0
    v.assign(v * 3.0)
    return before

  x = tf.placeholder(tf.float32, [2], name='x')
  y = tf.identity(step(x), name='y')
  with tf.control_dependencies([y]):
    tf.identity(v.read_value(), name='after')
  return [v.initializer]


def _branches():

  @tf.function
  def choose(x, flag):
    y, z = tf.cond(flag, lambda: (x * 2.0, x), lambda: (tf.exp(x), -x))
    return y + z

  x = tf.placeholder(tf.float32, [2, 3], name='x')
  flag = tf.placeholder(tf.bool, [], name='flag')
  tf.identity(choose(x, flag), name='y')


def _by_name():

  @legacy.Defun(tf.float32, tf.float32)
  def add_squares(a, b):
    return tf.square(a) + tf.square(b), tf.reduce_max(a)

  x = tf.placeholder(tf.float32, [2, 3], name='x')
  y, z = add_squares(x, x + 1.0)
  tf.identity(y, name='y')
  tf.identity(z, name='z')


def _waits():
  """A call waits for what its node waits for."""
  v = tf.get_variable('v', [], initializer=tf.zeros_initializer(), use_resource=True)

  @tf.function
  def read():
    return v + 1.0

  with tf.control_dependencies([v.assign(tf.placeholder(tf.float32, [], name='x'))]):
    tf.identity(read(), name='y')
  return [v.initializer]


def functions(family):
  family.graph('nested', _nested, [({'x': _x('nested')}, ['y0:0', 'y1:0', 'y2:0'], [])])
  outputs = [f'y{i}:0' for i in range(6)]
  family.graph('several_outputs', _several_outputs, [({'x': _x('parts')}, outputs, [])])
  x = np.array([0.5, -1.0], np.float32)
  family.graph('effects', _effects, [({'x': x}, ['y:0'], []), ({'x': x}, ['y:0', 'after:0'], [])])
  family.graph('branches', _branches,
               [({'x': _x('branches'), 'flag': np.array(flag)}, ['y:0'], []) for flag in (True, False)])
  family.graph('by_name', _by_name, [({'x': _x('by_name')}, ['y:0', 'z:0'], [])])
  family.graph('waits', _waits, [({'x': np.array(value, np.float32)}, ['y:0'], []) for value in (3, 4)])


FAMILIES = {'functions': functions}
