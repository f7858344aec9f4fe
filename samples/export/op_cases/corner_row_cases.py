# SPDX-License-Identifier: Apache-2.0
"""Where rows and texts are easily got wrong: gaps, rows named twice, not-a-number, empty tensors, odd numbers."""

import itertools

import numpy as np

import tensorflow.compat.v1 as tf
from golden import Constant
from golden import random_array

_NAN = float('nan')
_INF = float('inf')


def _segments(family):
  data = random_array('data', [6, 2], 'float32')
  ids = np.array([0, 0, 2, 2, 2, 5], np.int32)
  rows = np.array([5, 0, 1, 1, 3, 2], np.int32)
  for op in ('SegmentSum', 'SegmentMean', 'SegmentMax', 'SegmentMin', 'SegmentProd'):
    family.op(f'{op}/gaps', op, data=data, segment_ids=ids)
    family.op(f'{op}/empty', op, data=np.zeros([0, 2], np.float32), segment_ids=np.zeros([0], np.int32))
    if op != 'SegmentMean':
      family.op(f'{op}/int64', op, data=random_array('i', [6], 'int64'), segment_ids=ids.astype(np.int64))
  for op in ('SparseSegmentSum', 'SparseSegmentMean', 'SparseSegmentSqrtN'):
    for dtype in ('float32', 'float64'):
      family.op(f'{op}/{dtype}_gaps', op, data=data.astype(dtype), indices=rows, segment_ids=ids)
    family.op(f'{op}WithNumSegments/more',
              f'{op}WithNumSegments',
              data=data,
              indices=rows,
              segment_ids=ids,
              num_segments=Constant(8))
    family.op(f'{op}/empty', op, data=data, indices=rows[:0], segment_ids=ids[:0])
  for op in ('UnsortedSegmentSum', 'UnsortedSegmentMax', 'UnsortedSegmentMin', 'UnsortedSegmentProd'):
    family.op(f'{op}/all_negative',
              op,
              data=data,
              segment_ids=np.full([6], -1, np.int32),
              num_segments=Constant(2))
    family.op(f'{op}/no_segments', op, data=data[:0], segment_ids=ids[:0], num_segments=Constant(0))
    special = np.array([[1, _NAN], [_NAN, 2], [3, _INF], [-_INF, 1], [0, 0], [1, 1]], np.float32)
    family.op(f'{op}/nan',
              op,
              data=special,
              segment_ids=np.array([0, 0, 1, 1, 0, 1], np.int32),
              num_segments=Constant(2))
    wide = np.repeat(np.array([1, _NAN, 0, _NAN, 2, 3, _NAN], np.float32)[:, None], 19, axis=1)
    if op in ('UnsortedSegmentMax', 'UnsortedSegmentMin'):
      family.op(f'{op}/nan_wide',
                op,
                data=wide,
                segment_ids=np.array([0, 0, 0, 1, 1, 2, 2], np.int32),
                num_segments=Constant(3))
  for op in ('TensorScatterMax', 'TensorScatterMin'):
    for width in (2, 19):
      family.op(f'{op}/nan_{width}',
                op,
                tensor=wide[:3, :width].copy(),
                updates=wide[3:6, :width].copy(),
                indices=np.array([[0], [1], [2]], np.int32))


