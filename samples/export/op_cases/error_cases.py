# SPDX-License-Identifier: Apache-2.0
"""Graphs whose run must fail, with the code and a part of the message."""

import numpy as np

import tensorflow.compat.v1 as tf


def _any(name, dtype=tf.float32):
  """A placeholder of unknown shape, so that the error appears when the graph runs."""
  return tf.placeholder(dtype, name=name)


def _floats(*shape):
  return np.ones(shape, np.float32)


def errors(family):

  def case(name, text, build, feeds, fetches=('y:0',)):

    def wrapped():
      build()
      return text

    family.error(name, wrapped, feeds, list(fetches))

  two = {'a': _floats(2, 3), 'b': _floats(4)}
  case('Add/shapes', 'Incompatible shapes: [2,3] vs. [4]',
       lambda: tf.raw_ops.AddV2(x=_any('a'), y=_any('b'), name='y'), two)
  case('Mul/shapes', 'Incompatible shapes', lambda: tf.raw_ops.Mul(x=_any('a'), y=_any('b'), name='y'), {
      'a': _floats(2, 3),
      'b': _floats(3, 2)
  })
  case('MatMul/inner', 'Matrix size-incompatible',
       lambda: tf.raw_ops.MatMul(a=_any('a'), b=_any('b'), name='y'), {
           'a': _floats(2, 3),
           'b': _floats(4, 2)
       })
  case('MatMul/rank', 'In[0] and In[1] has different ndims: [2,3,1] vs. [4,2]',
       lambda: tf.raw_ops.MatMul(a=_any('a'), b=_any('b'), name='y'), {
           'a': _floats(2, 3, 1),
           'b': _floats(4, 2)
       })
  case('Reshape/size', 'Input to reshape is a tensor with 6 values, but the requested shape has 8',
       lambda: tf.raw_ops.Reshape(tensor=_any('a'), shape=tf.constant([2, 4]), name='y'),
       {'a': _floats(2, 3)})
  case('ConcatV2/dimensions', 'Dimension',
       lambda: tf.raw_ops.ConcatV2(values=[_any('a'), _any('b')], axis=tf.constant(0), name='y'), {
           'a': _floats(2, 3),
           'b': _floats(2, 4)
       })
  case('Pack/shapes', 'Shapes of all inputs must match',
       lambda: tf.raw_ops.Pack(values=[_any('a'), _any('b')], name='y'), {
           'a': _floats(2),
           'b': _floats(3)
       })
  case('Split/uneven', 'Number of ways to split should evenly divide the split dimension',
       lambda: tf.raw_ops.Split(axis=tf.constant(0), value=_any('a'), num_split=2, name='y'),
       {'a': _floats(5, 2)})
  case('AddN/shapes', 'Inputs to operation', lambda: tf.raw_ops.AddN(inputs=[_any('a'), _any('b')], name='y'),
       {
           'a': _floats(2),
           'b': _floats(3)
       })
  case('BiasAdd/size', 'Must provide as many biases as the last dimension',
       lambda: tf.raw_ops.BiasAdd(value=_any('a'), bias=_any('b'), name='y'), {
           'a': _floats(2, 3),
           'b': _floats(2)
       })
  case('Squeeze/not_one', 'Can not squeeze dim[0], expected a dimension of 1, got 2',
       lambda: tf.raw_ops.Squeeze(input=_any('a'), axis=[0], name='y'), {'a': _floats(2, 3)})
  case(
      'GatherV2/range', 'indices[1] = 4 is not in [0, 2)', lambda: tf.raw_ops.GatherV2(
          params=_any('a'), indices=_any('i', tf.int32), axis=tf.constant(0), name='y'), {
              'a': _floats(2, 3),
              'i': np.array([0, 4], np.int32)
          })
  case('FloorDiv/zero', 'Integer division by zero',
       lambda: tf.raw_ops.FloorDiv(x=_any('a', tf.int32), y=_any('b', tf.int32), name='y'), {
           'a': np.array([4, 2], np.int32),
           'b': np.array([2, 0], np.int32)
       })
  case('Slice/range', 'Expected size[0] in [0, 1]',
       lambda: tf.raw_ops.Slice(input=_any('a'), begin=tf.constant([1]), size=tf.constant([2]), name='y'),
       {'a': _floats(2)})
  for label, text, stride in (('backwards', 'only stride 1 allowed on non-range indexing.', -1),
                              ('stride', 'strides[0] must be non-zero', 0)):
    case(f'StridedSlice/shrink_{label}',
         text,
         lambda stride=stride: tf.raw_ops.StridedSlice(input=_any('a'),
                                                       begin=tf.constant([1]),
                                                       end=tf.constant([2]),
                                                       strides=tf.constant([stride]),
                                                       shrink_axis_mask=1,
                                                       name='y'), {'a': _floats(2)})
  case(
      'MaxPool/window', 'Computed output size would be negative: -1', lambda: tf.raw_ops.MaxPool(
          input=_any('a'), ksize=[1, 3, 3, 1], strides=[1, 1, 1, 1], padding='VALID', name='y'),
      {'a': _floats(1, 1, 1, 1)})
  case('ArgMax/empty', 'Reduction axis 1 is empty in shape [0,0]',
       lambda: tf.raw_ops.ArgMax(input=_any('a'), dimension=tf.constant(1), name='y'), {'a': _floats(0, 0)})
  case(
      'ClipByValue/limit', 'must be either of the same shape as input, or a scalar', lambda: tf.raw_ops.
      ClipByValue(t=_any('a'), clip_value_min=_any('b'), clip_value_max=tf.constant(2.0), name='y'), {
          'a': _floats(2, 3),
          'b': _floats(1)
      })
  case('Transpose/repeated', '1 is missing from {0,0}.',
       lambda: tf.raw_ops.Transpose(x=_any('a'), perm=_any('p', tf.int32), name='y'), {
           'a': _floats(2, 3),
           'p': np.array([0, 0], np.int32)
       })
  case('Transpose/rank', 'transpose expects a vector of size 3',
       lambda: tf.raw_ops.Transpose(x=_any('a'), perm=tf.constant([1, 0]), name='y'), {'a': _floats(2, 3, 1)})
  case('Sum/axis', 'Invalid reduction dimension',
       lambda: tf.raw_ops.Sum(input=_any('a'), axis=tf.constant([2]), name='y'), {'a': _floats(2, 3)})
  case(
      'SparseSoftmaxCrossEntropyWithLogits/label',
      'Received a label value of 3 which is outside the valid range of [0, 3)', lambda: tf.raw_ops.
      SparseSoftmaxCrossEntropyWithLogits(features=_any('a'), labels=_any('l', tf.int64), name='y'), {
          'a': _floats(2, 3),
          'l': np.array([0, 3], np.int64)
      })
  case(
      'UnsortedSegmentSum/range', 'is out of range', lambda: tf.raw_ops.UnsortedSegmentSum(
          data=_any('a'), segment_ids=_any('i', tf.int32), num_segments=tf.constant(2), name='y'), {
              'a': _floats(2, 3),
              'i': np.array([0, 2], np.int32)
          })
  case(
      'Conv2D/depth', 'depth', lambda: tf.raw_ops.Conv2D(
          input=_any('a'), filter=_any('b'), strides=[1, 1, 1, 1], padding='VALID', name='y'), {
              'a': _floats(1, 4, 4, 3),
              'b': _floats(2, 2, 2, 1)
          })
  case('Placeholder/not_fed', "You must feed a value for placeholder tensor 'a'",
       lambda: tf.identity(_any('a'), name='y'), {})
  case('VariableV2/uninitialised', 'Attempting to use uninitialized value v',
       lambda: tf.identity(tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32, name='v'), name='y'), {})
  case(
      'OneHot/depth', 'depth must be', lambda: tf.raw_ops.OneHot(
          indices=_any('i', tf.int32), depth=_any('d', tf.int32), on_value=1.0, off_value=0.0, name='y'), {
              'i': np.array([0], np.int32),
              'd': np.array(-1, np.int32)
          })
  case(
      'Range/delta', 'Requires delta != 0', lambda: tf.raw_ops.Range(
          start=_any('a', tf.int32), limit=tf.constant(3), delta=_any('d', tf.int32), name='y'), {
              'a': np.array(0, np.int32),
              'd': np.array(0, np.int32)
          })

  _rows(case)
  _values(case)
  _training(case)


