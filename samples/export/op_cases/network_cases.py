# SPDX-License-Identifier: Apache-2.0
"""Convolution, pooling, normalisation, losses, biases and the gradients of activations."""

import numpy as np

import golden
import tensorflow.compat.v1 as tf
from golden import Constant
from golden import random_array

# name: (input NHWC, filter HWIO, strides, padding, dilations)
_CONVOLUTIONS = {
    'text_valid': ([2, 1, 12, 5], [1, 3, 5, 4], [1, 1, 1, 1], 'VALID', [1, 1, 1, 1]),
    'valid_3x3': ([2, 5, 6, 3], [3, 3, 3, 2], [1, 1, 1, 1], 'VALID', [1, 1, 1, 1]),
    'same_3x3': ([1, 5, 4, 2], [3, 3, 2, 3], [1, 1, 1, 1], 'SAME', [1, 1, 1, 1]),
    'same_5x5': ([1, 6, 6, 3], [5, 5, 3, 2], [1, 1, 1, 1], 'SAME', [1, 1, 1, 1]),
    'same_2x2_even': ([1, 4, 5, 1], [2, 2, 1, 2], [1, 1, 1, 1], 'SAME', [1, 1, 1, 1]),
    'same_stride2': ([1, 6, 7, 2], [3, 3, 2, 2], [1, 2, 2, 1], 'SAME', [1, 1, 1, 1]),
    'valid_stride2x3': ([1, 7, 8, 2], [2, 3, 2, 2], [1, 2, 3, 1], 'VALID', [1, 1, 1, 1]),
    'pointwise': ([2, 3, 3, 4], [1, 1, 4, 5], [1, 1, 1, 1], 'SAME', [1, 1, 1, 1]),
    'whole_image': ([2, 4, 3, 2], [4, 3, 2, 3], [1, 1, 1, 1], 'VALID', [1, 1, 1, 1]),
    'one_pixel_same': ([1, 1, 1, 2], [3, 3, 2, 2], [1, 1, 1, 1], 'SAME', [1, 1, 1, 1]),
    'stride_beyond_filter': ([1, 5, 5, 1], [1, 1, 1, 2], [1, 2, 2, 1], 'VALID', [1, 1, 1, 1]),
    'empty_batch': ([0, 4, 4, 1], [2, 2, 1, 1], [1, 1, 1, 1], 'VALID', [1, 1, 1, 1]),
}
_DILATED = {
    'dilated_valid': ([1, 7, 7, 2], [3, 3, 2, 2], [1, 1, 1, 1], 'VALID', [1, 2, 2, 1]),
    'dilated_same': ([1, 6, 6, 1], [3, 2, 1, 2], [1, 1, 1, 1], 'SAME', [1, 1, 2, 1]),
}


