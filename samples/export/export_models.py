# SPDX-License-Identifier: Apache-2.0
"""Exports models as TensorFlow 2.15 writes them, with its own initializers, as graphs and as calls of functions.

Usage: export_models.py FOLDER [MODEL...]

Every model is written as NAME.pbtxt with NAME.run.json, by four ways: its forward pass ("infer") and a training step
("train"), each as the nodes of the graph ("graph") and as a tf.function ("function"); and its forward pass as a SavedModel
("saved"), a folder with the variables' values and beside it what TensorFlow gives for the feeds of NAME.run.json.
"""

import json
import os
import pathlib
import subprocess
import sys

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
os.environ.setdefault('TF_ENABLE_ONEDNN_OPTS', '0')

import numpy as np
import tensorflow as tf
from google.protobuf import text_format

v1 = tf.compat.v1
keras = tf.keras
layers = tf.keras.layers

BATCH = 4


def _images(size):
  return [BATCH, size, size, 3], 'float32', None


def _tokens(length, vocabulary):
  return [BATCH, length], 'int32', vocabulary


def _mlp():
  return keras.Sequential([layers.Dense(32, 'relu'), layers.Dropout(0.2), layers.Dense(10)])


def _cnn():
  return keras.Sequential([
      layers.Conv2D(8, 3, activation='relu'),
      layers.BatchNormalization(),
      layers.MaxPool2D(),
      layers.Conv2D(16, 3, padding='same', activation='relu'),
      layers.GlobalAveragePooling2D(),
      layers.Dense(10)
  ])


def _autoencoder():
  return keras.Sequential([
      layers.Conv2D(8, 3, 2, 'same', activation='relu'),
      layers.Conv2DTranspose(8, 3, 2, 'same', activation='relu'),
      layers.Conv2D(3, 3, padding='same', activation='sigmoid'),
      layers.Flatten(),
      layers.Dense(10)
  ])


def _separable():
  return keras.Sequential([
      layers.SeparableConv2D(8, 3, padding='same', activation='relu'),
      layers.DepthwiseConv2D(3, 2, 'same'),
      layers.GlobalMaxPool2D(),
      layers.Dense(10)
  ])


def _resnet50():
  return keras.applications.ResNet50(weights=None, input_shape=(64, 64, 3), classes=10, classifier_activation=None)


def _mobilenet_v2():
  return keras.applications.MobileNetV2(weights=None,
                                        input_shape=(64, 64, 3),
                                        classes=10,
                                        classifier_activation=None)


def _recurrent(layer):
  return lambda: keras.Sequential([layers.Embedding(100, 8), layer(16), layers.Dense(10)])


class _Cells(tf.Module):
  """A cell over embedded words; the loop over them is what differs."""

  def __init__(self, name):
    super().__init__(name=name)
    self.embedding, self.cell, self.out = layers.Embedding(100, 8), layers.LSTMCell(16), layers.Dense(10)

  @property
  def trainable_variables(self):
    return (self.embedding.trainable_variables + self.cell.trainable_variables + self.out.trainable_variables)


class _RawCells(_Cells):
  """A recurrence written by hand, as many steps as there are words."""

  def __init__(self):
    super().__init__('cells')

  def __call__(self, x, training=False):
    words = self.embedding(x)
    state = [tf.zeros([BATCH, 16]), tf.zeros([BATCH, 16])]
    for step in range(6):
      y, state = self.cell(words[:, step], state)
    return self.out(y)


def _transformer():
  words = keras.Input([12], dtype='int32', batch_size=BATCH)
  x = layers.Embedding(100, 16)(words)
  attended = layers.MultiHeadAttention(2, 8)(x, x)
  x = layers.LayerNormalization()(x + attended)
  x = layers.LayerNormalization()(x + layers.Dense(16)(layers.Dense(32, 'gelu')(x)))
  return keras.Model(words, layers.Dense(10)(layers.GlobalAveragePooling1D()(x)))


def _text_cnn():
  return keras.Sequential([
      layers.Embedding(100, 16),
      layers.Conv1D(8, 3, activation='relu'),
      layers.GlobalMaxPool1D(),
      layers.Dense(10)
  ])