def _selections(family):
  x = random_array('x', [3, 4], 'float32')
  family.op('GatherV2/scalar_negative_axis',
            'GatherV2',
            params=x,
            indices=np.array(1, np.int32),
            axis=Constant(-2))
  family.op('GatherV2/empty_rows',
            'GatherV2',
            params=np.zeros([3, 0], np.float32),
            indices=np.array([2, 0], np.int32),
            axis=Constant(0))
  family.op('GatherNd/whole', 'GatherNd', params=x, indices=np.zeros([2, 0], np.int32))
  family.op('GatherNd/empty', 'GatherNd', params=x, indices=np.zeros([0, 2], np.int32))
  family.op('OneHot/empty',
            'OneHot',
            indices=np.zeros([0], np.int32),
            depth=Constant(3),
            on_value=Constant(1, np.float32),
            off_value=Constant(0, np.float32))
  family.op('OneHot/depth_zero',
            'OneHot',
            indices=np.array([0, 1], np.int32),
            depth=Constant(0),
            on_value=Constant(1, np.float32),
            off_value=Constant(0, np.float32))
  for op in ('TensorScatterMax', 'TensorScatterMin', 'TensorScatterAdd', 'TensorScatterSub'):
    family.op(f'{op}/repeated',
              op,
              tensor=x,
              indices=np.array([[1], [1], [0]], np.int32),
              updates=random_array('u', [3, 4], 'float32'))
  family.op('DynamicStitch/repeated',
            'DynamicStitch',
            indices=[np.array([0, 2], np.int32), np.array([2, 1, 0], np.int32)],
            data=[np.array([1, 2], np.int32), np.array([5, 6, 7], np.int32)])
  family.op('DynamicPartition/empty_part',
            'DynamicPartition',
            data=x,
            partitions=np.array([2, 2, 0], np.int32),
            num_partitions=3)
  family.op('Tile/empty', 'Tile', input=np.zeros([0, 2], np.float32), multiples=Constant([3, 2]))
  family.op('Split/negative_axis', 'Split', axis=Constant(-1), value=x, num_split=2)
  family.op('ConcatV2/empty_parts',
            'ConcatV2',
            values=[np.zeros([0, 4], np.float32), x,
                    np.zeros([0, 4], np.float32)],
            axis=Constant(-2))
  family.op('Where/rank3', 'Where', condition=random_array('w', [2, 3, 2], 'bool'))
  family.op('Where/nan', 'Where', condition=np.array([_NAN, 0.0, -0.0, 1], np.float32))
  for exclusive, reverse in itertools.product((False, True), repeat=2):
    for op in ('Cumsum', 'Cumprod'):
      family.op(f'{op}/negative_axis_{exclusive:d}{reverse:d}',
                op,
                x=random_array('c', [2, 3, 2], 'float32'),
                axis=Constant(-2),
                exclusive=exclusive,
                reverse=reverse)
      family.op(f'{op}/empty_{exclusive:d}{reverse:d}',
                op,
                x=np.zeros([0, 3], np.float32),
                axis=Constant(0),
                exclusive=exclusive,
                reverse=reverse)
  family.op('BroadcastArgs/plain', 'BroadcastArgs', s0=Constant([3, 1]), s1=Constant([2, 1, 4]))
  family.op('IdentityN/two', 'IdentityN', input=[x, np.array([1, 2], np.int64)])
  family.op('Snapshot/float32', 'Snapshot', input=x)
  family.op('CheckNumerics/fine', 'CheckNumerics', tensor=x, message='m')


def corner_rows(family):
  _segments(family)
  _selections(family)


def corner_strings(family):
  family.op('AsString/int_width', 'AsString', input=np.array([3, -45, 1234567], np.int64), width=5)
  family.op('AsString/left', 'AsString', input=np.array([3, -45], np.int32), width=5, fill='-')
  family.op('AsString/plus', 'AsString', input=np.array([3, -45], np.int32), width=5, fill='+')
  family.op('AsString/space', 'AsString', input=np.array([3, -45], np.int32), fill=' ')
  family.op('AsString/float_width',
            'AsString',
            input=np.array([3.5, -0.25], np.float32),
            width=9,
            precision=2)
  family.op('AsString/float_special_width',
            'AsString',
            input=np.array([_NAN, _INF, -_INF], np.float32),
            width=6)
  for text in (b'+5', b'+inf', b'NAN', b'-nan', b'INF'):
    family.op(f'StringToNumber/float64_{text.decode()}',
              'StringToNumber',
              string_tensor=np.array([text], object),
              out_type=tf.float64)
  family.op('AsString/negative_zero', 'AsString', input=np.array([-0.0, 0.0], np.float32))
  for text in (b' 12', b'12 ', b'-0', b'007'):
    family.op(f'StringToNumber/int32_{text.decode().replace(" ", "_")}',
              'StringToNumber',
              string_tensor=np.array([text], object),
              out_type=tf.int32)
  for text in (b'1e3', b' 2.5 ', b'.5', b'5.', b'nan', b'-inf', b'1e400', b'1e-400'):
    family.op(f'StringToNumber/float32_{text.decode().replace(" ", "_")}',
              'StringToNumber',
              string_tensor=np.array([text], object),
              out_type=tf.float32)
  family.op('StringJoin/broadcast',
            'StringJoin',
            inputs=[np.array([b'a', b'b'], object),
                    np.array(b'-', object),
                    np.array([b'', b'z'], object)],
            separator='/')
  family.op('StringJoin/one', 'StringJoin', inputs=[np.array([b'a', b'b'], object)], separator='/')


FAMILIES = {'corner_rows': corner_rows, 'corner_strings': corner_strings}
