# SPDX-License-Identifier: Apache-2.0
"""Loops and branches, as TensorFlow writes them with control flow of version 2, and lists of tensors."""

import golden
import numpy as np

import tensorflow.compat.v1 as tf
from golden import random_array
from tensorflow.python.ops import list_ops


def _x(name, shape=(2, 3)):
  return random_array(name, list(shape), np.float32)


def _counted():
  """As many trips as the shape says, and a value that grows."""
  x = tf.placeholder(tf.float32, [4, 3], name='x')
  loop = tf.while_loop(lambda i, s: i < tf.shape(x)[0], lambda i, s: [i + 1, s * 0.5 + x[i]], [0, tf.zeros([3])])
  tf.identity(loop[0], name='count')
  tf.identity(loop[1], name='y')


def _nested():
  x = tf.placeholder(tf.float32, [2, 3], name='x')

  def outer(i, s):
    inner = tf.while_loop(lambda j, t: j < i, lambda j, t: [j + 1, t * 2.0], [0, s])
    return [i + 1, inner[1] + x]

  tf.identity(tf.while_loop(lambda i, s: i < 3, outer, [0, x])[1], name='y')


def _never():
  x = tf.placeholder(tf.float32, [2, 3], name='x')
  tf.identity(tf.while_loop(lambda i, s: i < 0, lambda i, s: [i + 1, s * 2.0], [0, x])[1], name='y')


def _until_data_say():
  """Data say how often, a constant how often at most."""
  x = tf.placeholder(tf.float32, [3], name='x')
  loop = tf.while_loop(lambda i, s: tf.logical_and(i < 6, tf.reduce_sum(s) < 20.0), lambda i, s: [i + 1, s + x],
                       [0, x])
  tf.identity(loop[0], name='count')
  tf.identity(loop[1], name='y')


def _gradient_of_loop():
  x = tf.placeholder(tf.float32, [3, 2], name='x')
  w = tf.placeholder(tf.float32, [2, 2], name='w')

  def body(i, s):
    return [i + 1, tf.tanh(tf.matmul(s, w))]

  loop = tf.while_loop(lambda i, s: i < 4, body, [0, x])
  for i, gradient in enumerate(tf.gradients(tf.reduce_sum(loop[1]), [x, w])):
    tf.identity(gradient, name=f'g{i}')


def _gradient_until_data_say():
  """What a loop accumulates is as long as data say."""
  x = tf.placeholder(tf.float32, [3], name='x')
  w = tf.placeholder(tf.float32, [3], name='w')
  loop = tf.while_loop(lambda i, s: tf.logical_and(i < 6, tf.reduce_sum(s) < 9.0), lambda i, s: [i + 1, s * w + tf.sin(s)],
                       [0, x])
  tf.identity(loop[0], name='count')
  total = tf.reduce_sum(tf.square(loop[1]), name='total')
  for i, gradient in enumerate(tf.gradients(total, [x, w])):
    tf.identity(gradient, name=f'g{i}')


def _gradient_of_branches():
  """The branches hand out different tensors."""
  x = tf.placeholder(tf.float32, [2, 3], name='x')
  w = tf.placeholder(tf.float32, [3, 2], name='w')
  flag = tf.placeholder(tf.bool, [], name='flag')
  y = tf.cond(flag, lambda: tf.tanh(tf.matmul(x, w)) * 2.0, lambda: tf.sigmoid(x[:, :2]) * tf.exp(x[:, 1:]))
  total = tf.reduce_sum(tf.square(y), name='total')
  for i, gradient in enumerate(tf.gradients(total, [x, w])):
    tf.identity(gradient, name=f'g{i}')


def _gradient_of_nested():
  """A loop and a branch, whose side data decide, in a loop."""
  x = tf.placeholder(tf.float32, [3], name='x')
  w = tf.placeholder(tf.float32, [3], name='w')

  def outer(i, s):
    inner = tf.while_loop(lambda j, t: j <= i, lambda j, t: [j + 1, tf.tanh(t * w)], [0, s])[1]
    return [i + 1, tf.cond(tf.reduce_sum(s) > 1.0, lambda: tf.sin(inner) * s, lambda: tf.exp(inner) + x)]

  total = tf.reduce_sum(tf.while_loop(lambda i, s: i < 3, outer, [0, x])[1], name='total')
  for i, gradient in enumerate(tf.gradients(total, [x, w])):
    tf.identity(gradient, name=f'g{i}')


