# SPDX-License-Identifier: Apache-2.0
"""Images as blocks and of other sizes, sequences, volumes."""

import numpy as np

import golden
import tensorflow.compat.v1 as tf
from golden import Constant
from golden import random_array
from op_cases.array_cases import counting
from op_cases.array_cases import typed


def images(family):
  for block in (2, 3):
    x = counting([2, 2, 3, 2 * block * block], np.float32)
    family.op(f'DepthToSpace/{block}', 'DepthToSpace', input=x, block_size=block)
    y = counting([2, 2 * block, 3 * block, 2], np.float32)
    family.op(f'SpaceToDepth/{block}', 'SpaceToDepth', input=y, block_size=block)
  for dtype, values in typed([1, 2, 2, 4]):
    family.op(f'DepthToSpace/{dtype}', 'DepthToSpace', input=values, block_size=2)
    family.op(f'SpaceToDepth/{dtype}', 'SpaceToDepth', input=values, block_size=2)
  family.op('DepthToSpace/empty', 'DepthToSpace', input=np.zeros([0, 2, 2, 4], np.float32), block_size=2)
  for dtype, values in typed([3, 4, 2]):
    family.op(f'ReverseSequence/{dtype}', 'ReverseSequence', input=values, seq_lengths=np.array([4, 0, 3], np.int64),
              seq_dim=1)
  family.op('ReverseSequence/inner', 'ReverseSequence', input=counting([4, 2, 3], np.float32),
            seq_lengths=np.array([1, 4, 2], np.int32), seq_dim=0, batch_dim=2)
  family.op('ReverseSequence/last', 'ReverseSequence', input=counting([2, 2, 5], np.float32),
            seq_lengths=np.array([5, 2], np.int32), seq_dim=2, batch_dim=1)


_WAYS = {'legacy': {}, 'corners': {'align_corners': True}, 'centers': {'half_pixel_centers': True}}


def resizing(family):
  for way, attributes in _WAYS.items():
    for label, (source, size) in {'up': ([2, 3, 4, 2], [7, 9]), 'down': ([1, 7, 8, 3], [3, 2]),
                                  'same': ([1, 3, 3, 1], [3, 3]), 'one': ([1, 4, 5, 2], [1, 1]),
                                  'double': ([1, 3, 4, 1], [6, 8])}.items():
      name = f'{way}_{label}'
      x = random_array(name, source, 'float32')
      g = random_array(name + 'g', [source[0], *size, source[3]], 'float32')
      for kind in ('ResizeBilinear', 'ResizeNearestNeighbor'):
        family.op(f'{kind}/{name}', kind, images=x, size=Constant(size), **attributes)
      family.op(f'ResizeBilinearGrad/{name}', 'ResizeBilinearGrad', golden.FLOAT32_SUM, grads=g, original_image=x,
                **attributes)
      family.op(f'ResizeNearestNeighborGrad/{name}', 'ResizeNearestNeighborGrad', golden.FLOAT32_SUM, grads=g,
                size=Constant(source[1:3]), **attributes)
  for dtype in ('float64', 'int32', 'int64', 'uint8', 'int16'):
    x = random_array(dtype, [1, 3, 2, 2], dtype, 0, 100)
    family.op(f'ResizeBilinear/{dtype}', 'ResizeBilinear', images=x, size=Constant([4, 5]), half_pixel_centers=True)
    family.op(f'ResizeNearestNeighbor/{dtype}', 'ResizeNearestNeighbor', images=x, size=Constant([4, 5]))
  family.op('ResizeBilinearGrad/float64', 'ResizeBilinearGrad', golden.FLOAT32_SUM,
            grads=random_array('dg', [1, 4, 5, 2], 'float32'),
            original_image=random_array('di', [1, 3, 2, 2], 'float64'))


# name: (input NDHWC, filter DHWIO, strides, padding)
_VOLUMES = {
    'valid_2x3x3': ([2, 4, 5, 6, 3], [2, 3, 3, 3, 4], [1, 1, 1, 1, 1], 'VALID'),
    'same_3x3x3': ([1, 3, 4, 5, 2], [3, 3, 3, 2, 3], [1, 1, 1, 1, 1], 'SAME'),
    'same_stride2': ([2, 5, 6, 4, 2], [3, 2, 3, 2, 2], [1, 2, 2, 2, 1], 'SAME'),
    'valid_stride121': ([1, 4, 7, 5, 1], [2, 2, 2, 1, 3], [1, 1, 2, 1, 1], 'VALID'),
    'pointwise': ([1, 2, 3, 2, 3], [1, 1, 1, 3, 2], [1, 1, 1, 1, 1], 'SAME'),
    'stride_beyond_filter': ([1, 5, 5, 5, 1], [1, 1, 1, 1, 2], [1, 2, 3, 2, 1], 'VALID'),
}


