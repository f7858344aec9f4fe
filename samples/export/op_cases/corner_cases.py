# SPDX-License-Identifier: Apache-2.0
"""Where rules are easily got wrong: edges of integer ranges, not-a-number, ties, masks, empty tensors."""

import itertools

import numpy as np

import golden
import tensorflow.compat.v1 as tf
from golden import Constant
from golden import random_array
from golden import seeded

_NAN = float('nan')
_INF = float('inf')


def _integer_edges(family):
  for dtype in ('int32', 'int64'):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    x = np.array([low, low + 1, -1, 0, 1, high - 1, high], dtype)
    for op in ('Abs', 'Neg', 'Sign', 'Square', 'Invert'):
      family.op(f'{op}/{dtype}_edges', op, x=x)
    for op in ('Add', 'Sub', 'Mul', 'Maximum', 'Minimum', 'SquaredDifference'):
      family.op(f'{op}/{dtype}_edges', op, x=x, y=x[::-1].copy())
    positive = np.array([1, 2, 3, 7, high, high - 1, 5], dtype)
    for op in ('FloorDiv', 'FloorMod', 'TruncateDiv', 'TruncateMod', 'Div', 'Mod'):
      family.op(f'{op}/{dtype}_edges', op, x=x, y=positive)
      family.op(f'{op}/{dtype}_negative_edges', op, x=x[1:].copy(), y=-positive[1:])
    family.op(f'Sum/{dtype}_wraps', 'Sum', input=np.array([high, high, 3], dtype), axis=Constant([0]))
    family.op(f'Prod/{dtype}_wraps', 'Prod', input=np.array([high, high, 3], dtype), axis=Constant([0]))
    family.op(f'Mean/{dtype}_negative',
              'Mean',
              input=np.array([[-1, -2], [7, -4]], dtype),
              axis=Constant([1]))
    family.op(f'Mean/{dtype}_wraps', 'Mean', input=np.array([high, high, 3], dtype), axis=Constant([0]))
    family.op(f'Cumsum/{dtype}_wraps', 'Cumsum', x=np.array([high, 1, 1], dtype), axis=Constant(0))
    family.op(f'Pow/{dtype}_powers',
              'Pow',
              x=np.array([0, 1, -1, 2, -2, 3, 10], dtype),
              y=np.array([0, 5, 7, 30, 31, 0, 9], dtype))
    for op in ('LeftShift', 'RightShift'):
      family.op(f'{op}/{dtype}',
                op,
                x=np.array([-8, 1, 5, -1, high], dtype),
                y=np.array([1, 3, 0, 2, 4], dtype))
  family.op('Cast/float32_halves_to_int32',
            'Cast',
            x=np.array([0.5, 1.5, -0.5, -1.5, 2.999, -2.999], np.float32),
            DstT=tf.int32)


def _not_a_number(family):
  rows = np.array([[1, _NAN, 3], [_NAN, 2, 1], [4, 4, _NAN], [_NAN, _NAN, _NAN], [-_INF, -_INF, -_INF],
                   [_INF, 1, _INF], [0.0, -0.0, 0.0]])
  for dtype in ('float32', 'float64'):
    values = rows.astype(dtype)
    for op in ('ArgMax', 'ArgMin'):
      for axis in (0, 1):
        family.op(f'{op}/{dtype}_nan_axis{axis}', op, input=values, dimension=Constant(axis))
    for op in ('Max', 'Min', 'Sum', 'Mean', 'Prod'):
      for axis in (0, 1):
        family.op(f'{op}/{dtype}_nan_axis{axis}', op, input=values, axis=Constant([axis]))
    x = np.array([_NAN, 1, _NAN, _INF, -_INF, 0.0, -0.0, 2], dtype)
    y = np.array([1, _NAN, _NAN, _NAN, 0, -0.0, 0.0, -2], dtype)
    for op in ('Maximum', 'Minimum', 'Pow', 'Atan2', 'FloorMod', 'FloorDiv', 'TruncateMod', 'Mod', 'DivNoNan',
               'MulNoNan', 'Xlogy', 'Xdivy', 'SquaredDifference'):
      family.op(f'{op}/{dtype}_nan', op, x=x, y=y)
    for op in ('Relu', 'Relu6', 'Elu', 'Selu', 'LeakyRelu', 'Softplus', 'Softsign'):
      family.op(f'{op}/{dtype}_nan', op, features=x)
    for op in ('Sign', 'Floor', 'Ceil', 'Rint', 'Round', 'Sqrt', 'Rsqrt', 'Log', 'Log1p', 'Exp', 'Expm1',
               'Tanh', 'Sigmoid', 'Reciprocal'):
      family.op(f'{op}/{dtype}_nan', op, x=x)
    halves = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, 1e9 + 0.5], dtype)
    for op in ('Round', 'Rint', 'Floor', 'Ceil'):
      family.op(f'{op}/{dtype}_halves', op, x=halves)
    family.op(f'Softmax/{dtype}_nan', 'Softmax', logits=rows[:3].astype(dtype))
    family.op(f'Softmax/{dtype}_infinite', 'Softmax', logits=np.array([[-_INF, 0, 1], [0, 0, -_INF]], dtype))
    family.op(f'ClipByValue/{dtype}_nan',
              'ClipByValue',
              t=x,
              clip_value_min=Constant(-1, dtype),
              clip_value_max=Constant(1, dtype))
    family.op(f'TopKV2/{dtype}_ties',
              'TopKV2',
              input=np.array([[3, 1, 3, 2, 3], [0, 0, 0, 0, 0]], dtype),
              k=Constant(4))
    family.op(f'TopKV2/{dtype}_zero', 'TopKV2', input=rows.astype(dtype), k=Constant(0))
  family.op('Unique/float32_nan', 'Unique', x=np.array([_NAN, 1, _NAN, 0.0, -0.0, 1], np.float32))
  for k in (1, 2, 3):
    family.op(f'InTopKV2/ties_{k}',
              'InTopKV2',
              predictions=np.array([[1, 1, 1], [0, 2, 2], [_NAN, 1, 2], [_INF, 1, 2], [3, 2, 1]], np.float32),
              targets=np.array([1, 0, 1, 0, 2], np.int32),
              k=Constant(k))


