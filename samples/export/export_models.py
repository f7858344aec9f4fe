"""Exports models as TensorFlow 2.15 writes them, with its own initializers, as graphs and as calls of functions.

Usage: export_models.py FOLDER [MODEL...]

Every model is written as NAME.pbtxt with NAME.run.json, by four ways: its forward pass ("infer") and a training step
("train"), each as the nodes of the graph ("graph") and as a tf.function ("function").
"""

import json
import os
import pathlib
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


class _RawCells(tf.Module):
  """A recurrence written by hand, as many steps as there are words."""

  def __init__(self):
    super().__init__(name='cells')
    self.embedding, self.cell, self.out = layers.Embedding(100, 8), layers.LSTMCell(16), layers.Dense(10)

  @property
  def trainable_variables(self):
    return (self.embedding.trainable_variables + self.cell.trainable_variables + self.out.trainable_variables)

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
}


def _loss(model, x, y):
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


def main():
  folder = pathlib.Path(sys.argv[1])
  folder.mkdir(parents=True, exist_ok=True)
  for name in sys.argv[2:] or MODELS:
    for kind in ('infer', 'train'):
      for form in ('graph', 'function'):
        try:
          export(folder, name, kind, form)
        except Exception as error:  # pylint: disable=broad-except
          print(f'{name}_{kind}_{form}: TensorFlow exports it not: {type(error).__name__}: {str(error)[:200]}', flush=True)


if __name__ == '__main__':
  main()
