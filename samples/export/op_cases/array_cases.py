# SPDX-License-Identifier: Apache-2.0
"""Ops that shape, join, slice, move or make data."""

import numpy as np

import tensorflow.compat.v1 as tf
from golden import Constant
from golden import random_array

_TYPES = ('float32', 'float64', 'int32', 'int64', 'bool')


def counting(shape, dtype):
  return np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)


def _strings(shape):
  return np.array([b's%d' % i for i in range(int(np.prod(shape)))], object).reshape(shape)


def typed(shape):
  """The same values in every element type."""
  return [(dtype, counting(shape, dtype)) for dtype in _TYPES] + [('string', _strings(shape))]


def array_shapes(family):
  for dtype, x in typed([2, 3]):
    family.op(f'Identity/{dtype}', 'Identity', input=x)
    family.op(f'Reshape/{dtype}', 'Reshape', tensor=x, shape=Constant([3, -1]))
    family.op(f'ExpandDims/{dtype}', 'ExpandDims', input=x, axis=Constant(1))
    family.op(f'Shape/{dtype}', 'Shape', input=x)
    family.op(f'Squeeze/{dtype}', 'Squeeze', input=x.reshape([1, 2, 1, 3]), axis=[])
  x = counting([2, 3, 4], np.float32)
  for target in ([24], [4, 6], [-1], [2, -1, 2], [1, 2, 3, 4, 1]):
    family.op(f'Reshape/to_{target}'.replace(' ', ''), 'Reshape', tensor=x, shape=Constant(target))
  family.op('Reshape/int64_shape', 'Reshape', tensor=x, shape=Constant([6, 4], np.int64))
  family.op('Reshape/empty', 'Reshape', tensor=np.zeros([0, 3], np.float32), shape=Constant([3, 0]))
  family.op('Reshape/empty_inferred', 'Reshape', tensor=np.zeros([0, 3], np.float32), shape=Constant([-1, 3]))
  family.op('Reshape/to_scalar', 'Reshape', tensor=np.ones([1], np.float32), shape=Constant([]))
  for axis in (0, 1, 3, -1, -4):
    family.op(f'ExpandDims/axis{axis}', 'ExpandDims', input=x, axis=Constant(axis))
  family.op('ExpandDims/scalar', 'ExpandDims', input=np.array(2.0, np.float32), axis=Constant(0, np.int64))
  y = counting([1, 3, 1, 2, 1], np.float32)
  for axes in ([], [0], [2], [0, 4], [-1], [-3, 0]):
    family.op(f'Squeeze/axes{axes}'.replace(' ', ''), 'Squeeze', input=y, axis=axes)
  for shape in ([], [0], [3], [2, 0, 3], [1, 2, 3, 4]):
    label, zeros = f'{shape}'.replace(' ', ''), np.zeros(shape, np.float32)
    family.op(f'Shape/{label}', 'Shape', input=zeros)
    family.op(f'Shape/int64_{label}', 'Shape', input=zeros, out_type=tf.int64)
    family.op(f'Size/{label}', 'Size', input=zeros)
    family.op(f'Rank/{label}', 'Rank', input=zeros)
    family.op(f'ZerosLike/{label}', 'ZerosLike', x=zeros)
    family.op(f'OnesLike/{label}', 'OnesLike', x=zeros)
  family.op('ShapeN/three', 'ShapeN', input=[np.zeros(s, np.float32) for s in ([2, 3], [], [0])])
  family.op('Size/int64', 'Size', input=x, out_type=tf.int64)
  family.op('StopGradient/float32', 'StopGradient', input=x)
  family.op('ZerosLike/int32', 'ZerosLike', x=np.array([4, 5], np.int32))
  family.op('OnesLike/bool', 'OnesLike', x=np.array([False, True]))
  family.op('InvertPermutation/int32', 'InvertPermutation', x=np.array([2, 0, 1, 3], np.int32))


