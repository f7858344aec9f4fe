# SPDX-License-Identifier: Apache-2.0
"""Random ops: what TensorFlow's CPU kernels draw for given seeds, over several runs of a session."""

import numpy as np

import golden
import tensorflow.compat.v1 as tf
from golden import Constant

_SEEDS = ((1, 2), (0, 5), (5, 0), (87654321, 42), (1, 101), (2**40 + 3, 2**33 + 1), (-1, -7))
_SHAPES = ([], [1], [3], [4], [5], [2, 7], [2, 0], [3, 2, 11], [257])
_DISTRIBUTIONS = ('RandomUniform', 'RandomStandardNormal', 'TruncatedNormal')

# The uniform streams are integer work and one exact conversion; the others pass through log, sin and cos.
_WITHIN = {'RandomUniform': golden.EXACT}


def _drawn(family, case, op, shape, seeds, dtype, runs, sampled=False):

  def build():
    tf.constant(shape, tf.int32, name='shape')
    getattr(tf.raw_ops, op)(shape=tf.get_default_graph().get_tensor_by_name('shape:0'),
                            dtype=dtype,
                            seed=seeds[0],
                            seed2=seeds[1],
                            name='random')

  within = _WITHIN.get(op, golden.FLOAT32 if dtype == tf.float32 else golden.FLOAT64)
  family.graph(case, build, [({}, ['random:0'], [])] * runs, within, sampled)


def random(family):
  for op in _DISTRIBUTIONS:
    for dtype in (tf.float32, tf.float64):
      for seeds in _SEEDS if dtype == tf.float32 else _SEEDS[:3]:
        _drawn(family, f'{op}/{dtype.name}_seeds_{seeds[0]}_{seeds[1]}', op, [2, 5], seeds, dtype, 3)
      for shape in _SHAPES:
        label = f'{op}/{dtype.name}_shape_{shape}'.replace(' ', '')
        _drawn(family, label, op, shape, (11, 13), dtype, 1 if shape == [257] else 3)
      for shape in ([1000, 100], [90001], [3, 2049]):
        label = f'{op}/{dtype.name}_large_{shape}'.replace(' ', '')
        _drawn(family, label, op, shape, (17, 19), dtype, 2, sampled=True)
  _two_nodes(family)
  _integers_and_shuffles(family)


def _two_nodes(family):
  """Each node continues its own stream, whichever nodes run beside it."""

  def build():
    for name, seed in (('first', 3), ('second', 4)):
      tf.identity(tf.random_uniform([3], seed=seed), name=name)
    tf.add(*[tf.get_default_graph().get_tensor_by_name(f'{n}:0') for n in ('first', 'second')], name='sum')

  steps = [({}, ['first:0'], []), ({}, ['second:0'], []), ({}, ['sum:0', 'first:0'], []),
           ({}, ['first:0', 'second:0'], [])]
  family.graph('RandomUniform/two_nodes', build, steps, golden.FLOAT32)

  def build_initialisers():
    for name, initialiser in (('glorot', tf.glorot_uniform_initializer(seed=3)),
                              ('range', tf.random_uniform_initializer(-1, 1, seed=5)),
                              ('normal', tf.random_normal_initializer(stddev=0.5, seed=6)),
                              ('truncated', tf.truncated_normal_initializer(stddev=0.04, seed=7))):
      tf.get_variable(name, [3, 4], initializer=initialiser, use_resource=False)
    return [tf.global_variables_initializer()]

  names = ['glorot:0', 'range:0', 'normal:0', 'truncated:0']
  family.graph('RandomUniform/initialisers', build_initialisers, [({}, names, [])], golden.FLOAT32)


def _integers_and_shuffles(family):
  for dtype in (np.int32, np.int64):
    family.op(f'RandomUniformInt/{np.dtype(dtype).name}',
              'RandomUniformInt',
              shape=Constant([3, 5]),
              minval=Constant(-3, dtype),
              maxval=Constant(1000, dtype),
              seed=3,
              seed2=9)
  family.op('RandomShuffle/rows',
            'RandomShuffle',
            value=np.arange(14, dtype=np.float32).reshape([7, 2]),
            seed=5,
            seed2=6)


def stateless(family):
  """What follows from a seed alone."""
  for seed in ((1, 2), (-3, 2**40 + 7), (0, 0)):
    family.op(f'GetKeyCounter/{seed[0]}_{seed[1]}', 'StatelessRandomGetKeyCounter', seed=np.array(seed, np.int64))
  family.op('GetKeyCounter/int32', 'StatelessRandomGetKeyCounter', seed=np.array([-5, 9], np.int32))
  family.op('GetKeyCounterAlg', 'StatelessRandomGetKeyCounterAlg', seed=np.array([4, 5], np.int64))
  family.op('GetAlg', 'StatelessRandomGetAlg')
  key, counter = np.array([2**63 + 12345], np.uint64), np.array([3, 2**62 + 1], np.uint64)
  for name in ('StatelessRandomUniform', 'StatelessRandomNormal', 'StatelessTruncatedNormal'):
    for dtype in (tf.float32, tf.float64):
      within = golden.EXACT if name.endswith('Uniform') else golden.FLOAT32 if dtype == tf.float32 else golden.FLOAT64
      for shape in ([], [7], [3, 5]):
        label = f'{dtype.name}_{len(shape)}'
        family.op(f'{name}/{label}', name, within, shape=Constant(shape), seed=np.array([7, 8], np.int64), dtype=dtype)
        family.op(f'{name}V2/{label}', name + 'V2', within, shape=Constant(shape), key=key, counter=counter,
                  alg=Constant(1), dtype=dtype)
    family.op(f'{name}V2/large', name + 'V2',
              golden.EXACT if name.endswith('Uniform') else golden.FLOAT32, sampled=True, shape=Constant([90001]),
              key=key, counter=counter, alg=Constant(3), dtype=tf.float32)
  for dtype in (np.int32, np.int64):
    limits = {'minval': Constant(-3, dtype), 'maxval': Constant(1000, dtype)}
    label = np.dtype(dtype).name
    family.op(f'StatelessRandomUniformInt/{label}', 'StatelessRandomUniformInt', shape=Constant([3, 5]),
              seed=np.array([7, 8], np.int64), **limits)
    family.op(f'StatelessRandomUniformIntV2/{label}', 'StatelessRandomUniformIntV2', shape=Constant([3, 5]), key=key,
              counter=counter, alg=Constant(1), **limits)


FAMILIES = {'random': random, 'stateless': stateless}