def _divisions(family):
  x = np.array([7, -7, 7, -7, 5.5, -5.5, 5.5, -5.5, 0, 6, -6])
  y = np.array([2, 2, -2, -2, 2, 2, -2, -2, -3, 3, -3])
  for dtype in ('float32', 'float64'):
    for op in ('FloorDiv', 'FloorMod', 'TruncateMod', 'Mod', 'Div', 'RealDiv'):
      family.op(f'{op}/{dtype}_quadrants', op, x=x.astype(dtype), y=y.astype(dtype))
    zeros = np.array([0, 1, -1, _INF, _NAN], dtype)
    for op in ('FloorDiv', 'FloorMod', 'Div', 'Xdivy', 'DivNoNan'):
      family.op(f'{op}/{dtype}_by_zero', op, x=zeros, y=np.zeros([5], dtype))
    family.op(f'FloorMod/{dtype}_tiny',
              'FloorMod',
              x=np.array([-1e-20, 1e-20, -1e-20], dtype),
              y=np.array([1, -1, 3], dtype))


def corner_math(family):
  _integer_edges(family)
  _not_a_number(family)
  _divisions(family)
  for dtype in ('float32', 'float64'):
    family.op(f'Lgamma/{dtype}', 'Lgamma', x=np.array([0.5, 1, 2.5, 10, 100, -0.5], dtype))
    for count in (1, 2, 3):
      family.op(f'AccumulateNV2/{dtype}_{count}',
                'AccumulateNV2',
                inputs=[random_array(f'acc{i}', [2, 3], dtype) for i in range(count)],
                shape=[2, 3])
  family.op('LinSpace/one',
            'LinSpace',
            start=Constant(3, np.float32),
            stop=Constant(9, np.float32),
            num=Constant(1))
  family.op('LinSpace/float64',
            'LinSpace',
            start=Constant(10, np.float64),
            stop=Constant(0, np.float64),
            num=Constant(11))
  for dtype in (np.float32, np.float64):
    for start, limit, delta in ((0, 1, 0.1), (1, 0, -0.1), (0.5, 5, 0.7), (5, 5, 1)):
      family.op(f'Range/{np.dtype(dtype).name}_{start}_{limit}_{delta}',
                'Range',
                start=Constant(start, dtype),
                limit=Constant(limit, dtype),
                delta=Constant(delta, dtype))