class _Word2Vec(tf.Module):
  """Skip-grams with noise-contrastive estimation; x are words, y their neighbours."""

  def __init__(self):
    super().__init__(name='word2vec')
    start = tf.random.uniform([100, 16], -1.0, 1.0, seed=3)
    self.embedding = tf.Variable(start, name='embedding')
    self.weights = tf.Variable(tf.random.truncated_normal([100, 16], stddev=0.25, seed=4), name='weights')
    self.biases = tf.Variable(tf.zeros([100]), name='biases')

  @property
  def trainable_variables(self):
    return [self.embedding, self.weights, self.biases]

  def loss(self, x, y):
    rows = tf.nn.embedding_lookup(self.embedding, x[:, 0])
    labels = tf.cast(y[:, None], tf.int64)
    return tf.reduce_mean(tf.nn.nce_loss(self.weights, self.biases, labels, rows, num_sampled=8, num_classes=100))

  def __call__(self, x, training=False):
    rows = tf.math.l2_normalize(tf.nn.embedding_lookup(self.embedding, x[:, 0]), 1)
    return tf.matmul(rows, tf.math.l2_normalize(self.embedding, 1), transpose_b=True)


class _DynamicRnn(_Cells):
  """tf.compat.v1.nn.dynamic_rnn with lengths, whose loop is one of TensorFlow 1 in graphs."""

  def __init__(self):
    super().__init__('dynamic_rnn')

  def __call__(self, x, training=False):
    words = self.embedding(x)
    outputs, state = v1.nn.dynamic_rnn(self.cell, words, sequence_length=tf.constant([12, 7, 3, 12]), dtype=tf.float32)
    return self.out(tf.reduce_mean(outputs, 1) + state[0])


class _Branches(tf.Module):
  """A layer in each branch of a condition that data decide, and a loop whose end data decide."""

  def __init__(self):
    super().__init__(name='branches')
    self.yes, self.no, self.out = layers.Dense(16, 'relu'), layers.Dense(16, 'tanh'), layers.Dense(10)
    for layer, size in ((self.yes, 20), (self.no, 20), (self.out, 16)):
      layer.build([None, size])

  @property
  def trainable_variables(self):
    return self.yes.trainable_variables + self.no.trainable_variables + self.out.trainable_variables

  def __call__(self, x, training=False):
    hidden = tf.cond(tf.reduce_sum(x) > 0, lambda: self.yes(x), lambda: self.no(x))
    shrink = lambda i, h: (i + 1, h * 0.5)
    _, hidden = tf.while_loop(lambda i, h: tf.logical_and(i < 6, tf.reduce_max(tf.abs(h)) > 0.2), shrink, [0, hidden])
    return self.out(hidden)


class _Schedule(tf.Module):
  """What training loops add: clipping by norm, a rate by steps, moving averages, summaries."""

  def __init__(self):
    super().__init__(name='schedule')
    self.layers = [layers.Dense(32, 'relu'), layers.Dense(10)]

  @property
  def trainable_variables(self):
    return [v for layer in self.layers for v in layer.trainable_variables]

  def __call__(self, x, training=False):
    return self.layers[1](self.layers[0](x))

  def train(self, loss):
    step = v1.train.get_or_create_global_step()
    rate = v1.train.piecewise_constant(step, [1, 5], [0.1, 0.01, 0.001])
    v1.summary.scalar('rate', rate)
    v1.summary.scalar('loss', loss)
    clipped, _ = tf.clip_by_global_norm(tf.gradients(loss, self.trainable_variables), 0.5)
    averages = tf.train.ExponentialMovingAverage(0.9)
    optimizer = v1.train.MomentumOptimizer(rate, 0.9, use_nesterov=True)
    update = optimizer.apply_gradients(zip(clipped, self.trainable_variables), step)
    with tf.control_dependencies([update, v1.summary.merge_all()]):
      return averages.apply(self.trainable_variables)


MODELS = {
    'mlp': (_mlp, ([BATCH, 20], 'float32', None)),
    'cnn': (_cnn, _images(16)),
    'autoencoder': (_autoencoder, _images(16)),
    'separable': (_separable, _images(16)),
    'resnet50': (_resnet50, _images(64)),
    'mobilenet_v2': (_mobilenet_v2, _images(64)),
    'lstm': (_recurrent(layers.LSTM), _tokens(12, 100)),
    'gru': (_recurrent(layers.GRU), _tokens(12, 100)),
    'lstm_cells': (_RawCells, _tokens(6, 100)),
    'transformer': (_transformer, _tokens(12, 100)),
    'text_cnn': (_text_cnn, _tokens(12, 100)),
    'word2vec': (_Word2Vec, _tokens(1, 100)),
    'dynamic_rnn': (_DynamicRnn, _tokens(12, 100)),
    'branches': (_Branches, ([BATCH, 20], 'float32', None)),
    'schedule': (_Schedule, ([BATCH, 20], 'float32', None)),
}