def _rows(case):
  """Indices and segments out of range."""
  matrix = _floats(2, 3)

  def indexed(op, text, at, feed=matrix, **arguments):
    case(
        op, text, lambda: getattr(tf.raw_ops,
                                  op.split('/')[0])
        (**{
            name: value() for name, value in arguments.items()
        }, name='y'), {
            'a': feed,
            'i': np.array(at, np.int32)
        })

  params, ids = lambda: _any('a'), lambda: _any('i', tf.int32)
  indexed('GatherV2/negative',
          'indices[1] = -1 is not in [0, 2)', [0, -1],
          params=params,
          indices=ids,
          axis=lambda: tf.constant(0))
  indexed('GatherV2/matrix',
          'indices[1,0] = 3 is not in [0, 3)', [[0, 1], [3, 2]],
          params=params,
          indices=ids,
          axis=lambda: tf.constant(1))
  indexed('GatherNd/range',
          'indices[1] = [2, 0] does not index into param shape [2,3]', [[0, 1], [2, 0]],
          params=params,
          indices=ids)
  indexed('TensorScatterAdd/range',
          'indices[0] = [2] does not index into shape [2,3]', [[2]],
          tensor=lambda: tf.ones([2, 3]),
          indices=ids,
          updates=params,
          feed=_floats(1, 3))
  indexed('ScatterNd/updates',
          'Dimensions [0,1) of indices[shape=[2,1]] must match dimensions [0,1) of updates[', [[0], [1]],
          indices=ids,
          updates=params,
          shape=lambda: tf.constant([4, 3]),
          feed=_floats(3, 3))
  indexed('SegmentSum/negative',
          'Segment id -1 out of range [0, 2)', [-1, 0, 1],
          data=params,
          segment_ids=ids,
          feed=_floats(3, 2))
  indexed('SegmentSum/size',
          'segment_ids should be the same size as dimension 0 of input.', [0, 0],
          data=params,
          segment_ids=ids,
          feed=_floats(3, 2))
  indexed('SegmentSum/order',
          'segment ids are not increasing', [0, 2, 1],
          data=params,
          segment_ids=ids,
          feed=_floats(3, 2))
  indexed('SparseSegmentSum/range',
          'Bad: indices[1] == 3 out of range [0, 3)', [0, 3],
          data=params,
          indices=ids,
          segment_ids=lambda: tf.constant([0, 0]),
          feed=_floats(3, 2))
  indexed('SparseSoftmaxCrossEntropyWithLogits/negative',
          'Received a label value of -1 which is outside the valid range of [0, 3).  Label values: 0 -1',
          [0, -1],
          features=params,
          labels=ids)
  indexed('SparseSoftmaxCrossEntropyWithLogits/rank',
          'labels must be 1-D, but got shape [1,2]', [[0, 1]],
          features=params,
          labels=ids)


