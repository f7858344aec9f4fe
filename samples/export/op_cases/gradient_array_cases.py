# SPDX-License-Identifier: Apache-2.0
"""Gradients of what moves elements: shapes, slices, rows by number, segments."""

import numpy as np

import tensorflow.compat.v1 as tf
from op_cases.gradient_feeds import integers as _ints
from op_cases.gradient_feeds import numbers as _x


def array(family):
  family.case('Reshape', lambda x: tf.reshape(x, [3, 2]), {'x': _x('x', [2, 3])})
  family.case('Reshape/unknown', lambda x: tf.reshape(x, [3, 2]), {'x': _x('x', [2, 3])}, unknown=['x'])
  family.case('ExpandDims', lambda x: tf.expand_dims(x, 1), {'x': _x('x', [2, 3])})
  family.case('Squeeze', lambda x: tf.squeeze(x, [1]), {'x': _x('x', [2, 1, 3])})
  family.case('Transpose', lambda x: tf.transpose(x, [1, 2, 0]), {'x': _x('x', [2, 1, 3])})
  family.case('Tile', lambda x: tf.tile(x, [2, 3]), {'x': _x('x', [2, 2])})
  family.case('Tile/unknown', lambda x: tf.tile(x, [2, 3]), {'x': _x('x', [2, 2])}, unknown=['x'])
  family.case('Pad', lambda x: tf.pad(x, [[1, 0], [2, 1]]), {'x': _x('x', [2, 2])})
  family.case('PadV2', lambda x: tf.pad(x, [[1, 0], [2, 1]], constant_values=1.0), {'x': _x('x', [2, 2])})
  for mode in ('REFLECT', 'SYMMETRIC'):
    family.case(f'MirrorPad/{mode}', lambda x, m=mode: tf.pad(x, [[1, 0], [1, 1]], m), {'x': _x('x', [3, 3])})
    family.case(f'MirrorPadGrad/{mode}', lambda x, m=mode: tf.raw_ops.MirrorPadGrad(
        input=x, paddings=[[1, 0], [1, 1]], mode=m), {'x': _x('x', [4, 5])})
  family.case('ReverseV2', lambda x: tf.reverse(x, [1]), {'x': _x('x', [2, 3])})
  family.op('Diag', 'Diag', {'diagonal': _x('d', [3])})
  family.op('DiagPart', 'DiagPart', {'input': _x('d', [3, 3])})
  family.case('MatrixBandPart', lambda x: tf.linalg.band_part(x, 1, 0), {'x': _x('x', [3, 3])})
  family.case('Fill', lambda x: tf.fill([2, 3], x), {'x': _x('x', [])})
  family.case('BroadcastTo', lambda x: tf.broadcast_to(x, [2, 3]), {'x': _x('x', [3])})
  family.case('BroadcastTo/column', lambda x: tf.broadcast_to(x, [2, 3]), {'x': _x('x', [2, 1])})


def slices(family):
  family.case('Slice', lambda x: tf.slice(x, [1, 0], [2, 2]), {'x': _x('x', [3, 4])})
  family.case('Slice/unknown', lambda x: tf.slice(x, [1, 0], [2, 2]), {'x': _x('x', [3, 4])}, unknown=['x'])
  family.case('StridedSlice', lambda x: x[0:3:2, ::-1], {'x': _x('x', [3, 4])})
  family.case('StridedSlice/shrink', lambda x: x[1, tf.newaxis, 1:], {'x': _x('x', [3, 4])})
  family.case('StridedSlice/ellipsis', lambda x: x[..., 1], {'x': _x('x', [2, 3, 4])})
  family.case('Pack', lambda x, y: tf.stack([x, y], 1), {'x': _x('x', [3]), 'y': _x('y', [3])})
  family.case('Unpack', lambda x: tf.unstack(x, axis=1), {'x': _x('x', [2, 3])})
  family.case('Unpack/some', lambda x: tf.unstack(x, axis=1)[0], {'x': _x('x', [2, 3])})
  family.case('Split', lambda x: tf.split(x, 2, 1), {'x': _x('x', [2, 4])})
  family.case('SplitV', lambda x: tf.split(x, [1, 3], 1), {'x': _x('x', [2, 4])})
  family.case('ConcatV2', lambda x, y: tf.concat([x, y], 1), {'x': _x('x', [2, 3]), 'y': _x('y', [2, 1])})
  family.case('ConcatV2/behind', lambda x, y: tf.concat([x, y], -1), {'x': _x('x', [2, 3]), 'y': _x('y', [2, 1])})
  family.case('ConcatV2/unknown', lambda x, y: tf.concat([x, y], 0), {'x': _x('x', [2, 3]), 'y': _x('y', [1, 3])},
              unknown=['x'])
  family.case('ConcatV2/many', lambda x: tf.concat([x * float(i) for i in range(17)], 0), {'x': _x('x', [2])})
  family.op('Concat', 'Concat', {'x': _x('x', [2, 3]), 'y': _x('y', [1, 3])}, concat_dim=0, values=['x', 'y'])


