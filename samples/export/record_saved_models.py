# SPDX-License-Identifier: Apache-2.0
"""Writes small SavedModels and what TensorFlow computes with them into tests/golden/saved_models."""

import json
import os
import pathlib
import shutil

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')

import numpy as np
import tensorflow as tf

FOLDER = pathlib.Path(__file__).resolve().parents[2] / 'tests' / 'golden' / 'saved_models'


class Layer(tf.Module):
  """Products, a bias and a loop."""

  def __init__(self):
    super().__init__()
    self.w = tf.Variable(np.arange(6).reshape(2, 3) / 4, dtype=tf.float32)
    self.b = tf.Variable([0.5, -1.0, 2.0])
    self.steps = tf.Variable(3, dtype=tf.int64)

  @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name='x')])
  def __call__(self, x):
    state = x @ self.w + self.b
    for _ in tf.range(2):
      state = tf.tanh(state)
    return {'y': state * tf.cast(self.steps, tf.float32), 'rows': tf.shape(x)[0]}


def _module(path):
  layer = Layer()
  tf.saved_model.save(layer, str(path), signatures={'serving_default': layer.__call__})


def _version_1(path):
  v1 = tf.compat.v1
  with tf.Graph().as_default(), v1.Session() as session:
    x = v1.placeholder(tf.float32, [None, 2], name='x')
    w = v1.get_variable('w', initializer=tf.constant([[1., 2., 3.], [4., 5., 6.]]), use_resource=False)
    n = v1.get_variable('n', initializer=tf.constant(7, tf.int64), use_resource=False)
    y = tf.identity(tf.matmul(x, w) * tf.cast(n, tf.float32), name='y')
    session.run(v1.global_variables_initializer())
    session.run(v1.assign(n, 9))
    v1.saved_model.simple_save(session, str(path), {'x': x}, {'y': y})


def _keras(path):
  """Saved as a model, not exported: the checkpoint's objects alone say whose values are whose."""
  import keras  # version 3, which comes with TensorFlow from 2.16 on

  keras.utils.set_random_seed(0)
  layers = [keras.Input((2,)), keras.layers.Dense(4, activation='relu'), keras.layers.Dense(3)]
  model = keras.Sequential(layers)
  model.layers[0].bias.assign([0.5, -1.0, 2.0, 0.25])
  tf.saved_model.save(model, str(path))


def main():
  x = np.array([[0.25, -1.5]], np.float32)
  writers = {'module': _module, 'version_1': _version_1}
  if tf.keras.__version__.startswith('3'):
    writers = {'keras': _keras}
  for name, write in writers.items():
    path = FOLDER / name
    shutil.rmtree(path, ignore_errors=True)
    write(path)
    call = tf.saved_model.load(str(path)).signatures['serving_default']
    fed = next(iter(call.structured_input_signature[1]))
    outputs = {key: value.numpy().tolist() for key, value in sorted(call(**{fed: tf.constant(x)}).items())}
    recorded = {'x': x.tolist(), 'outputs': outputs}
    (FOLDER / f'{name}.json').write_text(json.dumps(recorded) + '\n')
    (path / 'fingerprint.pb').unlink(missing_ok=True)
    (path / 'assets').is_dir() and (path / 'assets').rmdir()


if __name__ == '__main__':
  main()
