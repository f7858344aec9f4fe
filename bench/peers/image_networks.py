# SPDX-License-Identifier: Apache-2.0
"""Networks of images: MNIST's, AlexNet, VGG16, ResNet-50 and Inception V3, as training steps."""

import numpy as np
import tensorflow.compat.v1 as tf

from network_layers import conv, conv_norm, dense, finish, inputs, max_pool, variable


def _flat(x):
  return tf.reshape(x, [-1, int(np.prod(x.shape[1:]))] if x.shape[0].value is None else [int(x.shape[0]), -1])


def mnist(batch=64):
  images, labels, feeds = inputs(batch, [28, 28, 1], 10)
  x = max_pool(tf.nn.relu(conv(images, 'conv1', 5, 32, bias=True)), 2, 2)
  x = max_pool(tf.nn.relu(conv(x, 'conv2', 5, 64, bias=True)), 2, 2)
  x = tf.nn.relu(dense(_flat(x), 'fc1', 1024))
  return finish(dense(x, 'fc2', 10), labels, feeds)


def _classifier(x):
  """The dense layers of AlexNet and VGG."""
  x = _flat(x)
  for name in ('fc6', 'fc7'):
    x = tf.nn.relu(dense(x, name, 4096))
  return dense(x, 'fc8', 1000)


def _alexnet_end(x):
  for name, filters in (('conv3', 384), ('conv4', 384), ('conv5', 256)):
    x = tf.nn.relu(conv(x, name, 3, filters, bias=True))
  return _classifier(max_pool(x, 3, 2, 'VALID'))


def alexnet(batch=16):
  """One column. The images' mean is learned, so the first convolution's gradient by its input is a part of the step."""
  images, labels, feeds = inputs(batch, [227, 227, 3], 1000)
  x = tf.nn.relu(conv(images - variable('mean', [3]), 'conv1', 11, 96, 4, 'VALID', bias=True))
  x = max_pool(tf.nn.lrn(x, 2, bias=2.0, alpha=1e-4, beta=0.75), 3, 2, 'VALID')
  x = tf.nn.relu(conv(x, 'conv2', 5, 256, bias=True))
  x = max_pool(tf.nn.lrn(x, 2, bias=2.0, alpha=1e-4, beta=0.75), 3, 2, 'VALID')
  return finish(_alexnet_end(x), labels, feeds)


def alexnet_one_tower(batch=16):
  """As TensorFlow's benchmarks have it (Krizhevsky, "One weird trick for parallelizing convolutional neural networks")."""
  images, labels, feeds = inputs(batch, [227, 227, 3], 1000)
  x = max_pool(tf.nn.relu(conv(images, 'conv1', 11, 64, 4, 'VALID', bias=True)), 3, 2, 'VALID')
  x = max_pool(tf.nn.relu(conv(x, 'conv2', 5, 192, bias=True)), 3, 2, 'VALID')
  return finish(_alexnet_end(x), labels, feeds)


def vgg16(batch=4):
  images, labels, feeds = inputs(batch, [224, 224, 3], 1000)
  x = images
  for stage, (filters, layers) in enumerate(((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))):
    for layer in range(layers):
      x = tf.nn.relu(conv(x, f'conv{stage}_{layer}', 3, filters, bias=True))
    x = max_pool(x, 2, 2)
  return finish(_classifier(x), labels, feeds)


def _bottleneck(x, name, filters, stride):
  with tf.variable_scope(name):
    shortcut = x
    if stride != 1 or int(x.shape[-1]) != 4 * filters:
      shortcut = conv_norm(x, 'shortcut', 1, 4 * filters, stride, relu=False)
    y = conv_norm(x, 'a', 1, filters)
    y = conv_norm(y, 'b', 3, filters, stride)
    y = conv_norm(y, 'c', 1, 4 * filters, relu=False)
    return tf.nn.relu(y + shortcut)