def _values(case):
  """Shapes, axes and texts that no op takes."""

  def shaped(op, text, numbers, **arguments):
    feeds = {'s': np.array(numbers, np.int32)}
    if x in arguments.values():
      feeds['a'] = _floats(2, 3)
    case(
        op, text, lambda: getattr(tf.raw_ops,
                                  op.split('/')[0])
        (**{
            name: make() for name, make in arguments.items()
        }, name='y'), feeds)

  x, vector = lambda: _any('a'), lambda: _any('s', tf.int32)
  shaped('Reshape/rank', 'sizes input must be 1-D, not [1,2]', [[2, 3]], tensor=x, shape=vector)
  shaped('Max/repeated', 'Axes contains duplicate dimension: 1', [1, -1], input=x, axis=vector)
  shaped('SplitV/two_unknown',
         'There can only be one -1 in the input.', [-1, -1],
         value=x,
         size_splits=vector,
         axis=lambda: tf.constant(0),
         num_split=lambda: 2)
  shaped('RandomUniform/negative',
         'Dimension -1 must be >= 0', [2, -1],
         shape=vector,
         dtype=lambda: tf.float32)
  shaped('ConcatOffset/sizes',
         "Input 1 has shape [2 4] and doesn't match input 0 with shape [2 3].", [2, 4],
         concat_dim=lambda: tf.constant(0),
         shape=lambda: [tf.constant([2, 3]), vector()])
  case('Where/scalar', 'WhereOp : Unhandled input dimensions: 0',
       lambda: tf.raw_ops.Where(condition=_any('c', tf.bool), name='y'), {'c': np.array(True)})
  for label, text, out_type in (('plus', b'+5', tf.int32), ('empty', b'', tf.int64),
                                ('infinity', b'Infinity', tf.float32), ('word', b'1e', tf.float64)):
    case(f'StringToNumber/{label}',
         f'StringToNumberOp could not correctly convert string: {text.decode()}',
         lambda out_type=out_type: tf.raw_ops.StringToNumber(
             string_tensor=_any('t', tf.string), out_type=out_type, name='y'),
         {'t': np.array([text], object)})