def array_joins(family):
  for dtype, x in typed([2, 3]):
    pair = [x, x[:, ::-1].copy()]
    family.op(f'ConcatV2/{dtype}', 'ConcatV2', values=pair, axis=Constant(1))
    family.op(f'Pack/{dtype}', 'Pack', values=pair, axis=1)
    family.op(f'Unpack/{dtype}', 'Unpack', value=x, num=3, axis=1)
    family.op(f'Split/{dtype}', 'Split', axis=Constant(1), value=x, num_split=3)
  for shapes, axis in (([[2, 3], [4, 3]], 0), ([[2, 3], [2, 1], [2, 2]], -1), ([[1, 2, 2], [1, 0, 2],
                                                                                [1, 3, 2]], 1),
                       ([[2], [3]], 0), ([[0, 2], [0, 2]], 0), ([[2, 2, 3], [2, 2, 1]], 2)):
    label = f'{shapes}_axis{axis}'.replace(' ', '')
    family.op(f'ConcatV2/{label}',
              'ConcatV2',
              values=[random_array(f'{s}{i}', s, 'float32') for i, s in enumerate(shapes)],
              axis=Constant(axis))
    if axis >= 0:
      family.op(f'ConcatOffset/{label}',
                'ConcatOffset',
                concat_dim=Constant(axis),
                shape=[Constant(s) for s in shapes])
  family.op('Concat/float32',
            'Concat',
            concat_dim=Constant(0),
            values=[random_array('c', [1, 2], 'float32')] * 2)
  for axis in (0, 1, 2, -1, -3):
    family.op(f'Pack/axis{axis}',
              'Pack',
              values=[random_array(f'p{i}', [2, 3], 'float32') for i in range(3)],
              axis=axis)
  family.op('Pack/scalars', 'Pack', values=[np.array(v, np.int32) for v in (3, -1, 7)], axis=0)
  family.op('Pack/empty', 'Pack', values=[np.zeros([0, 2], np.float32)] * 2, axis=0)
  x = counting([4, 3, 2], np.float32)
  for axis, count in ((0, 4), (1, 3), (-1, 2)):
    family.op(f'Unpack/axis{axis}', 'Unpack', value=x, num=count, axis=axis)
  for axis, count in ((0, 2), (0, 4), (1, 3), (2, 1), (-1, 2)):
    family.op(f'Split/axis{axis}_{count}', 'Split', axis=Constant(axis), value=x, num_split=count)
  family.op('SplitV/sizes', 'SplitV', value=x, size_splits=Constant([1, 3]), axis=Constant(0), num_split=2)
  family.op('SplitV/inferred',
            'SplitV',
            value=x,
            size_splits=Constant([1, -1, 0]),
            axis=Constant(1),
            num_split=3)


