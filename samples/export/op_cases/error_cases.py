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


FAMILIES = {'errors': errors}