def _gradient_of_lookup():
  """Rows of a table in a branch, and in a loop."""
  table = tf.placeholder(tf.float32, [4, 2], name='x')
  flag = tf.placeholder(tf.bool, [], name='flag')
  rows = tf.cond(flag, lambda: tf.gather(table, [1, 3, 1]), lambda: tf.gather(table, [0, 1, 2]) * 2.0)
  loop = tf.while_loop(lambda i, s: i < 3, lambda i, s: [i + 1, s * tf.gather(table, i)], [0, tf.ones([2])])
  total = tf.reduce_sum(tf.square(rows)) + tf.reduce_sum(loop[1])
  total = tf.identity(total, name='total')
  tf.identity(tf.convert_to_tensor(tf.gradients(total, [table])[0]), name='g0')


def _array():
  """Elements written in a loop, some of them never."""
  x = tf.placeholder(tf.float32, [3, 2], name='x')
  written = tf.TensorArray(tf.float32, 5, element_shape=[2])
  read = tf.TensorArray(tf.float32, 3).unstack(x)
  _, written = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i + 1, read.read(i) * 3.0)), (0, written))
  tf.identity(written.stack(), name='y')
  tf.identity(written.gather([2, 0]), name='z')


def _updates():
  v = tf.get_variable('v', [2], initializer=tf.ones_initializer(), use_resource=True)
  x = tf.placeholder(tf.float32, [2], name='x')

  @tf.function
  def step(x):
    for _ in tf.range(3):
      v.assign(v * 2.0 + x)
    return v.read_value()

  tf.identity(step(x), name='y')
  return [v.initializer]


def _branches_of_data():
  x = tf.placeholder(tf.float32, [2, 3], name='x')
  flag = tf.placeholder(tf.bool, [], name='flag')
  y, z = tf.cond(flag, lambda: (x * 2.0, tf.constant(1)), lambda: (tf.exp(x), tf.constant(7)))
  tf.identity(y, name='y')
  tf.identity(z, name='z')
  g, = tf.gradients(tf.reduce_sum(y), [x])
  tf.identity(g, name='g')


def _nested_branches():
  x = tf.placeholder(tf.float32, [2, 3], name='x')
  a = tf.placeholder(tf.bool, [], name='a')
  b = tf.placeholder(tf.bool, [], name='b')
  tf.identity(tf.cond(a, lambda: tf.cond(b, lambda: x * 2.0, lambda: -x), lambda: x + 1.0), name='y')


def _known_switch():
  v = tf.get_variable('v', [2], initializer=tf.ones_initializer(), use_resource=True)
  x = tf.placeholder(tf.float32, [2], name='x')
  updated = tf.cond(tf.equal(tf.size(x), 2), lambda: v.assign_add(x), lambda: v.assign_sub(x))
  tf.identity(updated, name='y')
  return [v.initializer]


def _branch_of_constants():
  v = tf.get_variable('v', [2], initializer=tf.ones_initializer(), use_resource=True)
  x = tf.placeholder(tf.float32, [2], name='x')

  @tf.function
  def step(x, training):
    if training:
      v.assign_add(x)
    return v.read_value()

  tf.identity(step(x, tf.equal(tf.shape(x)[0], 2)), name='y')
  return [v.initializer]


def _lists():
  x = tf.placeholder(tf.float32, [3, 2], name='x')
  handle = list_ops.tensor_list_from_tensor(x, element_shape=[2])
  handle = list_ops.tensor_list_push_back(handle, x[0] * 2.0)
  handle, last = list_ops.tensor_list_pop_back(handle, tf.float32)
  handle = list_ops.tensor_list_set_item(handle, 1, last)
  tf.identity(list_ops.tensor_list_stack(handle, tf.float32), name='y')
  tf.identity(list_ops.tensor_list_length(handle), name='n')
  tf.identity(list_ops.tensor_list_element_shape(handle, tf.int32), name='shape')
  index = tf.placeholder(tf.int32, [], name='index')
  tf.identity(list_ops.tensor_list_get_item(handle, index, tf.float32), name='item')
  tf.identity(list_ops.tensor_list_concat(handle, tf.float32, [2]), name='joined')


