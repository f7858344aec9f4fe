# SPDX-License-Identifier: Apache-2.0
"""Optimizer ops on reference and resource variables, and the Python optimizers' sequences of ops."""

import numpy as np

import tensorflow.compat.v1 as tf
from golden import random_array
from op_cases.state_cases import START
from op_cases.state_cases import placeholder
from op_cases.state_cases import reference
from op_cases.state_cases import resource

# op: (variable argument, slots with their starting values, scalars, gradient argument)
_DENSE_OPTIMIZERS = {
    'ApplyGradientDescent': ('var', [], {
        'alpha': 0.1
    }, 'delta'),
    'ApplyMomentum': ('var', [('accum', 0.0)], {
        'lr': 0.1,
        'momentum': 0.9
    }, 'grad'),
    'ApplyAdagrad': ('var', [('accum', 0.1)], {
        'lr': 0.1
    }, 'grad'),
    'ApplyRMSProp': ('var', [('ms', 1.0), ('mom', 0.0)], {
        'lr': 0.1,
        'rho': 0.9,
        'momentum': 0.5,
        'epsilon': 1e-10
    }, 'grad'),
    'ApplyAdadelta': ('var', [('accum', 0.0), ('accum_update', 0.0)], {
        'lr': 0.5,
        'rho': 0.95,
        'epsilon': 1e-6
    }, 'grad'),
    'ApplyAdam': ('var', [('m', 0.0), ('v', 0.0)], {
        'beta1_power': 0.9,
        'beta2_power': 0.999,
        'lr': 0.01,
        'beta1': 0.9,
        'beta2': 0.999,
        'epsilon': 1e-8
    }, 'grad'),
}


def _dense_optimizer(family, op, dtype, **attributes):
  var, slots, scalars, gradient = _DENSE_OPTIMIZERS[op]
  steps = [random_array(f'{op}{i}', [3, 2], dtype) for i in range(3)]
  label = ''.join(f'_{name}' for name in attributes)
  names = [var] + [name for name, _ in slots]

  def arguments(make):
    made = {var: make('var', START.astype(dtype))}
    made.update({name: make(f'slot_{name}', np.full([3, 2], start, dtype)) for name, start in slots})
    return made

  def inputs():
    made = {name: tf.constant(value, tf.as_dtype(dtype)) for name, value in scalars.items()}
    made[gradient] = placeholder('gradient', steps[0])
    return made

  def build():
    made = arguments(reference)
    getattr(tf.raw_ops, op)(**{n: v for n, (v, _) in made.items()}, **inputs(), **attributes, name='apply')
    return [init for _, init in made.values()]

  def build_resource():
    made = arguments(resource)
    apply = getattr(tf.raw_ops, 'Resource' + op)(**{
        n: v for n, (v, _) in made.items()
    }, **inputs(), **attributes)
    with tf.control_dependencies([apply]):
      for name in names:
        tf.raw_ops.ReadVariableOp(resource=made[name][0], dtype=tf.as_dtype(dtype), name=f'read_{name}')
    return [init for _, init in made.values()]

  reads = ['apply:0'] + [f'slot_{name}:0' for name in names[1:]]
  runs = []
  for step in steps:
    runs.append(({'gradient': step}, ['apply:0'], []))
    runs.append(({}, reads[1:] + ['var:0'], []))
  family.graph(f'{op}/{dtype}{label}', build, runs)
  family.graph(f'Resource{op}/{dtype}{label}', build_resource, [({
      'gradient': step
  }, [f'read_{name}:0' for name in names], []) for step in steps])


def _python_optimizer(family, name, optimizer, sparse):
  """An optimizer of the Python library on a quadratic loss, whole or through an embedding lookup."""
  ids = np.array([2, 0, 2], np.int64)

  def build():
    variable = tf.get_variable('w', initializer=START, use_resource=False)
    used = tf.nn.embedding_lookup(variable, placeholder('ids', ids)) if sparse else variable
    loss = tf.reduce_sum(tf.square(used - 1.0), name='loss')
    optimizer().minimize(loss, name='train')
    return [tf.global_variables_initializer()]

  feeds = {'ids': ids} if sparse else {}
  steps = [step for _ in range(3) for step in ((feeds, ['loss:0'], ['train']), ({}, ['w:0'], []))]
  family.graph(f'{name}/{"sparse" if sparse else "dense"}', build, steps)


def optimizers(family):
  for op in _DENSE_OPTIMIZERS:
    for dtype in ('float32', 'float64'):
      _dense_optimizer(family, op, dtype)
  _dense_optimizer(family, 'ApplyAdam', 'float32', use_nesterov=True)
  _dense_optimizer(family, 'ApplyMomentum', 'float32', use_nesterov=True)
  for sparse in (False, True):
    _python_optimizer(family, 'AdamOptimizer', lambda: tf.train.AdamOptimizer(0.1), sparse)
    _python_optimizer(family, 'GradientDescentOptimizer', lambda: tf.train.GradientDescentOptimizer(0.1),
                      sparse)
  _python_optimizer(family, 'MomentumOptimizer', lambda: tf.train.MomentumOptimizer(0.1, 0.9), False)


FAMILIES = {'optimizers': optimizers}