def array_slices(family):
  x = counting([4, 5, 3], np.float32)
  for begin, size in (([0, 0, 0], [4, 5, 3]), ([1, 2, 0], [2, -1, 3]), ([3, 4, 2], [1, 1, 1]),
                      ([0, 1, 1], [0, 2, 1]), ([1, 0, 0], [2, 5, 3])):
    family.op(f'Slice/{begin}{size}'.replace(' ', ''),
              'Slice',
              input=x,
              begin=Constant(begin),
              size=Constant(size))
  for dtype, values in typed([3, 3]):
    family.op(f'Slice/{dtype}', 'Slice', input=values, begin=Constant([1, 0]), size=Constant([2, 2]))
    family.op(f'StridedSlice/{dtype}',
              'StridedSlice',
              input=values,
              begin=Constant([0, 2]),
              end=Constant([3, 0]),
              strides=Constant([2, -1]))
  family.op('Slice/int64_index',
            'Slice',
            input=x,
            begin=Constant([1, 0, 1], np.int64),
            size=Constant([1, 2, 2], np.int64))
  for label, begin, end, strides, masks in (('plain', [1, 0, 0], [3, 5, 2], [1, 1, 1],
                                             {}), ('step2', [0, 0, 0], [4, 5, 3], [2, 3, 1],
                                                   {}), ('reverse', [3, -1, 2], [0, -6, 0], [-1, -2, -1], {}),
                                            ('begin_mask', [2, 3, 1], [3, 4, 3], [1, 1, 1], {
                                                'begin_mask': 5
                                            }), ('end_mask', [1, 1, 1], [2, 2, 2], [1, 2, 1], {
                                                'end_mask': 7
                                            }), ('shrink', [1, 2], [2, 4], [1, 1], {
                                                'shrink_axis_mask': 1
                                            }), ('shrink_all', [1, 2, 0], [2, 3, 1], [1, 1, 1], {
                                                'shrink_axis_mask': 7
                                            }), ('shrink_masked', [1, -2, 1], [0, 0, 3], [1, 2, 1], {
                                                'begin_mask': 7,
                                                'end_mask': 3,
                                                'shrink_axis_mask': 3
                                            }), ('shrink_negative', [-1], [0], [1], {
                                                'shrink_axis_mask': 1,
                                                'end_mask': 1
                                            }), ('ellipsis', [0, 1], [0, 2], [1, 1], {
                                                'ellipsis_mask': 1
                                            }), ('ellipsis_middle', [1, 0, 0], [3, 0, 2], [1, 1, 1], {
                                                'ellipsis_mask': 2
                                            }), ('new_axis', [0, 1], [0, 3], [1, 1], {
                                                'new_axis_mask': 1
                                            }), ('new_axis_shrink', [0, 0, 2], [0, 0, 3], [1, 1, 1], {
                                                'new_axis_mask': 1,
                                                'begin_mask': 2,
                                                'end_mask': 2,
                                                'shrink_axis_mask': 4
                                            }), ('clamped', [-10, 2, 0], [10, 100, 3], [1, 1, 1],
                                                 {}), ('empty', [2, 0, 0], [2, 5, 3], [1, 1, 1], {}),
                                            ('empty_reversed', [3, 0, 0], [1, 5, 3], [1, 1, 1],
                                             {}), ('all_reversed', [0, 0], [0, 0], [-1, -1], {
                                                 'begin_mask': 3,
                                                 'end_mask': 3
                                             })):
    family.op(f'StridedSlice/{label}',
              'StridedSlice',
              input=x,
              begin=Constant(begin),
              end=Constant(end),
              strides=Constant(strides),
              **masks)
    if 'ellipsis' not in label and 'new_axis' not in label:
      _strided_slice_gradient(family, label, x, begin, end, strides, masks)
  family.op('StridedSlice/shape_element',
            'StridedSlice',
            input=np.array([32, 797, 10], np.int32),
            begin=Constant([0]),
            end=Constant([1]),
            strides=Constant([1]),
            shrink_axis_mask=1)
  family.op('StridedSlice/masked_shape_element',
            'StridedSlice',
            input=Constant([32, 797, 10]),
            begin=Constant([1]),
            end=Constant([0]),
            strides=Constant([1]),
            begin_mask=1,
            shrink_axis_mask=1)


def _strided_slice_gradient(family, label, x, begin, end, strides, masks):
  with tf.Graph().as_default():
    shape = tf.raw_ops.StridedSlice(input=x, begin=begin, end=end, strides=strides, **masks).shape.as_list()
  family.op(f'StridedSliceGrad/{label}',
            'StridedSliceGrad',
            shape=Constant(x.shape),
            begin=Constant(begin),
            end=Constant(end),
            strides=Constant(strides),
            dy=random_array(label, shape, 'float32'),
            **masks)