def _made_lists():
  x = tf.placeholder(tf.float32, [4, 2], name='x')
  scattered = tf.raw_ops.TensorListScatterV2(tensor=x[:2], indices=[3, 1], element_shape=[2], num_elements=5)
  into = tf.raw_ops.TensorListScatterIntoExistingList(input_handle=scattered, tensor=x[2:3], indices=[0])
  more = tf.raw_ops.TensorListScatter(tensor=x[3:], indices=[1], element_shape=[2])
  joined = tf.raw_ops.TensorListConcatLists(input_a=into, input_b=more, element_dtype=tf.float32)
  tf.identity(list_ops.tensor_list_stack(joined, tf.float32), name='y')
  split = list_ops.tensor_list_split(x, [None, 2], [1, 0, 3])
  tf.identity(list_ops.tensor_list_get_item(split, 2, tf.float32), name='part')
  tf.identity(list_ops.tensor_list_concat(split, tf.float32, [None, 2]), name='joined')


def _version_2(build):
  """The same graph with loops and branches that call functions."""

  def built():
    tf.enable_control_flow_v2()
    try:
      return build()
    finally:
      tf.disable_control_flow_v2()

  return built


def control_flow(family):

  def record(case, build, steps):
    family.graph(case, _version_2(build), [(feeds, [f'{n}:0' for n in names], []) for feeds, names in steps])

  record('counted', _counted, [({'x': _x('counted', (4, 3))}, ['count', 'y'])])
  record('nested', _nested, [({'x': _x('nested')}, ['y'])])
  record('never', _never, [({'x': _x('never')}, ['y'])])
  record('until data say', _until_data_say,
         [({'x': np.array(x, np.float32)}, ['count', 'y']) for x in ([1, 2, 3], [9, 9, 9], [0, 0, 0])])
  feeds = {'x': _x('gradient x', (3, 2)), 'w': _x('gradient w', (2, 2))}
  record('gradient', _gradient_of_loop, [(feeds, ['g0', 'g1'])])
  record('gradient until data say', _gradient_until_data_say,
         [({'x': np.array(x, np.float32), 'w': np.array([1.5, 0.5, 2.0], np.float32)}, ['count', 'g0', 'g1'])
          for x in ([1, 2, 0.5], [9, 9, 9], [0.1, 0.2, 0.3])])
  feeds = {'x': _x('side x'), 'w': _x('side w', (3, 2))}
  record('gradient of branches', _gradient_of_branches,
         [({**feeds, 'flag': np.array(flag)}, ['g0', 'g1']) for flag in (True, False)])
  record('gradient of nested', _gradient_of_nested,
         [({'x': np.array(x, np.float32), 'w': np.array([1.5, 0.5, -1.0], np.float32)}, ['g0', 'g1'])
          for x in ([1, 0.5, 0.2], [-0.3, 0.2, 0.1])])
  record('gradient of lookup', _gradient_of_lookup,
         [({'x': _x('table', (4, 2)), 'flag': np.array(flag)}, ['g0']) for flag in (True, False)])
  record('array', _array, [({'x': _x('array', (3, 2))}, ['y', 'z'])])
  record('updates', _updates, [({'x': _x('updates', (2,))}, ['y'])])
  record('branches', _branches_of_data,
         [({'x': _x('flags'), 'flag': np.array(flag)}, ['y', 'z', 'g']) for flag in (True, False)])
  record('known branch', _branch_of_constants, [({'x': _x('known', (2,))}, ['y'])])
  record('lists', _lists, [({'x': _x('lists', (3, 2)), 'index': np.array(i, np.int32)},
                            ['y', 'n', 'shape', 'item', 'joined']) for i in (0, 2)])
  record('made lists', _made_lists, [({'x': _x('made', (4, 2))}, ['y', 'part', 'joined'])])


def _gradients_twice(total, xs):
  """Names total, its gradients g0, ..., the sum of their squares and its gradients h0, ..."""
  total = tf.identity(total, name='total')
  first = [tf.convert_to_tensor(g) for g in tf.gradients(total, xs)]
  squares = tf.add_n([tf.reduce_sum(tf.square(g)) for g in first], name='squares')
  for i, gradient in enumerate(first):
    tf.identity(gradient, name=f'g{i}')
  for i, gradient in enumerate(tf.gradients(squares, xs)):
    tf.identity(tf.convert_to_tensor(gradient), name=f'h{i}')


def _smooth_loop():
  x = tf.placeholder(tf.float64, [2, 3], name='x')
  w = tf.placeholder(tf.float64, [3, 3], name='w')
  loop = tf.while_loop(lambda i, s: i < 3, lambda i, s: [i + 1, tf.tanh(tf.matmul(s, w))], [0, x])
  _gradients_twice(tf.reduce_sum(tf.square(loop[1])), [x, w])