def _results(source, kernel, strides, padding):
  sizes = [n if padding == 'SAME' else n - k + 1 for n, k in zip(source[1:4], kernel[:3])]
  return [-(-n // s) for n, s in zip(sizes, strides[1:4])]


def volumes(family):
  for label, (source, kernel, strides, padding) in _VOLUMES.items():
    for dtype in ('float32', 'float64')[:2 if label == 'same_stride2' else 1]:
      within = golden.FLOAT32_SUM if dtype == 'float32' else golden.FLOAT64
      x = random_array(label + 'x', source, dtype, -1, 1)
      w = random_array(label + 'w', kernel, dtype, -1, 1)
      g = random_array(label + 'g', [source[0], *_results(source, kernel, strides, padding), kernel[4]], dtype, -1, 1)
      attributes = {'strides': strides, 'padding': padding}
      name = f'{dtype}_{label}'
      family.op(f'Conv3D/{name}', 'Conv3D', within, input=x, filter=w, **attributes)
      family.op(f'Conv3DBackpropInputV2/{name}', 'Conv3DBackpropInputV2', within, input_sizes=Constant(source),
                filter=w, out_backprop=g, **attributes)
      family.op(f'Conv3DBackpropFilterV2/{name}', 'Conv3DBackpropFilterV2', within, input=x,
                filter_sizes=Constant(kernel), out_backprop=g, **attributes)
  family.op('Conv3D/large', 'Conv3D', golden.FLOAT32_SUM, sampled=True,
            input=random_array('vx', [1, 4, 14, 14, 4], 'float32', -1, 1),
            filter=random_array('vw', [3, 3, 3, 4, 8], 'float32', -0.1, 0.1), strides=[1, 1, 1, 1, 1], padding='SAME')
  for label, (source, window, strides, padding) in {
      'valid_2': ([2, 4, 4, 6, 3], [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], 'VALID'),
      'same_3_stride2': ([1, 5, 6, 4, 2], [1, 3, 3, 3, 1], [1, 2, 2, 2, 1], 'SAME'),
      'overlapping': ([1, 4, 4, 4, 1], [1, 2, 3, 2, 1], [1, 1, 1, 1, 1], 'SAME')
  }.items():
    x = np.round(random_array(label + 'x', source, 'float32', -3, 3))  # with ties
    attributes = {'ksize': window, 'strides': strides, 'padding': padding}
    sizes = _results(source, window[1:4], strides, padding)
    g = random_array(label + 'g', [source[0], *sizes, source[4]], 'float32')
    family.op(f'MaxPool3D/{label}', 'MaxPool3D', input=x, **attributes)
    family.op(f'AvgPool3D/{label}', 'AvgPool3D', golden.FLOAT32_SUM, input=x, **attributes)
    family.op(f'AvgPool3DGrad/{label}', 'AvgPool3DGrad', golden.FLOAT32_SUM, orig_input_shape=Constant(source), grad=g,
              **attributes)
    family.graph(f'MaxPool3DGrad/{label}', *_max_pool_gradient(x, g, attributes), within=golden.FLOAT32_SUM)
    family.graph(f'MaxPool3DGradGrad/{label}', *_max_pool_second(x, attributes))


def _max_pool_gradient(x, g, attributes):
  def build():
    source = tf.placeholder(tf.float32, x.shape, name='x')
    grad = tf.placeholder(tf.float32, g.shape, name='g')
    pooled = tf.raw_ops.MaxPool3D(input=source, name='pooled', **attributes)
    tf.raw_ops.MaxPool3DGrad(orig_input=source, orig_output=pooled, grad=grad, name='result', **attributes)

  return build, [({'x': x, 'g': g}, ['result:0'], [])]


def _max_pool_second(x, attributes):
  def build():
    source = tf.placeholder(tf.float32, x.shape, name='x')
    grad = tf.placeholder(tf.float32, x.shape, name='g')
    pooled = tf.raw_ops.MaxPool3D(input=source, name='pooled', **attributes)
    tf.raw_ops.MaxPool3DGradGrad(orig_input=source, orig_output=pooled, grad=grad, name='result', **attributes)

  return build, [({'x': x, 'g': random_array('second', x.shape, 'float32')}, ['result:0'], [])]


FAMILIES = {'images': images, 'resizing': resizing, 'volumes': volumes}
