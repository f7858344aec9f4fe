"""Small graphs for every op with a gradient, with exact shapes and, where TensorFlow then writes other ops, without."""

import numpy as np

import golden
import sample_graphs
import tensorflow.compat.v1 as tf
from golden import random_array
from tensorflow.python.debug.lib import debug_gradients

_DOUBLE = 'float64'


def _x(name, shape, low=-2.0, high=2.0, dtype=_DOUBLE):
  return random_array(name, shape, dtype, low, high)


def _ints(values, dtype='int32'):
  return np.array(values, dtype)


_UNARY = {
    'Abs': (-2, 2), 'Neg': (-2, 2), 'Sign': (-2, 2), 'Inv': (0.5, 2), 'Reciprocal': (0.5, 2), 'Square': (-2, 2),
    'Sqrt': (0.5, 2), 'Rsqrt': (0.5, 2), 'Exp': (-1, 1), 'Expm1': (-1, 1), 'Log': (0.5, 2), 'Log1p': (-0.5, 2),
    'Sin': (-2, 2), 'Cos': (-2, 2), 'Tan': (-1, 1), 'Asin': (-0.8, 0.8), 'Acos': (-0.8, 0.8), 'Atan': (-2, 2),
    'Sinh': (-1, 1), 'Cosh': (-1, 1), 'Tanh': (-1, 1), 'Asinh': (-2, 2), 'Acosh': (1.5, 3), 'Atanh': (-0.8, 0.8),
    'Sigmoid': (-2, 2), 'Erf': (-1, 1), 'Erfc': (-1, 1), 'Erfinv': (-0.8, 0.8), 'Ndtri': (0.2, 0.8),
    'Lgamma': (0.5, 3), 'Digamma': (0.5, 3), 'Floor': (-2, 2), 'Round': (-2, 2)
}  # yapf: disable


def _watched(x):
  return debug_gradients.GradientsDebugger().identify_gradient(tf.square(x))


def unary(family):
  for op, (low, high) in _UNARY.items():
    family.op(op, op, {'x': _x(op, [2, 3], low, high)})
  for op in ('Relu', 'Relu6', 'LeakyRelu', 'Elu', 'Selu', 'Softplus', 'Softsign'):
    family.op(op, op, {'features': _x(op, [2, 3])})
  family.op('Square/colocated', 'Square', {'x': _x('c', [3])}, colocate=True)
  family.op('Tanh/unknown', 'Tanh', {'x': _x('t', [3])}, unknown=['x'])
  family.op('Identity', 'Identity', {'input': _x('identity', [3])})
  family.case('Cast', lambda x: tf.cast(x, tf.float32), {'x': _x('cast', [3])}, within=golden.FLOAT32)
  family.case('Cast/int', lambda x: tf.cast(tf.cast(x, tf.int32), tf.float64), {'x': _x('cast', [3])})
  family.case('IdentityN', lambda x, y: tf.identity_n([x, y]), {'x': _x('a', [3]), 'y': _x('b', [2])})
  family.case('StopGradient', lambda x: x * tf.stop_gradient(x), {'x': _x('stop', [3])})
  family.op('CheckNumericsV2', 'CheckNumericsV2', {'tensor': _x('check', [3])}, message='text')
  family.case('DebugGradientIdentity', _watched, {'x': _x('watched', [3])})
  family.case('CheckNumerics', lambda x: tf.debugging.check_numerics(x, 'text'), {'x': _x('check', [3])})


_BINARY = ('Add', 'AddV2', 'Sub', 'Mul', 'MulNoNan', 'Div', 'RealDiv', 'DivNoNan', 'FloorMod', 'Pow', 'Maximum', 'Minimum',
           'SquaredDifference', 'Atan2', 'Xlogy', 'Xlog1py', 'Xdivy')
_SHAPES = {'same': ([2, 3], [2, 3]), 'row': ([2, 3], [3]), 'column': ([2, 1], [2, 3]), 'scalar': ([], [2])}


