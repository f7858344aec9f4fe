# SPDX-License-Identifier: Apache-2.0
"""DeepCoNN: two convolutional towers over the reviews of a user and of an item, joined by a dot product.

Model after Zheng, Noroozi and Yu, "Joint Deep Modeling of Users and Items Using Reviews for
Recommendation" (arXiv 1701.04783), in the layout of TensorFlow 1.8's layers: reference variables, layer
and variable names, and the same sequence of ops per layer. The placements differ only in their device
scopes; the embedding, the join, the loss and the optimizer have none.
"""

import contextlib

import tensorflow.compat.v1 as tf

import word_table

BATCH = 32
WORDS = 800
VOCABULARY = 90000
EMBEDDING = 50
FILTERS = 10
KERNEL = 3
DENSE = 64
LEARNING_RATE = 1e-4
FEED_SEED = 20180429

# Device of each stage of the (user, item) towers.
PLACEMENTS = {
    'single': {
        stage: (None, None) for stage in ('lookup', 'embedding', 'conv', 'pool', 'flatten', 'dense')
    },
    'dual': {
        stage: ('/gpu:0', '/gpu:1') for stage in ('lookup', 'embedding', 'conv', 'pool', 'flatten', 'dense')
    },
    'alternating': {
        'lookup': ('/gpu:1', '/gpu:0'),
        'embedding': ('/gpu:0', '/gpu:1'),
        'conv': ('/gpu:1', '/gpu:0'),
        'pool': ('/gpu:0', '/gpu:1'),
        'flatten': ('/gpu:1', '/gpu:0'),
        'dense': ('/gpu:0', '/gpu:1'),
    },
}


def _device(name):
  return tf.device(name) if name else contextlib.nullcontext()


def _variables(kernel_shape, bias_size, seed):
  kernel = tf.get_variable('kernel',
                           kernel_shape,
                           initializer=tf.glorot_uniform_initializer(seed=seed),
                           use_resource=False)
  bias = tf.get_variable('bias', [bias_size], initializer=tf.zeros_initializer(), use_resource=False)
  return kernel, bias


def _conv1d(inputs, name, seed):
  with tf.variable_scope(name):
    kernel, bias = _variables([KERNEL, inputs.shape[-1], FILTERS], FILTERS, seed)
    with tf.name_scope('conv1d'):
      image = tf.expand_dims(inputs, 1)
      filters = tf.expand_dims(kernel, 0)
      outputs = tf.nn.conv2d(image, filters, strides=[1, 1, 1, 1], padding='VALID')
      outputs = tf.squeeze(outputs, [1])
    return tf.nn.tanh(tf.nn.bias_add(outputs, bias))


def _max_pooling1d(inputs, pool, stride):
  with tf.name_scope('max_pooling1d'):
    outputs = tf.expand_dims(inputs, 2)
    outputs = tf.nn.max_pool(outputs, ksize=[1, pool, 1, 1], strides=[1, stride, 1, 1], padding='VALID')
    return tf.squeeze(outputs, [2])


def _flatten(inputs):
  with tf.name_scope('flatten'):
    features = inputs.shape[1] * inputs.shape[2]
    outputs = tf.reshape(inputs, tf.stack([tf.shape(inputs)[0], -1]))
    outputs.set_shape([None, features])
    return outputs


def _dense(inputs, name, seed):
  with tf.variable_scope(name):
    kernel, bias = _variables([inputs.shape[-1], DENSE], DENSE, seed)
    return tf.nn.relu(tf.nn.bias_add(tf.matmul(inputs, kernel), bias))


def _embedding_lookup(embeddings, ids):
  """embedding_lookup as TensorFlow 1.8 built it: one gather beside the variable.

  Later releases add an Identity inside the device scope, which moves the looked-up vectors to that device
  and, under the alternating placement, back again: two transfers that the seed's program did not have.
  """
  with tf.colocate_with(embeddings):
    return tf.gather(embeddings, ids, name='embedding_lookup')


def _tower(inputs, tower, placement, table, embeddings):
  conv_name, dense_name = (('user_conv', 'dense'), ('item_conv', 'dense_1'))[tower]
  with _device(placement['lookup'][tower]):
    ids = table.lookup(inputs)
  with _device(placement['embedding'][tower]):
    vectors = _embedding_lookup(embeddings, ids)
  with _device(placement['conv'][tower]):
    conv = _conv1d(vectors, conv_name, seed=11 + tower)
  with _device(placement['pool'][tower]):
    pooled = _max_pooling1d(conv, 2, 1)
  with _device(placement['flatten'][tower]):
    flat = _flatten(pooled)
  with _device(placement['dense'][tower]):
    return _dense(flat, dense_name, seed=21 + tower)


def _fed():
  user_reviews = tf.placeholder(tf.string, [None, WORDS], name='user_reviews')
  item_reviews = tf.placeholder(tf.string, [None, WORDS], name='item_reviews')
  labels = tf.placeholder(tf.float32, [None, 1], name='labels')
  return user_reviews, item_reviews, labels


def build(placement_name, colocate_gradients=False, inputs=_fed):
  """Returns (graph, run configuration). `inputs` makes the reviews of users and items and their ratings."""
  placement = PLACEMENTS[placement_name]
  graph = tf.Graph()
  with graph.as_default():
    tf.set_random_seed(1)
    user_reviews, item_reviews, labels = inputs()
    with tf.device('/cpu:0'):
      words = tf.as_string(tf.range(VOCABULARY))
      table = word_table.build(words)
    embeddings = tf.get_variable('word_embeddings', [VOCABULARY, EMBEDDING],
                                 initializer=tf.random_uniform_initializer(-1.0, 1.0, seed=5),
                                 use_resource=False)
    user = _tower(user_reviews, 0, placement, table, embeddings)
    item = _tower(item_reviews, 1, placement, table, embeddings)
    predictions = tf.reduce_sum(tf.multiply(user, item), axis=1, keepdims=True, name='predictions')
    loss = tf.losses.mean_squared_error(labels, predictions)
    global_step = tf.get_variable('global_step', [],
                                  tf.int64,
                                  initializer=tf.zeros_initializer(),
                                  trainable=False,
                                  use_resource=False)
    train = tf.train.AdamOptimizer(LEARNING_RATE).minimize(loss,
                                                           global_step=global_step,
                                                           colocate_gradients_with_ops=colocate_gradients,
                                                           name='train')
    init = tf.global_variables_initializer()
    init_tables = tf.tables_initializer()
  run = _run_configuration(loss, train, init, init_tables)
  if inputs is not _fed:
    del run['feeds'], run['batch_axis']
  return graph, run


def _run_configuration(loss, train, init, init_tables):

  def review(tower):
    return {
        'dtype': 'string',
        'shape': [BATCH, WORDS],
        'generator': 'review',
        'vocabulary': VOCABULARY,
        'classes': 5,
        'signal': 0.2,
        'block': 100,
        'tower': tower,
        'seed': FEED_SEED,
    }

  return {
      'init': [init.name, init_tables.name],
      'feeds': {
          'user_reviews': review(0),
          'item_reviews': review(1),
          'labels': {
              'dtype': 'float32',
              'shape': [BATCH, 1],
              'generator': 'review_rating',
              'classes': 5,
              'seed': FEED_SEED,
          },
      },
      'fetches': [loss.name],
      'targets': [train.name],
      'batch_axis': {
          'user_reviews': 0,
          'item_reviews': 0,
          'labels': 0
      },
      'loss': loss.name,
  }