def _smooth_branches():
  """The branches hand out different tensors."""
  x = tf.placeholder(tf.float64, [2, 3], name='x')
  w = tf.placeholder(tf.float64, [3, 2], name='w')
  flag = tf.placeholder(tf.bool, [], name='flag')
  y = tf.cond(flag, lambda: tf.tanh(tf.matmul(x, w)) * x[:, :2], lambda: tf.sigmoid(x[:, :2]) * tf.exp(x[:, 1:]))
  _gradients_twice(tf.reduce_sum(tf.square(y)), [x, w])


def _smooth_branch_in_branch():
  x = tf.placeholder(tf.float64, [3], name='x')
  w = tf.placeholder(tf.float64, [3], name='w')
  flag = tf.placeholder(tf.bool, [], name='flag')
  inner = lambda: tf.cond(x[0] > 0.0, lambda: tf.sin(x * w) * w, lambda: tf.exp(x) * w * w)
  y = tf.cond(flag, lambda: tf.tanh(inner()), lambda: tf.cos(x * x) * w)
  _gradients_twice(tf.reduce_sum(tf.square(y)), [x, w])


def _smooth_nested():
  """A loop and a branch, whose side data decide, in a loop."""
  x = tf.placeholder(tf.float64, [3], name='x')
  w = tf.placeholder(tf.float64, [3], name='w')

  def outer(i, s):
    inner = tf.while_loop(lambda j, t: j <= i, lambda j, t: [j + 1, tf.tanh(t * w)], [0, s])[1]
    return [i + 1, tf.cond(tf.reduce_sum(s) > 1.0, lambda: tf.sin(inner) * s, lambda: tf.exp(inner) + x)]

  _gradients_twice(tf.reduce_sum(tf.while_loop(lambda i, s: i < 2, outer, [0, x])[1]), [x, w])


def _smooth_until_data_say():
  x = tf.placeholder(tf.float64, [3], name='x')
  w = tf.placeholder(tf.float64, [3], name='w')
  loop = tf.while_loop(lambda i, s: tf.logical_and(i < 5, tf.reduce_sum(s) < 9.0), lambda i, s: [i + 1, s * w + tf.sin(s)],
                       [0, x])
  _gradients_twice(tf.reduce_sum(tf.square(loop[1])), [x, w])


def _smooth_array():
  """Elements of arrays read and written in a loop."""
  x = tf.placeholder(tf.float64, [3, 2], name='x')
  w = tf.placeholder(tf.float64, [2], name='w')
  written = tf.TensorArray(tf.float64, 4, element_shape=[2])
  read = tf.TensorArray(tf.float64, 3, clear_after_read=False).unstack(x)

  def body(i, s, a):
    s = tf.sin(s * w) + read.read(i)
    return i + 1, s, a.write(i + 1, s * s)

  _, s, written = tf.while_loop(lambda i, s, a: i < 3, body, (0, tf.zeros_like(w), written.write(0, tf.exp(w))))
  _gradients_twice(tf.reduce_sum(tf.square(written.stack()) * 0.5) + tf.reduce_sum(written.gather([2, 1]) * s), [x, w])


def _smooth_lists():
  """Each op on lists that has a gradient."""
  x = tf.placeholder(tf.float64, [4, 2], name='x')
  handle = list_ops.tensor_list_from_tensor(x * x, element_shape=[2])
  handle = list_ops.tensor_list_push_back(handle, x[0] * x[1])
  handle, last = list_ops.tensor_list_pop_back(handle, tf.float64)
  handle = list_ops.tensor_list_set_item(handle, 1, last * x[2])
  total = tf.reduce_sum(list_ops.tensor_list_get_item(handle, 1, tf.float64) * x[3])
  total += tf.reduce_sum(tf.sin(list_ops.tensor_list_stack(handle, tf.float64)))
  total += tf.reduce_sum(tf.exp(list_ops.tensor_list_gather(handle, [3, 1], tf.float64)) * x[:2])
  scattered = list_ops.tensor_list_scatter(x[:2] * x[2:], [2, 0], element_shape=[2])
  scattered = tf.raw_ops.TensorListScatterIntoExistingList(input_handle=scattered, tensor=tf.square(x[1:2]), indices=[2])
  total += tf.reduce_sum(tf.pow(list_ops.tensor_list_get_item(scattered, 0, tf.float64), 3.0))
  total += tf.reduce_sum(tf.square(list_ops.tensor_list_get_item(scattered, 2, tf.float64)))
  split = list_ops.tensor_list_split(tf.exp(x), [None, 2], [1, 2, 1])
  total += tf.reduce_sum(tf.square(list_ops.tensor_list_concat(split, tf.float64, [None, 2])) * x)
  _gradients_twice(total, [x])