def binary(family):
  for op in _BINARY:
    for label, (x_shape, y_shape) in _SHAPES.items():
      names = ('y', 'x') if op == 'Atan2' else ('x', 'y')
      feeds = {names[0]: _x(op + label, x_shape, 0.5, 2.0), names[1]: _x(op + label + 'y', y_shape, 0.6, 2.1)}
      family.op(f'{op}/{label}', op, feeds)
    family.op(f'{op}/unknown', op, {names[0]: _x(op, [2, 3], 0.5, 2.0), names[1]: _x(op + 'y', [3], 0.6, 2.1)},
              unknown=['x'])
  for op, names in {'Zeta': ('x', 'q'), 'Polygamma': ('a', 'x')}.items():
    orders = np.array([2.0, 3.0, 4.0])
    family.op(op, op, {names[0]: orders, names[1]: _x(op, [2, 3], 0.5, 2.0)}, xs=[names[1]])
    family.op(f'{op}/row', op, {names[0]: orders.reshape([3, 1]), names[1]: _x(op, [2], 0.5, 2.0)}, xs=[names[1]])
  family.op('Mul/float32', 'Mul', {'x': _x('f', [2, 3], dtype='float32'), 'y': _x('g', [2, 3], dtype='float32')})
  family.op('AddN', 'AddN', {'a': _x('a', [3]), 'b': _x('b', [3]), 'c': _x('c', [3])}, inputs=['a', 'b', 'c'])
  family.case('ClipByValue', lambda t, low, high: tf.raw_ops.ClipByValue(t=t, clip_value_min=low, clip_value_max=high),
              {'t': _x('t', [2, 3]), 'low': np.array(-0.5), 'high': np.array(0.7)})
  mask = np.array([[True, False, True], [False, False, True]])
  family.case('Select', lambda mask, t, e: tf.where(mask, t, e),
              {'mask': mask, 't': _x('t', [2, 3]), 'e': _x('e', [2, 3])})
  family.op('SelectV2', 'SelectV2', {'condition': mask, 't': _x('t', [3]), 'e': _x('e', [2, 1])})
  family.op('SelectV2/unknown', 'SelectV2', {'condition': mask, 't': _x('t', [3]), 'e': _x('e', [2, 1])},
            unknown=['t'])


def reductions(family):
  for op in ('Sum', 'Mean', 'Max', 'Min', 'Prod', 'EuclideanNorm'):
    for label, axes in (('all', [0, 1, 2]), ('one', [1]), ('last', [-1]), ('two', [0, 2])):
      for keep in (False, True):
        family.case(f'{op}/{label}{"_kept" if keep else ""}',
                    lambda input, op=op, axes=axes, keep=keep: getattr(tf.raw_ops, op)(
                        input=input, axis=tf.constant(axes), keep_dims=keep),
                    {'input': _x(op, [2, 3, 2], 0.5, 2)})
    family.case(f'{op}/unknown',
                lambda input, op=op: getattr(tf.raw_ops, op)(input=input, axis=tf.constant([0])),
                {'input': _x(op, [2, 3], 0.5, 2)}, unknown=['input'])
  for op in ('Cumsum', 'Cumprod'):
    for exclusive in (False, True):
      for reverse in (False, True):
        family.case(f'{op}/{exclusive}_{reverse}',
                    lambda x, op=op, e=exclusive, r=reverse: getattr(tf.raw_ops, op)(
                        x=x, axis=tf.constant(1), exclusive=e, reverse=r), {'x': _x(op, [2, 4], 0.5, 2)})
  family.op('L2Loss', 'L2Loss', {'t': _x('t', [2, 3])})
  family.case('TopKV2', lambda input: tf.math.top_k(input, 2)[0], {'input': _x('top', [3, 5])})