def _random_slice(name, rank):
  """A sparse specification as Python's x[...] could make it, and some that it could not."""
  source = seeded(name)
  shape = source.randint(1, 6, rank).tolist()
  count = source.randint(1, rank + 2)
  begin = source.randint(-7, 8, count).tolist()
  end = source.randint(-7, 8, count).tolist()
  strides = source.choice([-3, -2, -1, 1, 1, 1, 2, 3], count).tolist()
  masks = {
      'begin_mask': int(source.randint(0, 2**count)),
      'end_mask': int(source.randint(0, 2**count)),
      'ellipsis_mask': 0,
      'new_axis_mask': 0,
      'shrink_axis_mask': 0
  }
  if source.rand() < 0.5:
    masks['ellipsis_mask'] = 1 << int(source.randint(0, count))
  if source.rand() < 0.5:
    masks['new_axis_mask'] = int(source.randint(0, 2**count))
  if source.rand() < 0.5:
    masks['shrink_axis_mask'] = int(source.randint(0, 2**count))
  return shape, begin, end, strides, masks


def corner_slices(family):
  recorded = 0
  for i in itertools.count():
    if recorded == 30:
      break
    shape, begin, end, strides, masks = _random_slice(f'slice{i}', 1 + i % 4)
    x = np.arange(np.prod(shape)).reshape(shape).astype(np.float32)
    spec = {'begin': begin, 'end': end, 'strides': strides}
    try:
      with tf.Graph().as_default():
        result = tf.raw_ops.StridedSlice(input=x, **spec, **masks).shape.as_list()
    except ValueError:
      continue
    recorded += 1
    constants = {name: Constant(value) for name, value in spec.items()}
    family.op(f'StridedSlice/random{i}', 'StridedSlice', input=x, **constants, **masks)
    family.op(f'StridedSliceGrad/random{i}',
              'StridedSliceGrad',
              shape=Constant(shape),
              **constants,
              dy=random_array(f'dy{i}', result, 'float32'),
              **masks)


def corner_network(family):
  x = np.array([1, 5, 5, 2, _NAN, 5, 0, 0, 3, 3, 1, _INF, 2, 2, 7, 7], np.float32).reshape([1, 4, 4, 1])
  attributes = {'ksize': [1, 2, 2, 1], 'strides': [1, 1, 1, 1]}
  for padding in ('VALID', 'SAME'):
    for label, values in (('nan', x), ('equal', np.zeros([1, 4, 4, 1], np.float32)),
                          ('lowest', np.full([1, 4, 4, 1], -_INF, np.float32))):
      family.op(f'MaxPool/{label}_{padding}', 'MaxPool', input=values, padding=padding, **attributes)
      if label != 'equal':
        continue
      size = 3 if padding == 'VALID' else 4
      family.op(f'MaxPoolGrad/{label}_{padding}',
                'MaxPoolGrad',
                orig_input=values,
                orig_output=np.zeros([1, size, size, 1], np.float32),
                grad=random_array('pool', [1, size, size, 1], 'float32'),
                padding=padding,
                **attributes)
  for shape in ([0, 4, 4, 2], [1, 4, 4, 0]):
    family.op(f'MaxPool/empty_{shape}'.replace(' ', ''),
              'MaxPool',
              input=np.zeros(shape, np.float32),
              padding='SAME',
              **attributes)
    family.op(f'AvgPool/empty_{shape}'.replace(' ', ''),
              'AvgPool',
              value=np.zeros(shape, np.float32),
              padding='SAME',
              **attributes)
  for dtype in ('float32', 'float64'):
    logits = random_array('one' + dtype, [3, 4], dtype)
    family.op(f'SoftmaxCrossEntropyWithLogits/{dtype}_broadcast',
              'SoftmaxCrossEntropyWithLogits',
              features=logits,
              labels=np.array([[0.1, 0.2, 0.3, 0.4]], dtype))
    family.op(f'SoftmaxCrossEntropyWithLogits/{dtype}_unnormalised',
              'SoftmaxCrossEntropyWithLogits',
              features=logits,
              labels=random_array('labels', [3, 4], dtype))
  family.op('LRN/zeros', 'LRN', input=np.zeros([1, 1, 1, 4], np.float32))
  family.op('LRN/wide_radius',
            'LRN',
            golden.FLOAT32_SUM,
            input=random_array('lrn', [1, 1, 2, 5], 'float32'),
            depth_radius=9,
            bias=1.0,
            alpha=0.2,
            beta=0.75)
  family.op('BiasAddV1/float32',
            'BiasAddV1',
            value=random_array('v1', [2, 3], 'float32'),
            bias=random_array('b', [3], 'float32'))
  family.op('BatchMatMulV3/mixed',
            'BatchMatMulV3',
            golden.FLOAT32_SUM,
            x=random_array('x3', [2, 2, 3], 'float32'),
            y=random_array('y3', [3, 4], 'float32'),
            Tout=tf.float32)


FAMILIES = {
    'corner_math': corner_math,
    'corner_slices': corner_slices,
    'corner_network': corner_network,
}