def _training(case):
  """Batch normalisation, bands, and gradients of segments."""

  def fed(op, text, changed, attributes=None, **arrays):
    arrays = {**arrays, **changed}
    case(
        op, text, lambda: getattr(tf.raw_ops,
                                  op.split('/')[0])
        (**{
            name: _any(name, tf.as_dtype(value.dtype)) for name, value in arrays.items()
        },
         **(attributes or {}),
         name='y'), arrays)

  ones, none = _floats(3), _floats(0)
  forward = {'x': _floats(1, 2, 2, 3), 'scale': ones, 'offset': ones, 'mean': none, 'variance': none}
  for label, text, changed, attributes in (
      ('scale', 'scale must have the same number of elements as the channels of x, got 2 and 3', {
          'scale': _floats(2)
      }, {}),
      ('offset_rank', 'offset must be 1-dimensional[1,3]', {
          'offset': _floats(1, 3)
      }, {}),
      ('fixed', 'When is_training=false, mean must have the same number of elements as the channels of x, got 0 and 3',
       {}, {
           'is_training': False
       }),
      ('moving',
       'When exponential_avg_factor != 1, mean must have the same number of elements as the channels of x, got 0 and 3',
       {}, {
           'exponential_avg_factor': 0.5
       })):
    fed(f'FusedBatchNormV3/{label}', text, changed, attributes, **forward)
  image = _floats(1, 2, 2, 3)
  backward = {'y_backprop': image, 'x': image, 'scale': ones, 'reserve_space_1': ones, 'reserve_space_2': ones}
  fed('FusedBatchNormGrad/mean',
      'reserve_space_1 must have the same number of elements as the channels of x, got 2 and 3',
      {'reserve_space_1': _floats(2)}, **backward)
  band = {'input': _floats(3, 2), 'num_lower': np.int32(0), 'num_upper': np.int32(0)}
  fed('MatrixBandPart/lower', 'num_lower must be negative or less or equal to number of rows (3) got: 4',
      {'num_lower': np.int32(4)}, **band)
  fed('MatrixBandPart/upper', 'num_upper must be negative or less or equal to number of columns (2) got: 3',
      {'num_upper': np.int32(3)}, **band)
  ids = np.array([0, 1], np.int32)
  segments = {'grad': _floats(3, 2), 'indices': ids, 'segment_ids': ids, 'output_dim0': np.int32(5)}
  for label, text, changed in (('range', 'Index 5 out of range [0, 5).', {
      'indices': np.array([0, 5], np.int32)
  }), ('segment', 'Segment id -1 out of range [0, 3).', {
      'segment_ids': np.array([0, -1], np.int32)
  }), ('sizes', 'segment_ids and indices should have same size.', {
      'segment_ids': ids[:1]
  })):
    fed(f'SparseSegmentMeanGrad/{label}', text, changed, **segments)
  dense = {
      'sparse_indices': ids,
      'output_shape': np.array([5], np.int32),
      'sparse_values': _floats(2),
      'default_value': np.float32(0)
  }
  for label, text, changed in (('repeated', 'indices[1] = [1] is repeated', {
      'sparse_indices': np.array([1, 1], np.int32)
  }), ('range', 'indices[1] = [5] is out of bounds: need 0 <= index < [5]', {
      'sparse_indices': np.array([1, 5], np.int32)
  }), ('order', 'is out of order', {
      'sparse_indices': np.array([3, 1], np.int32)
  }), ('values', 'sparse_values has incorrect shape [3], should be [] or [2]', {
      'sparse_values': _floats(3)
  }), ('rank', 'output_shape has incorrect number of elements: 2 should be: 1', {
      'output_shape': np.array([5, 2], np.int32)
  })):
    fed(f'SparseToDense/{label}', text, changed, **dense)


FAMILIES = {'errors': errors}
