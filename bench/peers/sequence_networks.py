# SPDX-License-Identifier: Apache-2.0
"""Networks of sequences: an unrolled LSTM, a small transformer and a small GPT, as training steps."""

import numpy as np
import tensorflow.compat.v1 as tf

from network_layers import dense, finish, inputs, token_inputs, variable


def lstm(batch=32, steps=20, width=64, units=128):
  images, labels, feeds = inputs(batch, [steps, width], 10)
  hidden, cell = tf.zeros([batch, units]), tf.zeros([batch, units])
  weights, biases = variable('weights', [width + units, 4 * units], 0.05), variable('biases', [4 * units])
  for x in tf.unstack(images, axis=1):
    gates = tf.matmul(tf.concat([x, hidden], 1), weights) + biases
    i, candidate, forget, out = tf.split(gates, 4, axis=1)
    cell = cell * tf.sigmoid(forget + 1.0) + tf.sigmoid(i) * tf.tanh(candidate)
    hidden = tf.tanh(cell) * tf.sigmoid(out)
  return finish(dense(hidden, 'logits', 10), labels, feeds)


def _layer_norm(x, name):
  width = int(x.shape[-1])
  with tf.variable_scope(name):
    mean = tf.reduce_mean(x, -1, keepdims=True)
    variance = tf.reduce_mean(tf.square(x - mean), -1, keepdims=True)
    return (x - mean) * tf.rsqrt(variance + 1e-5) * variable('scale', [width], value=1.0) + variable('offset', [width])


def _attention(x, batch, steps, heads, mask=None):
  width = int(x.shape[-1])
  split = lambda y: tf.transpose(tf.reshape(y, [batch, steps, heads, width // heads]), [0, 2, 1, 3])
  query, key, value = (split(dense(x, name, width)) for name in ('query', 'key', 'value'))
  scores = tf.matmul(query, key, transpose_b=True) * (width // heads)**-0.5
  weights = tf.nn.softmax(scores if mask is None else scores + mask)
  mixed = tf.reshape(tf.transpose(tf.matmul(weights, value), [0, 2, 1, 3]), [batch * steps, width])
  return dense(mixed, 'mix', width)


def transformer(batch=16, steps=32, width=64, heads=4, layers=2):
  images, labels, feeds = inputs(batch, [steps, width], 10)
  x = tf.reshape(images, [batch * steps, width])
  for i in range(layers):
    with tf.variable_scope(f'layer{i}'):
      x = x + _attention(_layer_norm(x, 'norm1'), batch, steps, heads)
      x = x + dense(tf.nn.relu(dense(_layer_norm(x, 'norm2'), 'wide', 4 * width)), 'narrow', width)
  pooled = tf.reduce_mean(tf.reshape(x, [batch, steps, width]), 1)
  return finish(dense(pooled, 'logits', 10), labels, feeds)


def _gelu(x):
  return 0.5 * x * (1.0 + tf.tanh(0.7978846 * (x + 0.044715 * x * x * x)))


def gpt(batch=2, steps=128, width=256, heads=8, layers=4, words=8192):
  tokens, labels, feeds = token_inputs(batch, steps, words)
  embedding = variable('embedding', [words, width], 0.02)
  x = tf.gather(embedding, tf.reshape(tokens, [-1])) + tf.tile(variable('positions', [steps, width], 0.02), [batch, 1])
  mask = tf.constant(np.triu(np.full([steps, steps], -1e9, np.float32), 1))
  for i in range(layers):
    with tf.variable_scope(f'layer{i}'):
      x = x + _attention(_layer_norm(x, 'norm1'), batch, steps, heads, mask)
      x = x + dense(_gelu(dense(_layer_norm(x, 'norm2'), 'wide', 4 * width)), 'narrow', width)
  logits = tf.matmul(_layer_norm(x, 'norm'), embedding, transpose_b=True)
  return finish(logits, tf.reshape(labels, [-1]), feeds)