def smooth_control_flow(family):
  """In double precision, with second derivatives."""

  def record(case, build, steps):
    values = ['total', 'squares'] + [f'{d}{i}' for d in 'gh' for i in range(len([n for n in steps[0] if n != 'flag']))]
    family.graph(case, _version_2(build), [(feeds, [f'{n}:0' for n in values], []) for feeds in steps])

  def x(name, shape):
    return random_array(name, shape, np.float64, -1.0, 1.0)

  record('loop', _smooth_loop, [{'x': x('loop x', [2, 3]), 'w': x('loop w', [3, 3])}])
  feeds = {'x': x('side x', [2, 3]), 'w': x('side w', [3, 2])}
  record('branches', _smooth_branches, [{**feeds, 'flag': np.array(flag)} for flag in (True, False)])
  w = np.array([1.5, 0.5, -1.0])
  record('branch in branch', _smooth_branch_in_branch,
         [{'x': np.array([first, 0.5, 0.2]), 'w': w, 'flag': np.array(flag)}
          for first, flag in ((0.7, True), (-0.7, True), (0.7, False))])
  record('nested', _smooth_nested, [{'x': np.array(x), 'w': w} for x in ([1, 0.5, 0.2], [-0.3, 0.2, 0.1])])
  record('until data say', _smooth_until_data_say,
         [{'x': np.array(x), 'w': np.array([1.5, 0.5, 2.0])} for x in ([1, 2, 0.5], [9.0, 9, 9], [0.1, 0.2, 0.3])])
  record('array', _smooth_array, [{'x': x('array x', [3, 2]), 'w': x('array w', [2])}])
  record('lists', _smooth_lists, [{'x': x('lists x', [4, 2])}])


def branches_of_switches(family):
  """Branches as TensorFlow 1 writes them."""

  def record(case, build, steps):
    family.graph(case, build, [(feeds, [f'{n}:0' for n in names], []) for feeds, names in steps])

  record('branches', _branches_of_data,
         [({'x': _x('flags'), 'flag': np.array(flag)}, ['y', 'z', 'g']) for flag in (True, False)])
  record('nested', _nested_branches, [({'x': _x('nested'), 'a': np.array(a), 'b': np.array(b)}, ['y'])
                                      for a in (True, False) for b in (True, False)])
  record('known', _known_switch, [({'x': _x('known', (2,))}, ['y'])])


def matrix_factors(family):
  for shape in ([4, 3], [3, 4], [3, 3], [2, 5, 2], [1, 3], [3, 1]):
    for full in (False, True):
      name = f'{shape} {"full" if full else "thin"}'
      family.op(name, 'Qr', golden.FLOAT32_SUM, input=random_array(name, shape, np.float32), full_matrices=full)
  family.op('double', 'Qr', input=random_array('double', [5, 4], np.float64), full_matrices=False)
  family.op('zeros', 'Qr', input=np.zeros([3, 2], np.float32), full_matrices=False)
  for lower in (True, False):
    for adjoint in (True, False):
      matrix = random_array('m', [4, 4], np.float64, 0.2, 1.0) + 2 * np.eye(4)
      family.op(f'MatrixTriangularSolve/{lower}_{adjoint}', 'MatrixTriangularSolve', matrix=matrix,
                rhs=random_array('rhs', [4, 3], np.float64), lower=lower, adjoint=adjoint)
  family.op('MatrixTriangularSolve/batches', 'MatrixTriangularSolve', golden.FLOAT32_SUM,
            matrix=random_array('b', [2, 1, 3, 3], np.float32, 0.5, 1.0) + 2 * np.eye(3, dtype=np.float32),
            rhs=random_array('rhs', [2, 3, 2], np.float32))
  family.op('MatrixTriangularSolve/none', 'MatrixTriangularSolve', matrix=np.zeros([0, 0], np.float32),
            rhs=np.zeros([0, 2], np.float32))


FAMILIES = {
    'control_flow': control_flow,
    'smooth_control_flow': smooth_control_flow,
    'branches_of_switches': branches_of_switches,
    'matrix_factors': matrix_factors,
}
