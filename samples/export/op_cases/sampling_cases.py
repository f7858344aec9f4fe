# SPDX-License-Identifier: Apache-2.0
"""Classes drawn at random, and gradients of rows picked by segments."""

import numpy as np

import golden
import tensorflow.compat.v1 as tf
from golden import Constant
from golden import random_array


def sampling(family):
  logits = random_array('logits', [3, 5], 'float32')
  for samples in (1, 2, 7):
    for dtype in (np.float32, np.float64):
      family.op(f'Multinomial/{np.dtype(dtype).name}_{samples}', 'Multinomial', logits=logits.astype(dtype),
                num_samples=Constant(samples), seed=4, seed2=7)
      family.op(f'StatelessMultinomial/{np.dtype(dtype).name}_{samples}', 'StatelessMultinomial',
                logits=logits.astype(dtype), num_samples=Constant(samples), seed=np.array([3, 9], np.int64))
  family.op('Multinomial/infinite', 'Multinomial', logits=np.array([[-np.inf, 0, -np.inf, 1]], np.float32),
            num_samples=Constant(9), seed=1, output_dtype=np.int32)
  family.op('Multinomial/none', 'Multinomial', logits=logits, num_samples=Constant(0), seed=1)
  family.op('Multinomial/unlikely', 'Multinomial', logits=np.array([[-800, 1, 2]], np.float64), num_samples=Constant(40),
            seed=5, seed2=6)
  classes = np.array([[0, 3], [7, 49], [1, 1]], np.int64)
  for kind in ('UniformCandidateSampler', 'LogUniformCandidateSampler'):
    for label, (sampled, unique, limit) in {'any': (9, False, 50), 'unique': (9, True, 50), 'most': (14, True, 16),
                                            'power': (12, False, 64)}.items():
      family.op(f'{kind}/{label}', kind, true_classes=np.minimum(classes, limit - 1), num_true=2, num_sampled=sampled,
                unique=unique, range_max=limit, seed=11, seed2=3)
  weights = [1.0, 3.0, 0.0, 2.5, 7.0, 0.25]
  for label, (unique, more) in {'any': (False, {}), 'unique': (True, {}), 'distorted': (False, {'distortion': 0.75}),
                                'reserved': (True, {'num_reserved_ids': 2}),
                                'shard': (False, {'num_shards': 2, 'shard': 1})}.items():
    count = 8 if label == 'reserved' else 3 if label == 'shard' else 6
    family.op(f'FixedUnigramCandidateSampler/{label}', 'FixedUnigramCandidateSampler',
              true_classes=np.array([[1, 2], [0, 1]], np.int64), num_true=2, num_sampled=4, unique=unique,
              range_max=count, unigrams=weights, seed=3, seed2=5, **more)
  family.op('AllCandidateSampler', 'AllCandidateSampler', true_classes=classes, num_true=2, num_sampled=50, unique=True)
  for kind in ('LearnedUnigramCandidateSampler', 'ThreadUnsafeUnigramCandidateSampler'):

    def learned(kind=kind):
      known = tf.placeholder(tf.int64, [3, 2], name='known')
      getattr(tf.raw_ops, kind)(true_classes=known, num_true=2, num_sampled=5, unique=True, range_max=11, seed=4,
                                seed2=9, name='drawn')

    fetches = [f'drawn:{i}' for i in range(3)]
    steps = [np.array([[i, 3], [10, 3], [3, i]], np.int64) for i in range(4)]
    family.graph(kind, learned, [({'known': step}, fetches, []) for step in steps])
  family.op('ComputeAccidentalHits/some', 'ComputeAccidentalHits', true_classes=classes,
            sampled_candidates=np.array([3, 1, 20, 49, 3], np.int64), num_true=2)
  family.op('ComputeAccidentalHits/none', 'ComputeAccidentalHits', true_classes=classes,
            sampled_candidates=np.array([30, 20], np.int64), num_true=2)


def segment_rows(family):
  grads = random_array('grads', [3, 4], 'float32')
  for how in ('Sum', 'Mean', 'SqrtN'):
    for index in (np.int32, np.int64):
      family.op(f'SparseSegment{how}GradV2/{np.dtype(index).name}', f'SparseSegment{how}GradV2',
                golden.FLOAT32_SUM, grad=grads, indices=np.array([6, 2, 2, 9, 6], index),
                segment_ids=np.array([0, 0, 1, 2, 2], np.int32), dense_output_dim0=Constant(10))
    family.op(f'SparseSegment{how}GradV2/none', f'SparseSegment{how}GradV2', grad=grads[:0],
              indices=np.zeros([0], np.int32), segment_ids=np.zeros([0], np.int32), dense_output_dim0=Constant(3))


FAMILIES = {'sampling': sampling, 'segment_rows': segment_rows}