def linear(family):
  for ta in (False, True):
    for tb in (False, True):
      a, b = ([3, 2] if ta else [2, 3]), ([4, 3] if tb else [3, 4])
      family.op(f'MatMul/{ta}_{tb}', 'MatMul', {'a': _x('a', a), 'b': _x('b', b)}, transpose_a=ta, transpose_b=tb)
      x, y = ([2, 3, 2] if ta else [2, 2, 3]), ([2, 4, 3] if tb else [2, 3, 4])
      family.op(f'BatchMatMulV2/{ta}_{tb}', 'BatchMatMulV2', {'x': _x('x', x), 'y': _x('y', y)}, adj_x=ta, adj_y=tb)
  family.op('BatchMatMulV2/broadcast', 'BatchMatMulV2', {'x': _x('x', [2, 2, 3]), 'y': _x('y', [3, 4])})
  family.op('BatchMatMul', 'BatchMatMul', {'x': _x('x', [2, 2, 3]), 'y': _x('y', [2, 3, 4])})
  for padding in ('SAME', 'VALID'):
    family.op(f'Conv2D/{padding}', 'Conv2D', {'input': _x('i', [1, 4, 5, 2]), 'filter': _x('f', [2, 3, 2, 2])},
              strides=[1, 2, 1, 1], padding=padding)
    family.case(f'Conv2DBackpropInput/{padding}',
                lambda filter, out_backprop, padding=padding: tf.raw_ops.Conv2DBackpropInput(
                    input_sizes=tf.constant([1, 4, 5, 2]), filter=filter, out_backprop=out_backprop,
                    strides=[1, 1, 1, 1], padding=padding),
                {'filter': _x('f', [2, 3, 2, 2]), 'out_backprop': _x('o', [1, 4, 5, 2] if padding == 'SAME' else [1, 3, 3, 2])})
    family.case(f'Conv2DBackpropFilter/{padding}',
                lambda input, out_backprop, padding=padding: tf.raw_ops.Conv2DBackpropFilter(
                    input=input, filter_sizes=tf.constant([2, 3, 2, 2]), out_backprop=out_backprop,
                    strides=[1, 1, 1, 1], padding=padding),
                {'input': _x('i', [1, 4, 5, 2]), 'out_backprop': _x('o', [1, 4, 5, 2] if padding == 'SAME' else [1, 3, 3, 2])})


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


def einsum(family):
  for equation, x, y in (('ab,bc->ac', [2, 3], [3, 4]), ('abc,cde->abde', [2, 3, 2], [2, 2, 3]),
                         ('bij,bkj->bik', [2, 2, 3], [2, 4, 3]), ('abc,adbe->acbde', [2, 3, 2], [2, 2, 3, 2])):
    family.case(equation, lambda x, y, equation=equation: tf.raw_ops.Einsum(inputs=[x, y], equation=equation),
                {'x': _x('x' + equation, x), 'y': _x('y' + equation, y)})
  family.case('abc->cab', lambda x: tf.raw_ops.Einsum(inputs=[x], equation='abc->cab'), {'x': _x('x', [2, 3, 4])})


def _pooled(volumes_in, window):
  with tf.Graph().as_default() as graph, sample_graphs.plain_session(graph, 1, 1) as session:
    return session.run(tf.raw_ops.MaxPool3D(input=tf.constant(volumes_in), **window))


def factors(family):
  for label, shape in {'square': [3, 3], 'tall': [4, 2], 'wide': [2, 4], 'batch': [2, 3, 2]}.items():
    family.op(f'Qr/{label}', 'Qr', {'input': _x('qr' + label, shape)}, output='all')
  family.op('Qr/r', 'Qr', {'input': _x('r', [3, 2])}, output=1)
  for lower in (True, False):
    for adjoint in (True, False):
      matrix = _x('m', [3, 3], 0.2, 1.0) + 2 * np.eye(3)
      family.op(f'MatrixTriangularSolve/{lower}_{adjoint}', 'MatrixTriangularSolve',
                {'matrix': matrix, 'rhs': _x('rhs', [3, 2])}, lower=lower, adjoint=adjoint)
  family.op('MatrixTriangularSolve/batches', 'MatrixTriangularSolve',
            {'matrix': _x('b', [2, 1, 3, 3], 0.2, 1.0) + 2 * np.eye(3), 'rhs': _x('rhs', [2, 3, 2])})


