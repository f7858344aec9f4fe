# SPDX-License-Identifier: Apache-2.0
"""Loops, arrays and stacks as TensorFlow 1 writes them."""

import numpy as np

import golden
import tensorflow.compat.v1 as tf
from golden import random_array
from op_cases import control_flow_cases
from op_cases.control_flow_cases import _x


def _array_of_parts():
  x = tf.placeholder(tf.float32, [6, 2], name='x')
  array = tf.TensorArray(tf.float32, 3, infer_shape=False, clear_after_read=False).split(x, [1, 3, 2])
  tf.identity(array.concat(), name='joined')
  tf.identity(array.read(1), name='second')
  tf.identity(array.size(), name='size')
  g, = tf.gradients(tf.reduce_sum(array.read(1) * array.read(1)) + tf.reduce_sum(tf.exp(array.concat())), [x])
  tf.identity(g, name='g')


def _array():
  """Elements written in a loop, some of them never."""
  x = tf.placeholder(tf.float32, [3, 2], name='x')
  written = tf.TensorArray(tf.float32, 5, element_shape=[2], clear_after_read=False)
  read = tf.TensorArray(tf.float32, 3).unstack(x)
  _, written = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i + 1, read.read(i) * 3.0)), (0, written))
  tf.identity(written.stack(), name='y')
  tf.identity(written.gather([2, 0]), name='z')


def _growing_array():
  x = tf.placeholder(tf.float32, [3, 2], name='x')
  array = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[2])
  _, array = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i, tf.exp(x[i]))), (0, array))
  y = array.stack()
  tf.identity(y, name='y')
  tf.identity(tf.gradients(tf.reduce_sum(y * y), [x])[0], name='g')


def _array_until_data_say():
  """Elements that the loop does not come to are zero."""
  x = tf.placeholder(tf.float32, [4, 2], name='x')
  most = tf.placeholder(tf.int32, [], name='most')
  array = tf.TensorArray(tf.float32, 4, element_shape=[2])
  end = tf.minimum(4, tf.maximum(1, most))
  _, array = tf.while_loop(lambda i, a: i < end, lambda i, a: (i + 1, a.write(i, x[i] * 2.0)), (0, array))
  tf.identity(array.stack(), name='y')


def _smooth_array():
  """Elements of arrays read and written in a loop, in double precision."""
  x = tf.placeholder(tf.float64, [3, 2], name='x')
  w = tf.placeholder(tf.float64, [2], name='w')
  written = tf.TensorArray(tf.float64, 4, element_shape=[2], clear_after_read=False)
  read = tf.TensorArray(tf.float64, 3, clear_after_read=False).unstack(x)

  def body(i, s, a):
    s = tf.sin(s * w) + read.read(i)
    return i + 1, s, a.write(i + 1, s * s)

  _, s, written = tf.while_loop(lambda i, s, a: i < 3, body, (0, tf.zeros_like(w), written.write(0, tf.exp(w))))
  joined = tf.TensorArray(tf.float64, 2, infer_shape=False, clear_after_read=False).split(tf.exp(x), [1, 2]).concat()
  total = tf.reduce_sum(tf.square(written.stack()) * 0.5) + tf.reduce_sum(written.gather([2, 1]) * s)
  total = tf.add(total, tf.reduce_sum(tf.square(joined) * x), name='total')
  for i, gradient in enumerate(tf.gradients(total, [x, w])):
    tf.identity(gradient, name=f'g{i}')


def _recurrent(cell, lengths):

  def build():
    x = tf.placeholder(tf.float32, [2, 4, 3], name='x')
    given = {'sequence_length': tf.placeholder(tf.int32, [2], name='lengths')} if lengths else {}
    y, state = tf.nn.dynamic_rnn(cell(5), x, dtype=tf.float32, **given)
    tf.identity(y, name='y')
    tf.identity(state[0], name='state')
    init = [v.initializer for v in tf.trainable_variables()]
    if not lengths:
      for i, g in enumerate(tf.gradients(tf.reduce_sum(y * y), [x] + tf.trainable_variables())):
        tf.identity(g, name=f'g{i}')
    return init

  return build


def _weights(kind):
  """A cell whose weights are constants of the graph."""

  def cell(units):
    scope = tf.get_variable_scope()

    def weights(shape, dtype=None, partition_info=None):
      del partition_info
      return tf.constant(random_array(f'weights {shape}', [int(n) for n in shape], np.float32, -0.5, 0.5), dtype)

    scope.set_initializer(weights)
    return kind(units)

  return cell


def old_loops(family):

  def record(case, build, steps, within=None):
    family.graph(case, build, [(feeds, [f'{n}:0' for n in names], []) for feeds, names in steps], within)

  loops = control_flow_cases
  record('counted', loops._counted, [({'x': _x('counted', (4, 3))}, ['count', 'y'])])
  record('nested', loops._nested, [({'x': _x('nested')}, ['y'])])
  record('never', loops._never, [({'x': _x('never')}, ['y'])])
  record('until data say', loops._until_data_say,
         [({'x': np.array(x, np.float32)}, ['count', 'y']) for x in ([1, 2, 3], [9, 9, 9], [0, 0, 0])])
  feeds = {'x': _x('gradient x', (3, 2)), 'w': _x('gradient w', (2, 2))}
  record('gradient', loops._gradient_of_loop, [(feeds, ['g0', 'g1'])])
  record('array', _array, [({'x': _x('array', (3, 2))}, ['y', 'z'])])
  record('array of parts', _array_of_parts, [({'x': _x('parts', (6, 2))}, ['joined', 'second', 'size', 'g'])])
  record('growing array', _growing_array, [({'x': _x('growing', (3, 2))}, ['y', 'g'])])
  record('array until data say', _array_until_data_say,
         [({'x': _x('some', (4, 2)), 'most': np.array(most, np.int32)}, ['y']) for most in (0, 2, 7)])
  feeds = {'x': random_array('smooth x', [3, 2], np.float64, -1, 1), 'w': random_array('smooth w', [2], np.float64, -1, 1)}
  record('smooth array', _smooth_array, [(feeds, ['total', 'g0', 'g1'])])
  rnn = tf.nn.rnn_cell
  x = _x('recurrent', (2, 4, 3))
  for name, kind in {'lstm': rnn.BasicLSTMCell, 'gru': rnn.GRUCell}.items():
    record(f'dynamic_rnn {name}', _recurrent(_weights(kind), False),
           [({'x': x}, ['y', 'state', 'g0', 'g1', 'g2'])], golden.FLOAT32_SUM)
    record(f'dynamic_rnn {name} lengths', _recurrent(_weights(kind), True),
           [({'x': x, 'lengths': np.array(lengths, np.int32)}, ['y', 'state']) for lengths in ([4, 2], [1, 3])],
           golden.FLOAT32_SUM)


FAMILIES = {'old_loops': old_loops}
