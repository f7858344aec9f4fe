# SPDX-License-Identifier: Apache-2.0
"""Ops that select, group or scatter rows and elements."""

import numpy as np

import tensorflow.compat.v1 as tf
from golden import Constant
from golden import random_array
from op_cases.array_cases import counting
from op_cases.array_cases import typed


def array_selection(family):
  x = counting([4, 3, 2], np.float32)
  for dtype, values in typed([4, 2]):
    family.op(f'GatherV2/{dtype}',
              'GatherV2',
              params=values,
              indices=np.array([3, 0, 3], np.int32),
              axis=Constant(0))
    family.op(f'SelectV2/{dtype}',
              'SelectV2',
              condition=np.array([[True], [False], [True], [False]]),
              t=values,
              e=values[::-1].copy())
    family.op(f'Select/{dtype}',
              'Select',
              condition=np.array([True, False, False, True]),
              x=values,
              y=values[::-1].copy())
  for axis, indices in ((0, [2]), (1, [[0, 2],
                                       [1, 1]]), (2, [1, 0]), (-1, [1]), (0, []), (0, 3), (1, [2, 0, 0, 1])):
    family.op(f'GatherV2/axis{axis}_{indices}'.replace(' ', ''),
              'GatherV2',
              params=x,
              indices=np.array(indices, np.int64),
              axis=Constant(axis))
  family.op('GatherV2/batch',
            'GatherV2',
            params=x,
            indices=np.array([[0], [1], [2], [0]], np.int32),
            axis=Constant(1),
            batch_dims=1)
  family.op('GatherV2/rows',
            'GatherV2',
            params=random_array('rows', [50, 10], 'float32'),
            indices=random_array('rowids', [4, 6], 'int64', 0, 49),
            axis=Constant(0))
  family.op('Gather/float32', 'Gather', params=x, indices=np.array([[1, 0], [3, 3]], np.int32))
  family.op('GatherNd/float32', 'GatherNd', params=x, indices=np.array([[0, 1], [3, 2]], np.int32))
  family.op('GatherNd/elements', 'GatherNd', params=x, indices=np.array([[0, 1, 1], [3, 2, 0]], np.int64))
  same = np.array([[True, False, True], [False, False, True]])
  family.op('Select/same_shape',
            'Select',
            condition=same,
            x=random_array('t', [2, 3], 'float32'),
            y=random_array('e', [2, 3], 'float32'))
  family.op('Select/scalar',
            'Select',
            condition=np.array(False),
            x=random_array('t', [2], 'float32'),
            y=random_array('e', [2], 'float32'))
  family.op('SelectV2/broadcast',
            'SelectV2',
            condition=np.array([True, False]),
            t=np.array(1.0, np.float32),
            e=random_array('e', [3, 2], 'float32'))
  for dtype in ('bool', 'float32', 'int32'):
    family.op(f'Where/{dtype}', 'Where', condition=np.array([[0, 1, 0], [2, 0, -3]]).astype(dtype))
  family.op('Where/none', 'Where', condition=np.zeros([2, 2], bool))
  values = random_array('topk', [3, 7], 'float32')
  family.op('TopKV2/float32', 'TopKV2', input=values, k=Constant(3))
  family.op('TopKV2/ties', 'TopKV2', input=np.array([[1, 2, 2, 1]], np.int32), k=Constant(3))
  family.op('InTopK/int32', 'InTopK', predictions=values, targets=np.array([0, 3, 6], np.int32), k=2)


def segment(family):
  data = random_array('segments', [6, 3], 'float32')
  for op in ('UnsortedSegmentSum', 'UnsortedSegmentMax', 'UnsortedSegmentMin', 'UnsortedSegmentProd'):
    for dtype in ('float32', 'float64', 'int32', 'int64'):
      family.op(f'{op}/{dtype}',
                op,
                data=random_array('seg' + dtype, [6, 2], dtype),
                segment_ids=np.array([2, 0, 2, 4, 0, 2], np.int32),
                num_segments=Constant(5))
    family.op(f'{op}/negative_ids',
              op,
              data=data,
              segment_ids=np.array([-1, 1, 0, -1, 1, 0], np.int64),
              num_segments=Constant(3))
    family.op(f'{op}/vector',
              op,
              data=data[:, 0].copy(),
              segment_ids=np.array([1, 1, 0, 3, 3, 3], np.int32),
              num_segments=Constant(4))
    family.op(f'{op}/matrix_ids',
              op,
              data=data,
              segment_ids=np.array([[0, 1, 0], [2, 2, 2]] * 3, np.int32),
              num_segments=Constant(3))
    family.op(f'{op}/empty',
              op,
              data=np.zeros([0, 2], np.float32),
              segment_ids=np.zeros([0], np.int32),
              num_segments=Constant(2))
  for op in ('SegmentSum', 'SegmentMean', 'SegmentMax', 'SegmentMin', 'SegmentProd'):
    family.op(f'{op}/float32', op, data=data, segment_ids=np.array([0, 0, 1, 3, 3, 3], np.int32))
  repeated = np.array([5, 3, 5, 9, 3, 0])
  for dtype in ('int32', 'int64', 'float32'):
    family.op(f'Unique/{dtype}', 'Unique', x=repeated.astype(dtype))
  family.op('Unique/string', 'Unique', x=np.array([b'b', b'a', b'b'], object))
  family.op('Unique/int64_index', 'Unique', x=repeated.astype(np.int64), out_idx=tf.int64)
  family.op('Unique/empty', 'Unique', x=np.zeros([0], np.int64))
  family.op('UniqueWithCounts/int32', 'UniqueWithCounts', x=repeated.astype(np.int32))
  family.op('Unique/many', 'Unique', x=random_array('many', [300], 'int64', 0, 90))


def scatter(family):
  updates = random_array('updates', [3, 2], 'float32')
  family.op('ScatterNd/rows',
            'ScatterNd',
            indices=np.array([[1], [3], [1]], np.int32),
            updates=updates,
            shape=Constant([4, 2]))
  family.op('ScatterNd/elements',
            'ScatterNd',
            indices=np.array([[0, 1], [2, 0]], np.int64),
            updates=np.array([5, 7], np.int32),
            shape=Constant([3, 2], np.int64))
  for op in ('TensorScatterAdd', 'TensorScatterUpdate', 'TensorScatterSub'):
    family.op(f'{op}/rows',
              op,
              tensor=random_array('base', [4, 2], 'float32'),
              indices=np.array([[2], [0], [3]], np.int32),
              updates=updates)
  family.op('DynamicStitch/shapes',
            'DynamicStitch',
            indices=[np.array([0, 1, 2, 3], np.int32),
                     np.array([1, 3], np.int32)],
            data=[np.array([4, 5, 6, 7], np.int32),
                  np.array([1, 1], np.int32)])
  family.op('DynamicStitch/rows',
            'DynamicStitch',
            indices=[np.array(1, np.int32), np.array([[4, 0], [2, 3]], np.int32)],
            data=[random_array('one', [2], 'float32'),
                  random_array('four', [2, 2, 2], 'float32')])
  family.op('DynamicPartition/rows',
            'DynamicPartition',
            data=random_array('dp', [5, 2], 'float32'),
            partitions=np.array([0, 2, 0, 1, 2], np.int32),
            num_partitions=4)


FAMILIES = {
    'array_selection': array_selection,
    'segment': segment,
    'scatter': scatter,
}