def resnet152(batch=8):
  return resnet50(batch, blocks=(3, 8, 36, 3))


def resnet50(batch=8, size=224, blocks=(3, 4, 6, 3)):
  images, labels, feeds = inputs(batch, [size, size, 3], 1000)
  x = max_pool(conv_norm(images, 'conv1', 7, 64, 2), 3, 2)
  for stage, (filters, count) in enumerate(zip((64, 128, 256, 512), blocks)):
    for block in range(count):
      x = _bottleneck(x, f'stage{stage}_{block}', filters, 2 if stage > 0 and block == 0 else 1)
  return finish(dense(tf.reduce_mean(x, [1, 2]), 'logits', 1000, stddev=0.01), labels, feeds)


def _branches(x, name, *branches):
  """Concatenates branches; each is a list of (size, filters[, stride]) or 'avg' and 'max' for pooling."""
  outputs = []
  with tf.variable_scope(name):
    for b, branch in enumerate(branches):
      y = x
      for i, layer in enumerate(branch):
        if layer == 'avg':
          y = tf.nn.avg_pool(y, [1, 3, 3, 1], [1, 1, 1, 1], 'SAME')
        elif layer == 'max':
          y = max_pool(y, 3, 2, 'VALID')
        else:
          stride = layer[2] if len(layer) > 2 else 1
          y = conv_norm(y, f'b{b}_{i}', layer[0], layer[1], stride, 'VALID' if stride > 1 else 'SAME')
      outputs.append(y)
    return tf.concat(outputs, 3)


def _inception_c(x, name):
  with tf.variable_scope(name):
    a = conv_norm(x, 'a', 1, 384)
    b = conv_norm(conv_norm(x, 'b', 1, 448), 'b3', 3, 384)
    split = [conv_norm(y, n, size, 384) for y, n in ((a, 'a'), (b, 'b')) for n, size in ((n + 'h', (1, 3)), (n + 'v', (3, 1)))]
    pool = conv_norm(tf.nn.avg_pool(x, [1, 3, 3, 1], [1, 1, 1, 1], 'SAME'), 'pool', 1, 192)
    return tf.concat([conv_norm(x, 'one', 1, 320), *split, pool], 3)


def inception_v3(batch=8):
  images, labels, feeds = inputs(batch, [299, 299, 3], 1000)
  x = conv_norm(images, 'conv1', 3, 32, 2, 'VALID')
  x = conv_norm(conv_norm(x, 'conv2', 3, 32, 1, 'VALID'), 'conv3', 3, 64)
  x = conv_norm(max_pool(x, 3, 2, 'VALID'), 'conv4', 1, 80, 1, 'VALID')
  x = max_pool(conv_norm(x, 'conv5', 3, 192, 1, 'VALID'), 3, 2, 'VALID')
  for i, pool in enumerate((32, 64, 64)):
    x = _branches(x, f'a{i}', [(1, 64)], [(1, 48), (5, 64)], [(1, 64), (3, 96), (3, 96)], ['avg', (1, pool)])
  x = _branches(x, 'reduce_a', [(3, 384, 2)], [(1, 64), (3, 96), (3, 96, 2)], ['max'])
  for i, width in enumerate((128, 160, 160, 192)):
    row, column = ((1, 7), width), ((7, 1), width)
    x = _branches(x, f'b{i}', [(1, 192)], [(1, width), row, ((7, 1), 192)],
                  [(1, width), column, row, column, ((1, 7), 192)], ['avg', (1, 192)])
  x = _branches(x, 'reduce_b', [(1, 192), (3, 320, 2)], [(1, 192), ((1, 7), 192), ((7, 1), 192), (3, 192, 2)], ['max'])
  for i in range(2):
    x = _inception_c(x, f'c{i}')
  return finish(dense(tf.reduce_mean(x, [1, 2]), 'logits', 1000, stddev=0.01), labels, feeds)