def _loss(model, x, y):
  if hasattr(model, 'loss') and not isinstance(model, keras.Model):
    return model.loss(x, y)
  logits = model(x, training=True)
  entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
  return tf.reduce_mean(entropy)


def _build(model, x, y, kind, form):
  """Returns the tensor to fetch and the target of the step."""
  if kind == 'infer':
    call = lambda x: model(x, training=False)
    return tf.identity((tf.function(call) if form == 'function' else call)(x), name='result'), None
  if form == 'graph':
    loss = tf.identity(_loss(model, x, y), name='result')
    if hasattr(model, 'train'):
      return loss, model.train(loss)
    variables = model.trainable_variables
    gradients = tf.gradients(loss, variables)
    train = v1.train.AdamOptimizer(0.01).apply_gradients(zip(gradients, variables), name='train')
    return loss, train

  _loss(model, x, y)  # makes the variables

  @tf.function
  def step(x, y):
    with tf.GradientTape() as tape:
      loss = _loss(model, x, y)
    variables = model.trainable_variables
    for variable, gradient in zip(variables, tape.gradient(loss, variables)):
      variable.assign_sub(0.01 * tf.convert_to_tensor(gradient))
    return loss

  loss = tf.identity(step(x, y), name='result')
  return loss, loss.op


def _feed(shape, dtype, limit, seed):
  if dtype == 'float32':
    return {'dtype': dtype, 'shape': shape, 'generator': 'uniform', 'low': -1.0, 'high': 1.0, 'seed': seed}
  return {'dtype': dtype, 'shape': shape, 'generator': 'integers', 'low': 0, 'high': limit, 'seed': seed}


def export(folder, name, kind, form):
  make, (shape, dtype, limit) = MODELS[name]
  graph = tf.Graph()
  with graph.as_default():
    tf.random.set_seed(1)
    x = v1.placeholder(dtype, shape, name='x')
    y = v1.placeholder('int32', [BATCH], name='y')
    result, target = _build(make(), x, y, kind, form)
    init = v1.global_variables_initializer()
  feeds = {'x': _feed(shape, dtype, limit, 1)}
  if kind == 'train':
    feeds['y'] = _feed([BATCH], 'int32', 10, 2)
  run = {
      'init': [init.name],
      'feeds': feeds,
      'fetches': [result.name],
      'targets': [target.name] if target is not None else [],
  }
  path = folder / f'{name}_{kind}_{form}.pbtxt'
  path.write_text(text_format.MessageToString(graph.as_graph_def()))
  path.with_suffix('.run.json').write_text(json.dumps(run, indent=2) + '\n')
  print(f'{path.name}: {len(graph.as_graph_def().node)} nodes', flush=True)


def _values(feed):
  """Numbers for a feed; a saved model's feeds are files."""
  random = np.random.RandomState(feed['seed'])
  if feed['dtype'] == 'float32':
    return random.uniform(feed['low'], feed['high'], feed['shape']).astype('float32')
  return random.randint(feed['low'], feed['high'], feed['shape']).astype('int32')


def export_saved(folder, name):
  """In a process of its own: eager, as users save models."""
  make, (shape, dtype, limit) = MODELS[name]
  tf.random.set_seed(1)
  model = make()
  feed = _values(_feed(shape, dtype, limit, 1))

  @tf.function(input_signature=[tf.TensorSpec(shape, dtype, name='x')])
  def serve(x):
    return {'result': model(x, training=False)}

  expected = serve(tf.constant(feed))['result'].numpy()
  path = folder / f'{name}_infer_saved'
  module = tf.Module()
  module.model, module.serve = model, serve
  tf.saved_model.save(module, str(path), signatures={'serving_default': serve})
  np.save(f'{path}.x.npy', feed)
  np.save(f'{path}.result.npy', expected)
  print(f'{path.name}: saved', flush=True)


def main():
  if sys.argv[1] == '--saved':
    export_saved(pathlib.Path(sys.argv[2]), sys.argv[3])
    return
  folder = pathlib.Path(sys.argv[1])
  folder.mkdir(parents=True, exist_ok=True)
  for name in sys.argv[2:] or MODELS:
    for kind in ('infer', 'train'):
      for form in ('graph', 'function'):
        try:
          export(folder, name, kind, form)
        except Exception as error:  # pylint: disable=broad-except
          print(f'{name}_{kind}_{form}: TensorFlow exports it not: {type(error).__name__}: {str(error)[:200]}', flush=True)
    subprocess.run([sys.executable, __file__, '--saved', str(folder), name], check=False)


if __name__ == '__main__':
  main()