def volumes(family):
  # No two so close that a small step makes the other one the largest.
  apart = (np.random.RandomState(3).permutation(72).reshape([1, 3, 4, 3, 2]) / 10).astype(np.float32)
  for padding in ('SAME', 'VALID'):
    out = [1, 3, 4, 3, 2] if padding == 'SAME' else [1, 2, 2, 2, 2]
    family.op(f'Conv3D/{padding}', 'Conv3D', {'input': _x('i', [1, 3, 4, 3, 2]), 'filter': _x('f', [2, 3, 2, 2, 2])},
              strides=[1, 2, 1, 1, 1], padding=padding)
    family.case(f'Conv3DBackpropInputV2/{padding}',
                lambda filter, out_backprop, padding=padding: tf.raw_ops.Conv3DBackpropInputV2(
                    input_sizes=tf.constant([1, 3, 4, 3, 2]), filter=filter, out_backprop=out_backprop,
                    strides=[1, 1, 1, 1, 1], padding=padding),
                {'filter': _x('f', [2, 3, 2, 2, 2]), 'out_backprop': _x('o', out)})
    family.case(f'Conv3DBackpropFilterV2/{padding}',
                lambda input, out_backprop, padding=padding: tf.raw_ops.Conv3DBackpropFilterV2(
                    input=input, filter_sizes=tf.constant([2, 3, 2, 2, 2]), out_backprop=out_backprop,
                    strides=[1, 1, 1, 1, 1], padding=padding),
                {'input': _x('i', [1, 3, 4, 3, 2]), 'out_backprop': _x('o', out)})
    window = {'ksize': [1, 2, 2, 2, 1], 'strides': [1, 2, 1, 2, 1], 'padding': padding}
    family.op(f'MaxPool3D/{padding}', 'MaxPool3D', {'input': apart}, **window)
    pooled = _pooled(apart, window)
    family.op(f'MaxPool3DGrad/{padding}', 'MaxPool3DGrad',
              {'grad': _x('g', pooled.shape, dtype='float32'), 'orig_input': apart, 'orig_output': pooled},
              xs=['grad'], **window)
    family.op(f'MaxPool3DGradGrad/{padding}', 'MaxPool3DGradGrad',
              {'grad': _x('gg', apart.shape, dtype='float32'), 'orig_input': apart, 'orig_output': pooled},
              xs=['grad'], **window)
    family.op(f'AvgPool3D/{padding}', 'AvgPool3D',
              {'input': _x('p', [1, 3, 4, 3, 2], dtype='float32')}, **window)
    family.case(f'AvgPool3DGrad/{padding}',
                lambda grad, window=window: tf.raw_ops.AvgPool3DGrad(
                    orig_input_shape=tf.constant([1, 3, 4, 3, 2]), grad=grad, **window),
                {'grad': _x('g', [1, 2, 4, 2, 2] if padding == 'SAME' else [1, 1, 3, 1, 2], dtype='float32')})
  for kind in ('ResizeBilinear', 'ResizeNearestNeighbor'):
    for unknown in ((), ('images',)):
      family.case(f'{kind}/{"unknown" if unknown else "known"}',
                  lambda images, kind=kind: getattr(tf.raw_ops, kind)(images=images, size=tf.constant([5, 4]),
                                                                      half_pixel_centers=True),
                  {'images': _x('images', [1, 3, 2, 2], dtype='float32')}, unknown=unknown,
                  within=golden.FLOAT32_SUM)
  family.op('DepthToSpace', 'DepthToSpace', {'input': _x('d', [1, 2, 2, 8])}, block_size=2)
  family.op('SpaceToDepth', 'SpaceToDepth', {'input': _x('s', [1, 4, 2, 2])}, block_size=2)
  family.case('ReverseSequence', lambda input, lengths: tf.reverse_sequence(input, lengths, seq_axis=1, batch_axis=0),
              {'input': _x('r', [2, 4, 2]), 'lengths': _ints([3, 1])})