def array_layout(family):
  x = counting([2, 3, 4], np.float32)
  for permutation in ([0, 1, 2], [2, 1, 0], [0, 2, 1], [1, 0, 2], [1, 2, 0]):
    family.op(f'Transpose/{permutation}'.replace(' ', ''), 'Transpose', x=x, perm=Constant(permutation))
  family.op('Transpose/images',
            'Transpose',
            x=counting([2, 3, 2, 4], np.float32),
            perm=Constant([0, 3, 1, 2]))
  family.op('Transpose/matrix', 'Transpose', x=counting([9, 17], np.float32), perm=Constant([1, 0]))
  for dtype, values in typed([2, 2]):
    family.op(f'Transpose/{dtype}', 'Transpose', x=values, perm=Constant([1, 0]))
    family.op(f'Tile/{dtype}', 'Tile', input=values, multiples=Constant([2, 1]))
    family.op(f'ReverseV2/{dtype}', 'ReverseV2', tensor=values, axis=Constant([1]))
    if dtype != 'string':
      family.op(f'Pad/{dtype}', 'Pad', input=values, paddings=Constant([[1, 0], [0, 2]]))
      family.op(f'Fill/{dtype}', 'Fill', dims=Constant([2, 2]), value=values[1, 1].copy().reshape([]))
  for multiples in ([1, 1, 1], [2, 1, 3], [1, 2, 1], [0, 1, 1]):
    family.op(f'Tile/{multiples}'.replace(' ', ''), 'Tile', input=x, multiples=Constant(multiples))
  family.op('Tile/int64_multiples', 'Tile', input=x, multiples=Constant([1, 1, 2], np.int64))
  for paddings in ([[0, 0], [0, 0], [0, 0]], [[1, 2], [0, 1], [2, 0]], [[0, 0], [3, 3], [0, 0]]):
    family.op(f'Pad/{paddings}'.replace(' ', ''), 'Pad', input=x, paddings=Constant(paddings))
  family.op('PadV2/value',
            'PadV2',
            input=x,
            paddings=Constant([[1, 0], [0, 0], [0, 1]]),
            constant_values=Constant(-1.5, np.float32))
  for mode in ('REFLECT', 'SYMMETRIC'):
    family.op(f'MirrorPad/{mode}',
              'MirrorPad',
              input=x,
              paddings=Constant([[1, 1], [2, 0], [0, 3]]),
              mode=mode)
  for axes in ([0], [1, 2], [], [-1]):
    family.op(f'ReverseV2/{axes}'.replace(' ', ''), 'ReverseV2', tensor=x, axis=Constant(axes))
  for dims in ([], [0], [3], [2, 0, 1], [2, 3, 2]):
    family.op(f'Fill/{dims}'.replace(' ', ''), 'Fill', dims=Constant(dims), value=np.array(2.5, np.float32))
  family.op('Fill/string', 'Fill', dims=Constant([2]), value=np.array(b'w', object))


def array_generators(family):
  for start, limit, delta in ((0, 5, 1), (3, 18, 3), (5, 0, -2), (0, 0, 1), (2, 3, 5)):
    for dtype in (np.int32, np.int64, np.float32):
      family.op(f'Range/{np.dtype(dtype).name}_{start}_{limit}_{delta}',
                'Range',
                start=Constant(start, dtype),
                limit=Constant(limit, dtype),
                delta=Constant(delta, dtype))
  family.op('Range/float32_fractions',
            'Range',
            start=Constant(0, np.float32),
            limit=Constant(1, np.float32),
            delta=Constant(0.3, np.float32))
  family.op('LinSpace/float32',
            'LinSpace',
            start=Constant(-1, np.float32),
            stop=Constant(2, np.float32),
            num=Constant(7))
  for axis in (-1, 0, 1):
    family.op(f'OneHot/axis{axis}',
              'OneHot',
              indices=np.array([[0, 2], [-1, 3]], np.int32),
              depth=Constant(3),
              on_value=Constant(2.5, np.float32),
              off_value=Constant(-1, np.float32),
              axis=axis)
  family.op('OneHot/int64_bool',
            'OneHot',
            indices=np.array([1, 0, 2], np.int64),
            depth=Constant(2),
            on_value=Constant(True, bool),
            off_value=Constant(False, bool))
  family.op('Diag/float32', 'Diag', diagonal=np.array([1, 2, 3], np.float32))
  family.op('DiagPart/float32', 'DiagPart', input=counting([3, 3], np.float32))
  values = {
      'tensor_content': np.arange(6, dtype=np.float32).reshape([2, 3]),
      'splat': np.full([3, 2], 7, np.int64),
      'scalar': np.array(2.5, np.float64),
      'bool': np.array([True, False]),
      'string': np.array([b'a', b'\x00\xff'[:1]], object),
      'empty': np.zeros([0, 3], np.float32),
      'int32': np.array([-1, 2**31 - 1], np.int32),
  }
  for label, value in values.items():

    def build(value=value):
      tf.constant(value, name='c')

    family.graph(f'Const/{label}', build, [({}, ['c:0'], [])])


FAMILIES = {
    'array_shapes': array_shapes,
    'array_joins': array_joins,
    'array_slices': array_slices,
    'array_layout': array_layout,
    'array_generators': array_generators,
}
