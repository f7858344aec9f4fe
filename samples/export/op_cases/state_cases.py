# SPDX-License-Identifier: Apache-2.0
"""Variables and updates of their rows."""

import numpy as np

import tensorflow.compat.v1 as tf
from golden import random_array

START = np.array([[1.5, -2.0], [0.25, 4.0], [3.0, -1.0]], np.float32)


def placeholder(name, array):
  return tf.placeholder(tf.as_dtype(array.dtype), array.shape, name=name)


def reference(name, value):
  """A reference variable and its initialising Assign."""
  variable = tf.raw_ops.VariableV2(shape=value.shape, dtype=tf.as_dtype(value.dtype), name=name)
  return variable, tf.assign(variable, tf.constant(value), name=f'{name}/init').op


def resource(name, value):
  """A resource variable and its initialising assignment."""
  handle = tf.raw_ops.VarHandleOp(dtype=tf.as_dtype(value.dtype),
                                  shape=value.shape,
                                  shared_name=name,
                                  name=name)
  return handle, tf.raw_ops.AssignVariableOp(resource=handle, value=tf.constant(value), name=f'{name}/init')


def _read(handle, dtype, after):
  with tf.control_dependencies(after):
    return tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype, name='read')


def _dense_updates(family):
  for dtype in ('float32', 'float64', 'int32', 'int64'):
    for op in ('Assign', 'AssignAdd', 'AssignSub'):
      value = random_array(op + dtype, [3, 2], dtype)

      def build(op=op, value=value, dtype=dtype):
        variable, init = reference('v', START.astype(dtype))
        getattr(tf.raw_ops, op)(ref=variable, value=placeholder('value', value), name='update')
        tf.identity(variable, name='read')
        return [init]

      steps = [({
          'value': value
      }, ['update:0'], []), ({}, ['read:0'], []), ({
          'value': value
      }, ['update:0'], []), ({}, ['v:0'], [])]
      family.graph(f'{op}/{dtype}', build, steps)
    for op in ('AssignVariableOp', 'AssignAddVariableOp', 'AssignSubVariableOp'):
      value = random_array(op + dtype, [3, 2], dtype)

      def build_resource(op=op, value=value, dtype=dtype):
        handle, init = resource('v', START.astype(dtype))
        update = getattr(tf.raw_ops, op)(resource=handle, value=placeholder('value', value), name='update')
        _read(handle, tf.as_dtype(dtype), [update])
        return [init]

      family.graph(f'{op}/{dtype}', build_resource, [({'value': value}, ['read:0'], [])] * 2)


def _variable_facts(family):

  def build_flags():
    variable, init = reference('v', START)
    tf.raw_ops.IsVariableInitialized(ref=variable, name='ready')
    handle, init_resource = resource('r', START)
    tf.raw_ops.VarIsInitializedOp(resource=handle, name='resource_ready')
    tf.raw_ops.VariableShape(input=handle, name='shape')
    tf.group(init, init_resource, name='start')

  ready = ['ready:0', 'resource_ready:0']
  family.graph('IsVariableInitialized/before_and_after', build_flags, [({}, ready, []), ({}, [], ['start']),
                                                                       ({}, ready + ['shape:0'], [])])

  def build_order():
    # A sum, since TensorFlow's Identity of a reference shares the variable's memory and shows later updates.
    variable, init = reference('v', np.array(1.0, np.float32))
    before = tf.add(variable, 0.0, name='before')
    with tf.control_dependencies([before]):
      update = tf.assign_add(variable, 2.0, name='update')
    with tf.control_dependencies([update]):
      tf.identity(variable, name='after')
    return [init]

  def build_resource_order():
    handle, init = resource('v', np.array(1.0, np.float32))
    before = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32, name='before')
    with tf.control_dependencies([before]):
      update = tf.raw_ops.AssignAddVariableOp(resource=handle, value=tf.constant(2.0))
    with tf.control_dependencies([update]):
      tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32, name='after')
    return [init]

  for label, build in (('Assign', build_order), ('AssignVariableOp', build_resource_order)):
    family.graph(f'{label}/read_before_and_after', build, [({}, ['before:0', 'after:0'], [])] * 3)

  def build_reshaping():
    variable = tf.raw_ops.VariableV2(shape=[], dtype=tf.float32, name='v')
    tf.assign(variable, tf.placeholder(tf.float32, [None], name='value'), validate_shape=False, name='update')

  family.graph('Assign/any_shape', build_reshaping, [({
      'value': np.array(v, np.float32)
  }, ['update:0'], []) for v in ([1, 2], [3], [])])

  def build_count():
    variable, init = reference('v', np.array(3, np.int32))
    tf.raw_ops.CountUpTo(ref=variable, limit=5, name='count')
    return [init]

  family.graph('CountUpTo/int32', build_count, [({}, ['count:0'], []), ({}, ['count:0'], []),
                                                ({}, ['v:0'], [])])


def _scatters(family):
  for op in ('Add', 'Sub', 'Update', 'Mul', 'Div', 'Min', 'Max'):
    for kind, indices in (('int32', [2, 0]), ('int64', [[1], [1]]), ('int32', [])):
      indices = np.array(indices, kind)
      if op == 'Update' and indices.size and indices.ravel()[0] == indices.ravel()[-1]:
        indices[-1] = 0
      updates = random_array(op + kind, [*indices.shape, 2], 'float32', 0.5, 3)
      label = f'{kind}_{list(indices.shape)}'.replace(' ', '')

      def build(op=op, indices=indices, updates=updates):
        variable, init = reference('v', START)
        getattr(tf.raw_ops, f'Scatter{op}')(ref=variable,
                                            indices=placeholder('indices', indices),
                                            updates=placeholder('updates', updates),
                                            name='update')
        return [init]

      def build_resource(op=op, indices=indices, updates=updates):
        handle, init = resource('v', START)
        update = getattr(tf.raw_ops, f'ResourceScatter{op}')(resource=handle,
                                                             indices=placeholder('indices', indices),
                                                             updates=placeholder('updates', updates))
        _read(handle, tf.float32, [update])
        return [init]

      feeds = {'indices': indices, 'updates': updates}
      family.graph(f'Scatter{op}/{label}', build, [(feeds, ['update:0'], [])] * 2)
      family.graph(f'ResourceScatter{op}/{label}', build_resource, [(feeds, ['read:0'], [])] * 2)

  def build_gather():
    handle, init = resource('v', START)
    tf.raw_ops.ResourceGather(resource=handle,
                              indices=placeholder('indices', np.zeros([2], np.int64)),
                              dtype=tf.float32,
                              name='g')
    return [init]

  family.graph('ResourceGather/int64', build_gather, [({'indices': np.array([2, 0])}, ['g:0'], [])])

  def build_gather_nd():
    handle, init = resource('v', START)
    tf.raw_ops.ResourceGatherNd(resource=handle,
                                indices=placeholder('indices', np.zeros([3, 2], np.int32)),
                                dtype=tf.float32,
                                name='g')
    return [init]

  family.graph('ResourceGatherNd/int32', build_gather_nd,
               [({'indices': np.array([[2, 0], [0, 1], [2, 0]], np.int32)}, ['g:0'], [])])


def state(family):
  _dense_updates(family)
  _variable_facts(family)
  _scatters(family)


FAMILIES = {'state': state}