def depthwise(family):
  for padding in ('SAME', 'VALID'):
    family.op(f'DepthwiseConv2dNative/{padding}', 'DepthwiseConv2dNative',
              {'input': _x('i', [1, 4, 5, 2]), 'filter': _x('f', [2, 3, 2, 2])}, strides=[1, 1, 1, 1], padding=padding)
    out = [1, 4, 5, 4] if padding == 'SAME' else [1, 3, 3, 4]
    family.case(f'DepthwiseConv2dNativeBackpropInput/{padding}',
                lambda filter, out_backprop, padding=padding: tf.raw_ops.DepthwiseConv2dNativeBackpropInput(
                    input_sizes=tf.constant([1, 4, 5, 2]), filter=filter, out_backprop=out_backprop,
                    strides=[1, 1, 1, 1], padding=padding),
                {'filter': _x('f', [2, 3, 2, 2]), 'out_backprop': _x('o', out)})
    family.case(f'DepthwiseConv2dNativeBackpropFilter/{padding}',
                lambda input, out_backprop, padding=padding: tf.raw_ops.DepthwiseConv2dNativeBackpropFilter(
                    input=input, filter_sizes=tf.constant([2, 3, 2, 2]), out_backprop=out_backprop,
                    strides=[1, 1, 1, 1], padding=padding),
                {'input': _x('i', [1, 4, 5, 2]), 'out_backprop': _x('o', out)})


def network(family):
  family.op('BiasAdd', 'BiasAdd', {'value': _x('v', [2, 3]), 'bias': _x('b', [3])})
  family.op('BiasAdd/images', 'BiasAdd', {'value': _x('v', [2, 2, 2, 3]), 'bias': _x('b', [3])})
  family.op('Softmax', 'Softmax', {'logits': _x('l', [2, 3])})
  family.op('LogSoftmax', 'LogSoftmax', {'logits': _x('l', [2, 3])})
  labels = np.array([[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]])
  family.op('SoftmaxCrossEntropyWithLogits', 'SoftmaxCrossEntropyWithLogits',
            {'features': _x('f', [2, 3]), 'labels': labels})
  family.op('SoftmaxCrossEntropyWithLogits/both', 'SoftmaxCrossEntropyWithLogits',
            {'features': _x('f', [2, 3]), 'labels': labels}, output='all', xs=['features'])
  family.op('SparseSoftmaxCrossEntropyWithLogits', 'SparseSoftmaxCrossEntropyWithLogits',
            {'features': _x('f', [2, 3]), 'labels': _ints([2, 0], 'int64')})
  for op, argument in (('MaxPool', 'input'), ('AvgPool', 'value')):
    for padding in ('SAME', 'VALID'):
      family.op(f'{op}/{padding}', op, {argument: _x(op, [1, 4, 5, 2])}, ksize=[1, 2, 2, 1], strides=[1, 2, 1, 1],
                padding=padding)
  family.op('LRN', 'LRN', {'input': _x('l', [1, 2, 2, 5], dtype='float32')}, depth_radius=2, bias=1.0, alpha=0.5,
            beta=0.75, within=golden.FLOAT32_SUM)
  for version in ('', 'V2', 'V3'):
    for training in (True, False):
      arrays = {n: _x(n, [2], 0.5, 2, 'float32') for n in ('scale', 'offset')}
      if training:
        arrays.update(mean=np.zeros([0], np.float32), variance=np.zeros([0], np.float32))
      else:
        arrays.update({n: _x(n, [2], 0.5, 2, 'float32') for n in ('mean', 'variance')})
      family.op(f'FusedBatchNorm{version}/{training}', f'FusedBatchNorm{version}',
                {'x': _x('x', [2, 3, 2, 2], dtype='float32'), **arrays}, xs=['x', 'scale', 'offset'],
                is_training=training, within=golden.FLOAT32_SUM)


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