def _convolution_shape(source, kernel, strides, padding, dilations):
  sizes = []
  for axis in (1, 2):
    reach = (kernel[axis - 1] - 1) * dilations[axis] + 1
    size = source[axis] if padding == 'SAME' else source[axis] - reach + 1
    sizes.append(-(-size // strides[axis]))
  return [source[0], *sizes, kernel[3]]


def _convolution(family, label, dtype, setting, gradients=True):
  source, kernel, strides, padding, dilations = setting
  x = random_array(label + 'x', source, dtype, -1, 1)
  w = random_array(label + 'w', kernel, dtype, -1, 1)
  g = random_array(label + 'g', _convolution_shape(*setting), dtype, -1, 1)
  attributes = {'strides': strides, 'padding': padding, 'dilations': dilations}
  within = golden.FLOAT32_SUM if dtype == 'float32' else golden.FLOAT64
  family.op(f'Conv2D/{label}', 'Conv2D', within, input=x, filter=w, **attributes)
  if gradients:
    family.op(f'Conv2DBackpropInput/{label}',
              'Conv2DBackpropInput',
              within,
              input_sizes=Constant(source),
              filter=w,
              out_backprop=g,
              **attributes)
    family.op(f'Conv2DBackpropFilter/{label}',
              'Conv2DBackpropFilter',
              within,
              input=x,
              filter_sizes=Constant(kernel),
              out_backprop=g,
              **attributes)


def conv(family):
  for label, setting in _CONVOLUTIONS.items():
    _convolution(family, f'float32_{label}', 'float32', setting)
  for label, setting in _DILATED.items():
    # TensorFlow's CPU gradients refuse dilations above one.
    _convolution(family, f'float32_{label}', 'float32', setting, gradients=False)
  for label in ('valid_3x3', 'same_stride2'):
    _convolution(family, f'float64_{label}', 'float64', _CONVOLUTIONS[label])
  explicit = [0, 0, 1, 2, 0, 1, 0, 0]
  family.op('Conv2D/float32_explicit',
            'Conv2D',
            golden.FLOAT32_SUM,
            input=random_array('ex', [1, 4, 4, 2], 'float32'),
            filter=random_array('ew', [3, 2, 2, 2], 'float32'),
            strides=[1, 1, 1, 1],
            padding='EXPLICIT',
            explicit_paddings=explicit)


_POOLS = {
    'text_2x1_valid': ([2, 9, 1, 4], [1, 2, 1, 1], [1, 1, 1, 1], 'VALID'),
    '3x3_stride2_same': ([2, 7, 6, 3], [1, 3, 3, 1], [1, 2, 2, 1], 'SAME'),
    '2x2_stride2_valid': ([1, 5, 6, 2], [1, 2, 2, 1], [1, 2, 2, 1], 'VALID'),
    '2x3_stride1_same': ([1, 4, 4, 2], [1, 2, 3, 1], [1, 1, 1, 1], 'SAME'),
    '1x1_stride2': ([1, 4, 5, 1], [1, 1, 1, 1], [1, 2, 2, 1], 'VALID'),
    '3x3_one_pixel': ([1, 1, 1, 2], [1, 3, 3, 1], [1, 1, 1, 1], 'SAME'),
}


def pooling(family):
  for label, (shape, ksize, strides, padding) in _POOLS.items():
    attributes = {'ksize': ksize, 'strides': strides, 'padding': padding}
    for dtype in ('float32', 'float64'):
      x = random_array(label + dtype, shape, dtype)
      ties = np.round(x).astype(dtype)
      sizes = _convolution_shape(shape, [ksize[1], ksize[2], 0, shape[3]], strides, padding, [1, 1, 1, 1])
      gradient = random_array(label + 'g', sizes, dtype)
      for name, values in (('', x), ('_ties', ties)):
        pooled = _max_pool(values, ksize, strides, padding, sizes)
        family.op(f'MaxPool/{dtype}_{label}{name}', 'MaxPool', input=values, **attributes)
        family.op(f'MaxPoolGrad/{dtype}_{label}{name}',
                  'MaxPoolGrad',
                  orig_input=values,
                  orig_output=pooled,
                  grad=gradient,
                  **attributes)
      family.op(f'AvgPool/{dtype}_{label}', 'AvgPool', value=x, **attributes)
      family.op(f'AvgPoolGrad/{dtype}_{label}',
                'AvgPoolGrad',
                orig_input_shape=Constant(shape),
                grad=gradient,
                **attributes)
  _windows_beyond(family)


def _windows_beyond(family):
  """Windows larger than an image of unknown size: up to a stride too large they give nothing."""
  for size, window, stride in ((2, 3, 1), (2, 5, 2), (3, 8, 3)):

    def build(window=window, stride=stride):
      tf.raw_ops.MaxPool(input=tf.placeholder(tf.float32, name='x'),
                         ksize=[1, window, window, 1],
                         strides=[1, stride, stride, 1],
                         padding='VALID',
                         name='y')

    feeds = {'x': np.ones([1, size, size, 1], np.float32)}
    family.graph(f'MaxPool/beyond_{size}_{window}_{stride}', build, [(feeds, ['y:0'], [])])


def _max_pool(x, ksize, strides, padding, sizes):
  """The maximum over each window; SAME padding splits what is missing with the larger half behind."""
  result = np.empty(sizes, x.dtype)
  before = [0, 0]
  if padding == 'SAME':
    for i in (0, 1):
      missing = max(0, (sizes[i + 1] - 1) * strides[i + 1] + ksize[i + 1] - x.shape[i + 1])
      before[i] = missing // 2
  for row in range(sizes[1]):
    for column in range(sizes[2]):
      top, left = row * strides[1] - before[0], column * strides[2] - before[1]
      window = x[:, max(top, 0):top + ksize[1], max(left, 0):left + ksize[2], :]
      result[:, row, column, :] = window.max(axis=(1, 2))
  return result


def lrn(family):
  settings = {
      'default': {},
      'tutorial': {
          'depth_radius': 4,
          'bias': 1.0,
          'alpha': 0.001 / 9.0,
          'beta': 0.75
      },
      'strong': {
          'depth_radius': 1,
          'bias': 2.0,
          'alpha': 0.5,
          'beta': 0.3
      },
      'beta_one': {
          'depth_radius': 2,
          'bias': 1.0,
          'alpha': 0.1,
          'beta': 1.0
      },
      'beta_half': {
          'depth_radius': 2,
          'bias': 0.5,
          'alpha': 0.1,
          'beta': 0.5
      },
  }
  for label, attributes in settings.items():
    for shape in ([1, 2, 3, 7], [2, 1, 1, 1], [1, 2, 2, 16]):
      name = f'{label}_{shape[3]}'
      x = random_array(name, shape, 'float32')
      family.op(f'LRN/{name}', 'LRN', golden.FLOAT32_SUM, input=x, **attributes)
      output = _lrn(x, **attributes)
      family.op(f'LRNGrad/{name}',
                'LRNGrad',
                golden.FLOAT32_SUM,
                input_grads=random_array(name + 'g', shape, 'float32'),
                input_image=x,
                output_image=output,
                **attributes)


def _lrn(x, depth_radius=5, bias=1.0, alpha=1.0, beta=0.5):
  x = x.astype(np.float64)
  depth = x.shape[3]
  squares = np.stack(
      [(x[..., max(0, d - depth_radius):d + depth_radius + 1]**2).sum(axis=-1) for d in range(depth)],
      axis=-1)
  return (x / (bias + alpha * squares)**beta).astype(np.float32)


def softmax_xent(family):
  for dtype in ('float32', 'float64'):
    for shape in ([3, 5], [1, 1], [2, 3, 4], [17, 10]):
      logits = random_array(f'{shape}{dtype}', shape, dtype, -5, 5)
      label = f'{dtype}_{shape}'.replace(' ', '')
      family.op(f'Softmax/{label}', 'Softmax', logits=logits)
      family.op(f'LogSoftmax/{label}', 'LogSoftmax', logits=logits)
    logits = random_array('xent' + dtype, [4, 6], dtype, -5, 5)
    labels = random_array('labels' + dtype, [4, 6], dtype, 0, 1)
    labels /= labels.sum(axis=1, keepdims=True)
    family.op(f'SoftmaxCrossEntropyWithLogits/{dtype}',
              'SoftmaxCrossEntropyWithLogits',
              features=logits,
              labels=labels)
    for kind in (np.int32, np.int64):
      family.op(f'SparseSoftmaxCrossEntropyWithLogits/{dtype}_{np.dtype(kind).name}',
                'SparseSoftmaxCrossEntropyWithLogits',
                features=logits,
                labels=np.array([0, 5, 2, 2], kind))
  large = np.array([[1000, 0, -1000], [80, 81, 82]], np.float32)
  family.op('Softmax/float32_large', 'Softmax', logits=large)
  family.op('LogSoftmax/float32_large', 'LogSoftmax', logits=large)
  family.op('SparseSoftmaxCrossEntropyWithLogits/float32_large',
            'SparseSoftmaxCrossEntropyWithLogits',
            features=large,
            labels=np.array([1, 2], np.int64))
  family.op('Softmax/float32_empty', 'Softmax', logits=np.zeros([0, 3], np.float32))
  family.op('SparseSoftmaxCrossEntropyWithLogits/float32_empty',
            'SparseSoftmaxCrossEntropyWithLogits',
            features=np.zeros([0, 3], np.float32),
            labels=np.zeros([0], np.int64))


# Gradient ops with the names of their two inputs.
_GRADIENTS = {
    'EluGrad': ('gradients', 'outputs'),
    'InvGrad': ('y', 'dy'),
    'LeakyReluGrad': ('gradients', 'features'),
    'ReciprocalGrad': ('y', 'dy'),
    'Relu6Grad': ('gradients', 'features'),
    'ReluGrad': ('gradients', 'features'),
    'RsqrtGrad': ('y', 'dy'),
    'SeluGrad': ('gradients', 'outputs'),
    'SigmoidGrad': ('y', 'dy'),
    'SoftplusGrad': ('gradients', 'features'),
    'SoftsignGrad': ('gradients', 'features'),
    'SqrtGrad': ('y', 'dy'),
    'TanhGrad': ('y', 'dy'),
}


def gradient_ops(family):
  for op, (first, second) in _GRADIENTS.items():
    for dtype in ('float32', 'float64'):
      for shape in ([4, 5], [0, 2], []):
        label = f'{op}{shape}{dtype}'
        low = 0.2 if op in ('SqrtGrad', 'RsqrtGrad', 'InvGrad', 'ReciprocalGrad') else -1
        family.op(
            f'{op}/{dtype}_{shape}'.replace(' ', ''), op, **{
                first: random_array(label + first, shape, dtype, low, 2),
                second: random_array(label + second, shape, dtype, low, 7 if op == 'Relu6Grad' else 2)
            })
  edges = np.array([0.0, -0.0, 6.0, 1e-9, -1e-9, np.inf, -np.inf, np.nan], np.float32)
  ones = np.full([8], 2, np.float32)
  for op in ('ReluGrad', 'Relu6Grad', 'LeakyReluGrad'):
    family.op(f'{op}/edges', op, gradients=ones, features=edges)
  special = np.array([np.nan, np.inf, 0, -1], np.float32)
  family.op('ReluGrad/special_gradients',
            'ReluGrad',
            gradients=special,
            features=np.array([1, -1, -1, 1], np.float32))
  for dtype in ('float32', 'float64', 'int32'):
    bias = random_array('bias' + dtype, [3], dtype)
    for shape in ([2, 3], [2, 4, 3], [1, 2, 2, 3], [2, 1, 2, 1, 3], [0, 3]):
      label = f'{dtype}_{shape}'.replace(' ', '')
      family.op(f'BiasAdd/{label}', 'BiasAdd', value=random_array(label, shape, dtype), bias=bias)
      family.op(f'BiasAddGrad/{label}',
                'BiasAddGrad',
                golden.FLOAT32_SUM if dtype == 'float32' else None,
                out_backprop=random_array(label, shape, dtype))
  family.op('BiasAddGrad/float32_tall',
            'BiasAddGrad',
            golden.FLOAT32_SUM,
            out_backprop=random_array('tall', [90, 10], 'float32', -1, 1))


def edge_gradients(family):
  """Every gradient at each pair of edges.

  No result or part of one lies below the normal numbers, which TensorFlow takes for zero.
  """
  for op, (first, second) in _GRADIENTS.items():
    for dtype, large in (('float32', 1e30), ('float64', 1e300)):
      special = [0.0, -0.0, np.inf, -np.inf, np.nan]
      edges = np.array(special + [large, -large, 1e-6, -1e-6, 1, -1, 0.5, -3, 6, 100, -100], dtype)
      pairs = np.meshgrid(edges, edges, indexing='ij')
      family.op(f'{op}/{dtype}', op, **{first: pairs[0].ravel(), second: pairs[1].ravel()})


def depthwise(family):
  """Every channel has filters of its own."""
  for dtype in (np.float32, np.float64):
    for padding in ('SAME', 'VALID'):
      for stride in (1, 2):
        x = random_array('dx', [2, 7, 6, 3], dtype)
        f = random_array('df', [3, 2, 3, 2], dtype)
        steps = {'strides': [1, stride, stride, 1], 'padding': padding}
        within = golden.FLOAT32_SUM if dtype == np.float32 else golden.FLOAT64
        label = f'{np.dtype(dtype).name}_{padding}_{stride}'
        family.op(f'DepthwiseConv2dNative/{label}', 'DepthwiseConv2dNative', within, input=x, filter=f, **steps)
        rows = (7 + stride - 1) // stride if padding == 'SAME' else (7 - 3) // stride + 1
        columns = (6 + stride - 1) // stride if padding == 'SAME' else (6 - 2) // stride + 1
        dy = random_array('ddy', [2, rows, columns, 6], dtype)
        family.op(f'DepthwiseConv2dNativeBackpropInput/{label}', 'DepthwiseConv2dNativeBackpropInput', within,
                  input_sizes=Constant([2, 7, 6, 3]), filter=f, out_backprop=dy, **steps)
        family.op(f'DepthwiseConv2dNativeBackpropFilter/{label}', 'DepthwiseConv2dNativeBackpropFilter', within, input=x,
                  filter_sizes=Constant([3, 2, 3, 2]), out_backprop=dy, **steps)


def _with(array, places):
  """A copy with other values at some places."""
  copy = array.copy()
  for place, value in places.items():
    copy[place] = value
  return copy


# name: (input NHWC, filter HWIO, strides, padding)
_PADDED = {
    'same_3x3': ([2, 4, 5, 2], [3, 3, 2, 3], [1, 1, 1, 1], 'SAME'),
    'same_stride2': ([1, 6, 7, 2], [3, 3, 2, 2], [1, 2, 2, 1], 'SAME'),
    'many_channels': ([1, 5, 4, 20], [3, 2, 20, 6], [1, 1, 1, 1], 'SAME'),
    'one_pixel_same': ([1, 1, 1, 2], [3, 3, 2, 2], [1, 1, 1, 1], 'SAME'),
    'valid': ([1, 5, 4, 2], [3, 2, 2, 2], [1, 1, 1, 1], 'VALID'),
}


def padding_products(family):
  """Zeros of the padding times what is not finite: once below each corner of a filter, of a gradient and of an image."""
  for label, (source, kernel, strides, padding) in _PADDED.items():
    windows = _convolution_shape(source, kernel, strides, padding, [1, 1, 1, 1])
    steps = {'strides': strides, 'padding': padding}
    corners = lambda last: {(0, 0, 0, 0): np.inf, (-1, -1, 1, last): np.nan, (-1, 0, -1, -1): -np.inf}
    for name, prefix, shape in (('Conv2D', '', kernel), ('DepthwiseConv2dNative', 'depthwise', kernel[:3] + [2])):
      last = shape[3] - 1
      results = windows[:3] + [kernel[3] if prefix == '' else 2 * kernel[2]]
      x, f, g = (random_array(label + prefix + kind, of, np.float32, -1, 1)
                 for kind, of in (('x', source), ('f', shape), ('g', results)))
      bad_f = _with(f, corners(last))
      bad_g = _with(g, {(0, 0, 0, 0): np.inf, (0, -1, -1, 1): np.nan})
      bad_x = _with(x, {(0, 0, 0, 0): np.inf, (0, -1, -1, 1): np.nan})
      for spoilt, images, filters in (('filter', x, bad_f), ('image', bad_x, f)):
        family.op(f'{name}/{label}_{spoilt}', name, golden.FLOAT32_SUM, input=images, filter=filters, **steps)
      for spoilt, filters, gradient in (('filter', bad_f, g), ('gradient', f, bad_g)):
        family.op(f'{name}BackpropInput/{label}_{spoilt}', name + 'BackpropInput', golden.FLOAT32_SUM,
                  input_sizes=Constant(source), filter=filters, out_backprop=gradient, **steps)
      for spoilt, images, gradient in (('image', bad_x, g), ('gradient', x, bad_g)):
        family.op(f'{name}BackpropFilter/{label}_{spoilt}', name + 'BackpropFilter', golden.FLOAT32_SUM, input=images,
                  filter_sizes=Constant(shape), out_backprop=gradient, **steps)


def einsum(family):
  shapes = {'a': 2, 'b': 3, 'c': 4, 'd': 5, 'e': 2}
  for dtype in (np.float32, np.float64):
    for equation in ('ab,bc->ac', 'abc,cde->abde', 'aecd,abcd->acbe', 'acbe,aecd->abcd', 'abcd,cde->abe', 'ab,ab->ab',
                     'ab,cd->adbc', 'abc->cab', 'a,a->', 'abc->ca', 'abc->', 'abc,cde->dae', 'abc,dc->a', 'ab,cd->'):
      inputs = [random_array(equation + labels, [shapes[c] for c in labels], dtype)
                for labels in equation.split('->')[0].split(',')]
      within = golden.FLOAT32_SUM if dtype == np.float32 else golden.FLOAT64
      family.op(f'{equation}/{np.dtype(dtype).name}', 'Einsum', within, inputs=inputs, equation=equation)
    for equation, first, second in (('...ab,...bc->...ac', [3, 1, 2, 4], [5, 4, 2]), ('a...,b...->ab...', [2, 3], [4, 3]),
                                    ('ab,bc...->...ac', [2, 3], [3, 4, 2]), ('...a,...a->...', [2, 3], [3])):
      inputs = [random_array(f'{equation} {i}', shape, dtype) for i, shape in enumerate((first, second))]
      within = golden.FLOAT32_SUM if dtype == np.float32 else golden.FLOAT64
      family.op(f'{equation}/{np.dtype(dtype).name}', 'Einsum', within, inputs=inputs, equation=equation)


FAMILIES = {
    'depthwise': depthwise,
    'padding_products': padding_products,
    'einsum': einsum,
    'conv': conv,
    'pooling': pooling,
    'lrn': lrn,
    'edge_gradients': edge_gradients,
    'softmax_xent': softmax_xent,
    'gradient_ops': gradient_ops,
}
