# SPDX-License-Identifier: Apache-2.0
"""Optimizer ops that touch rows only, on reference and resource variables, with rows named twice."""

import numpy as np

import tensorflow.compat.v1 as tf
from golden import random_array
from op_cases.state_cases import START
from op_cases.state_cases import placeholder
from op_cases.state_cases import reference
from op_cases.state_cases import resource

# op without its "Sparse": (slots with their starting values, scalars)
_OPTIMIZERS = {
    'ApplyAdagrad': ({
        'accum': 0.1
    }, {
        'lr': 0.1
    }),
    'ApplyAdagradV2': ({
        'accum': 0.1
    }, {
        'lr': 0.1,
        'epsilon': 1e-7
    }),
    'ApplyMomentum': ({
        'accum': 0.0
    }, {
        'lr': 0.1,
        'momentum': 0.9
    }),
    'ApplyRMSProp': ({
        'ms': 1.0,
        'mom': 0.0
    }, {
        'lr': 0.1,
        'rho': 0.9,
        'momentum': 0.5,
        'epsilon': 1e-10
    }),
    'ApplyAdadelta': ({
        'accum': 0.0,
        'accum_update': 0.0
    }, {
        'lr': 0.5,
        'rho': 0.95,
        'epsilon': 1e-6
    }),
    'ApplyKerasMomentum': ({
        'accum': 0.0
    }, {
        'lr': 0.1,
        'momentum': 0.9
    }),
    'ApplyCenteredRMSProp': ({
        'mg': 0.0,
        'ms': 1.0,
        'mom': 0.0
    }, {
        'lr': 0.1,
        'rho': 0.9,
        'momentum': 0.5,
        'epsilon': 1e-10
    }),
    'ApplyProximalGradientDescent': ({}, {
        'alpha': 0.1,
        'l1': 0.5,
        'l2': 0.25
    }),
    'ApplyProximalAdagrad': ({
        'accum': 0.1
    }, {
        'lr': 0.1,
        'l1': 0.5,
        'l2': 0.25
    }),
    'ApplyFtrl': ({
        'accum': 0.1,
        'linear': 0.0
    }, {
        'lr': 0.1,
        'l1': 0.5,
        'l2': 0.25,
        'lr_power': -0.5
    }),
    'ApplyFtrlV2': ({
        'accum': 0.1,
        'linear': 0.0
    }, {
        'lr': 0.1,
        'l1': 0.5,
        'l2': 0.25,
        'l2_shrinkage': 0.125,
        'lr_power': -0.5
    }),
}
_DENSE_COVERED = ('ApplyAdagrad', 'ApplyMomentum', 'ApplyRMSProp', 'ApplyAdadelta')
_PENALISED = ('ApplyProximalGradientDescent', 'ApplyProximalAdagrad', 'ApplyFtrl', 'ApplyFtrlV2')
_ROWS = {'plain': [2, 0], 'repeated': [1, 2, 1], 'none': []}


def _case(family, label, op, dtype, rows, uses_resource, changed=None, width=2, gradient=None, **attributes):
  """`changed`: scalars other than the usual ones. `width`: the columns of START that the variable has."""
  slots, scalars = _OPTIMIZERS[op]
  scalars = {**scalars, **(changed or {})}
  start = START[:, :width]
  sparse = rows is not None
  name = op.replace('Apply', 'SparseApply') if sparse else op
  shape = [len(rows) if sparse else 3, width]
  steps = [random_array(f'{op}{i}', shape, dtype) for i in range(2)]
  if gradient is not None:
    steps = [np.full(shape, gradient, dtype)]

  def build():
    make = resource if uses_resource else reference
    made = {'var': make('var', start.astype(dtype))}
    made.update({slot: make(f'slot_{slot}', np.full([3, width], first, dtype)) for slot, first in slots.items()})
    inputs = {key: tf.constant(value, tf.as_dtype(dtype)) for key, value in scalars.items()}
    dense_name = 'delta' if op.endswith('GradientDescent') else 'grad'
    inputs['grad' if sparse else dense_name] = placeholder('gradient', steps[0])
    if sparse:
      inputs['indices'] = tf.constant(rows, tf.int32)
    op_name = 'Resource' + name if uses_resource else name
    update = getattr(tf.raw_ops, op_name)(**{
        key: made[key][0] for key in made
    },
                                          **inputs,
                                          **attributes,
                                          name='apply')
    after = [update] if uses_resource else [update.op]
    with tf.control_dependencies(after):
      for key, (variable, _) in made.items():
        if uses_resource:
          tf.raw_ops.ReadVariableOp(resource=variable, dtype=tf.as_dtype(dtype), name=f'read_{key}')
        else:
          tf.identity(variable, name=f'read_{key}')
    return [init for _, init in made.values()]

  fetches = [f'read_{key}:0' for key in ('var', *slots)]
  kind = 'Resource' if uses_resource else ''
  family.graph(f'{kind}{name}/{label}', build, [({'gradient': step}, fetches, []) for step in steps])


def row_optimizers(family):
  for op in _OPTIMIZERS:
    for uses_resource in (True,) if op == 'ApplyKerasMomentum' else (False, True):
      if op not in _DENSE_COVERED:
        for dtype in ('float32', 'float64'):
          _case(family, dtype, op, dtype, None, uses_resource)
      for label, rows in _ROWS.items():
        _case(family, f'float32_{label}', op, 'float32', rows, uses_resource)
      _case(family, 'float64_repeated', op, 'float64', _ROWS['repeated'], uses_resource)
  for op in ('ApplyMomentum', 'ApplyKerasMomentum'):
    _case(family, 'float32_nesterov', op, 'float32', [1, 2, 1], True, use_nesterov=True)
  for op in _PENALISED:
    for rows in (None, [1, 2, 1]):
      _case(family, 'float32_no_penalties', op, 'float32', rows, False, {'l1': 0.0, 'l2': 0.0})
      _case(family, 'float32_large_l1', op, 'float32', rows, False, {'l1': 100.0})
      _case(family, 'float32_nan', op, 'float32', rows, False, gradient=np.nan)
    _case(family, 'float32_one_column', op, 'float32', [1, 2, 1], False, width=1)
    _case(family, 'float32_empty', op, 'float32', None, False, width=0)
  for op in ('ApplyFtrl', 'ApplyFtrlV2'):
    for rows in (None, [1, 2, 1]):
      _case(family, 'float32_power', op, 'float32', rows, True, {'lr_power': -0.75})
      _case(family, 'float32_no_power', op, 'float32', rows, False, {'lr_power': 0.0})
      _case(family, 'float32_scaled', op, 'float32', rows, True, multiply_linear_by_lr=True)
      _case(family, 'float32_scaled_power', op, 'float32', rows, False, {'lr_power': -0.75},
            multiply_linear_by_lr=True)
      _case(family, 'float32_scaled_no_rate', op, 'float32', rows, False, {'lr': 0.0}, multiply_linear_by_lr=True)
    _case(family, 'float32_no_rate', op, 'float32', None, False, {'lr': 0.0})
  _case(family, 'float32_no_rate', 'ApplyProximalGradientDescent', 'float32', None, False, {'alpha': 0.0})
  _case(family, 'float32_negative_l1', 'ApplyProximalGradientDescent', 'float32', None, False, {'l1': -1.0})
  _case(family, 'float32_no_slots', 'ApplyAdagrad', 'float32', [0, 1], True, update_slots=False)


FAMILIES = {'row_optimizers': row_optimizers}