def second(family):
  for op in ('InvGrad', 'ReciprocalGrad', 'SqrtGrad', 'RsqrtGrad', 'TanhGrad', 'SigmoidGrad'):
    family.op(op, op, {'y': _x(op, [3], 0.3, 0.9), 'dy': _x(op + 'dy', [3])})
  for op in ('ReluGrad', 'Relu6Grad', 'LeakyReluGrad', 'SoftplusGrad'):
    family.op(op, op, {'gradients': _x(op, [4]), 'features': _x(op + 'x', [4])})
  for op in ('EluGrad', 'SeluGrad'):
    family.op(op, op, {'gradients': _x(op, [4]), 'outputs': _x(op + 'x', [4], -0.9, 0.9)})
  family.op('BiasAddGrad', 'BiasAddGrad', {'out_backprop': _x('b', [2, 3])})
  family.case('AvgPoolGrad', lambda grad: tf.raw_ops.AvgPoolGrad(
      orig_input_shape=[1, 4, 4, 1], grad=grad, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding='VALID'),
              {'grad': _x('g', [1, 2, 2, 1])})
  for padding in ('SAME', 'VALID'):
    x = _x('pool', [1, 4, 5, 2])
    y = tf.nn.max_pool(tf.constant(x), [1, 2, 3, 1], [1, 2, 1, 1], padding)
    with sample_graphs.plain_session(y.graph) as session:
      y = session.run(y)
    family.op(f'MaxPoolGrad/{padding}', 'MaxPoolGrad', {'grad': _x('g', y.shape), 'orig_input': x, 'orig_output': y},
              xs=['grad'], ksize=[1, 2, 3, 1], strides=[1, 2, 1, 1], padding=padding)
    family.op(f'MaxPoolGradGrad/{padding}', 'MaxPoolGradGrad',
              {'grad': _x('gg', x.shape), 'orig_input': x, 'orig_output': y},
              xs=['grad'], ksize=[1, 2, 3, 1], strides=[1, 2, 1, 1], padding=padding)
  rows = {'y_backprop': [2, 3, 2, 4], 'x': [2, 3, 2, 4], 'scale': [4]}
  for version in ('', 'V2', 'V3'):
    for training in (True, False):
      feeds = {n: _x(n, shape, 0.5, 2.0, 'float32') for n, shape in rows.items()}
      mean, variance = feeds['x'].mean((0, 1, 2)), feeds['x'].var((0, 1, 2))
      extra = {'reserve_space_3': np.zeros([0], np.float32)} if version == 'V3' else {}
      feeds.update(reserve_space_1=mean, reserve_space_2=variance, **extra)
      family.op(f'FusedBatchNormGrad{version}/{training}', f'FusedBatchNormGrad{version}', feeds, output='first3',
                xs=['y_backprop', 'x', 'scale'], epsilon=0.01, is_training=training,
                within={'rtol': 2e-3, 'atol': 2e-3})
  family.case('StridedSliceGrad', lambda dy: tf.raw_ops.StridedSliceGrad(
      shape=[4], begin=[1], end=[4], strides=[2], dy=dy), {'dy': _x('dy', [2])})


def networks(family):
  """Several ops, where gradients meet, are not wanted, or go nowhere."""
  family.case('fan_out', lambda x: tf.tanh(x) * tf.sigmoid(x) + x, {'x': _x('x', [2, 3])})
  family.case('two_ys', lambda x, y: [tf.matmul(x, y), tf.square(x)], {'x': _x('x', [2, 3]), 'y': _x('y', [3, 2])})
  family.case('unconnected', lambda x, y: tf.square(x), {'x': _x('x', [3]), 'y': _x('y', [3])})
  family.case('through_x', lambda x: tf.square(tf.identity(x)), {'x': _x('x', [3])})

  def devices(x, y):
    with tf.device('/gpu:0'):
      a = tf.square(x)
    with tf.device('/gpu:1'):
      b = tf.tanh(x) * y
    with tf.device('/cpu:0'):
      return a + b

  for colocate in (False, True):
    family.case(f'devices/{colocate}', devices, {'x': _x('x', [3]), 'y': _x('y', [3])}, colocate=colocate)

  def layers(x, w, b, v):
    hidden = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w), b))
    return tf.reduce_mean(tf.square(tf.squeeze(tf.matmul(hidden, v), 1)))

  feeds = {'x': _x('x', [4, 3]), 'w': _x('w', [3, 5]), 'b': _x('b', [5]), 'v': _x('v', [5, 1])}
  family.case('layers', layers, dict(feeds))
  family.case('layers/unknown', layers, dict(feeds), unknown=['x'])
  family.case('layers/colocated', layers, dict(feeds), colocate=True)


FAMILIES = {
    'unary': unary,
    'binary': binary,
    'reductions': reductions,
    'linear': linear,
    'factors': factors,
    'depthwise': depthwise,
    'einsum': einsum,
    'segment_rows': segment_rows,
    'volumes': volumes,
    'network': network,
    'array': array,
    'slices': slices,
    'gather': gather,
    'segments': segments,
    'second': second,
    'networks': networks,
}