def gather(family):
  ids = _ints([2, 0, 2])
  family.op('Gather', 'Gather', {'params': _x('p', [4, 2]), 'indices': ids})
  family.case('GatherV2', lambda params, ids: tf.gather(params, ids), {'params': _x('p', [4, 2]), 'ids': ids})
  family.case('GatherV2/twice', lambda params, ids: tf.gather(params, ids) + 2.0 * tf.gather(params, ids + 1),
              {'params': _x('p', [4, 2]), 'ids': ids})
  family.case('GatherV2/and_dense', lambda params, ids: tf.reduce_sum(tf.gather(params, ids)) + tf.reduce_sum(params),
              {'params': _x('p', [4, 2]), 'ids': ids})
  family.case('GatherV2/matrix', lambda params, ids: tf.gather(params, ids),
              {'params': _x('p', [4, 2]), 'ids': _ints([[1, 2], [0, 3]], 'int64')})
  family.case('GatherV2/column', lambda params, ids: tf.gather(params, ids, axis=1),
              {'params': _x('p', [2, 4]), 'ids': ids})
  family.case('GatherV2/batch', lambda params, ids: tf.gather(params, ids, axis=1, batch_dims=1),
              {'params': _x('p', [2, 4, 2]), 'ids': _ints([[1, 2], [0, 3]])})
  family.case('GatherV2/of_product', lambda params, ids: tf.gather(params * 2.0, ids),
              {'params': _x('p', [4, 2]), 'ids': ids})
  family.case('GatherV2/of_concat', lambda a, b, ids: tf.gather(tf.concat([a, b], 0), ids),
              {'a': _x('a', [2, 2]), 'b': _x('b', [2, 2]), 'ids': ids})
  family.op('GatherNd', 'GatherNd', {'params': _x('p', [3, 4]), 'indices': _ints([[0, 1], [2, 3], [0, 1]])})
  family.op('GatherNd/rows', 'GatherNd', {'params': _x('p', [3, 4]), 'indices': _ints([[0], [2]])})
  family.case('ScatterNd', lambda updates, ids: tf.scatter_nd(ids, updates, [4, 2]),
              {'updates': _x('u', [3, 2]), 'ids': _ints([[1], [3], [1]])})
  for how in ('Update', 'Add', 'Sub', 'Max', 'Min'):
    family.op(f'TensorScatter{how}', f'TensorScatter{how}',
              {'tensor': _x('t', [4]), 'indices': _ints([[1], [3]]), 'updates': _x(how, [2])})
  family.case('SparseToDense', lambda values, default: tf.raw_ops.SparseToDense(
      sparse_indices=[[0], [2]], output_shape=[4], sparse_values=values, default_value=default),
              {'values': _x('v', [2]), 'default': np.array(0.25)})
  family.case('DynamicPartition', lambda data, ids: tf.dynamic_partition(data, ids, 2),
              {'data': _x('d', [4, 2]), 'ids': _ints([0, 1, 1, 0])})
  family.case('DynamicStitch', lambda a, b: tf.dynamic_stitch([[0, 2], [1, 3]], [a, b]),
              {'a': _x('a', [2, 2]), 'b': _x('b', [2, 2])})


def segments(family):
  ids = _ints([0, 0, 1, 2])
  for op in ('SegmentSum', 'SegmentMean', 'SegmentMax', 'SegmentMin', 'SegmentProd'):
    family.op(op, op, {'data': _x(op, [4, 2], 0.5, 2), 'segment_ids': ids})
  for op in ('UnsortedSegmentSum', 'UnsortedSegmentMax', 'UnsortedSegmentMin', 'UnsortedSegmentProd'):
    family.op(op, op, {'data': _x(op, [4, 2], 0.5, 2), 'segment_ids': _ints([2, 0, 2, 1])}, num_segments=3)
  rows = _ints([0, 2, 2, 3])
  for op in ('SparseSegmentSum', 'SparseSegmentMean', 'SparseSegmentSqrtN'):
    family.op(op, op, {'data': _x(op, [5, 2]), 'indices': rows, 'segment_ids': ids})
    family.op(op + 'WithNumSegments', op + 'WithNumSegments', {'data': _x(op, [5, 2]), 'indices': rows, 'segment_ids': ids},
              num_segments=4)


def segment_rows(family):
  """Gradients of the rows that sparse segments name."""
  for op in ('SparseSegmentSum', 'SparseSegmentMean', 'SparseSegmentSqrtN'):
    family.case(op, lambda data, op=op: getattr(tf.raw_ops, op)(data=data, indices=tf.constant([4, 1, 4, 0]),
                                                               segment_ids=tf.constant([0, 0, 1, 1]),
                                                               sparse_gradient=True), {'data': _x(op, [5, 2])})
  family.case('SparseSegmentSumWithNumSegments',
              lambda data: tf.raw_ops.SparseSegmentSumWithNumSegments(
                  data=data, indices=tf.constant([4, 1, 4]), segment_ids=tf.constant([0, 2, 2]), num_segments=4,
                  sparse_gradient=True), {'data': _x('number', [5, 2])})
