# SPDX-License-Identifier: Apache-2.0
"""Records the gradients and training steps that TensorFlow writes and computes into tests/golden/gradients and
tests/golden/optimizers.

A case of an optimizer is {"name", "graph", "forward", "feeds", "init", "train", "variables"}: how many nodes of the
graph are there before the optimizer, and the values of all variables after three steps.

A case is {"name", "graph", "feeds", "ys", "xs", "below", "colocate", "gradients", "tolerance"}: the whole graph with
the nodes of tf.gradients, whose names begin with "below", what is fed, and the value of the gradient of every x: a tensor, a pair
of "values" and "indices", or null.

Usage: record_gradients.py [FAMILY...]
"""

import re
import sys

import numpy as np
from google.protobuf import text_format

import golden
import sample_graphs
import tensorflow.compat.v1 as tf
from golden import random_array
from tensorflow.python.framework import ops
from op_cases import gradient_cases
from op_cases import optimizer_graph_cases


def _gradient_names(gradient):
  if gradient is None:
    return None
  if isinstance(gradient, tf.IndexedSlices):
    return {'values': gradient.values, 'indices': gradient.indices}
  return gradient


class Family:
  """The cases of one file."""

  def __init__(self, name):
    self.name = name
    self.cases = []

  def case(self, name, build, feeds, xs=None, colocate=False, unknown=(), within=None):
    """`build` makes the graph from placeholders for `feeds` and returns the ys (a tensor or a list of them).

    The gradients are by `xs`, or by all feeds of floating-point numbers; `unknown` feeds have no shape in the graph.
    """
    graph = tf.Graph()
    with graph.as_default():
      tf.set_random_seed(1)
      placeholders = {
          n: tf.placeholder(v.dtype, None if n in unknown else v.shape, name=n) for n, v in feeds.items()
      }
      ys = build(**placeholders)
      ys = list(ys) if isinstance(ys, (list, tuple)) else [ys]
      xs = xs or [n for n, v in feeds.items() if v.dtype.kind == 'f']
      feed = {f'{n}:0': v for n, v in feeds.items()}
      with sample_graphs.plain_session(graph, 1, 1) as session:
        y_values = session.run(ys, feed)
      grad_ys = []
      for i, value in enumerate(y_values):
        feeds[f'dy{i}'] = random_array(f'{name}{i}', value.shape, value.dtype, 0.5, 2.0)
        grad_ys.append(tf.placeholder(value.dtype, ys[i].shape, name=f'dy{i}'))
      feed = {f'{n}:0': v for n, v in feeds.items()}
      below = graph.unique_name('gradients', mark_as_used=False) + '/'
      gradients = tf.gradients(ys, [placeholders[x] for x in xs],
                               grad_ys=grad_ys,
                               colocate_gradients_with_ops=colocate)
      fetches = {x: _gradient_names(g) for x, g in zip(xs, gradients)}
      with sample_graphs.plain_session(graph, 1, 1) as session:
        values = session.run({x: f for x, f in fetches.items() if f is not None}, feed)
    recorded = {}
    for x in xs:
      value = values.get(x)
      if isinstance(value, dict):
        recorded[x] = {n: golden.tensor_json(v) for n, v in value.items()}
      else:
        recorded[x] = None if value is None else golden.tensor_json(value)
    arrays = [v for v in feeds.values() if v.dtype.kind == 'f']
    self.cases.append({
        'name': name,
        'graph': text_format.MessageToString(graph.as_graph_def()),
        'feeds': {
            n: golden.tensor_json(v) for n, v in feeds.items()
        },
        'ys': [y.name for y in ys],
        'xs': xs,
        'below': below,
        'colocate': colocate,
        'gradients': recorded,
        'tolerance': within or golden.default_tolerance(arrays),
    })

  def op(self, name, op_type, feeds, output=0, xs=None, unknown=(), within=None, colocate=False, **attributes):
    """One op: `feeds` and lists of feed names in `attributes` are its arguments."""

    def build(**tensors):
      arguments = {}
      used = set()
      for key, value in attributes.items():
        if isinstance(value, list) and value and all(isinstance(v, str) and v in tensors for v in value):
          arguments[key] = [tensors[v] for v in value]
          used.update(value)
        else:
          arguments[key] = value
      arguments.update({n: t for n, t in tensors.items() if n not in used})
      result = getattr(tf.raw_ops, op_type)(**arguments)
      if output == 'all':
        return list(result)
      if output == 'first3':
        return list(result)[:3]
      return result[output] if isinstance(result, (list, tuple)) else result

    self.case(name, build, feeds, xs, colocate, unknown, within)

  def training(self, name, build, feeds, minimize, prepare=None):
    """Three steps. `prepare` makes what the optimizer takes beside the loss, and returns it and `minimize`."""
    graph = tf.Graph()
    with graph.as_default():
      tf.set_random_seed(1)
      loss = build()
      arguments = None
      if prepare:
        _, arguments = prepare(loss)
      forward = len(graph.get_operations())
      train = arguments() if prepare else minimize(loss)
      nodes = len(graph.get_operations())
      feed = {'x:0': feeds(loss)}
      init = tf.global_variables_initializer()
      with sample_graphs.plain_session(graph, 1, 1) as session:
        session.run(init)
        for _ in range(3):
          session.run(train, feed)
        values = session.run({v.op.name: v for v in tf.global_variables()})
    definition = graph.as_graph_def()
    self.cases.append({
        'name': name,
        'graph': text_format.MessageToString(definition),
        'forward': forward,
        'nodes': nodes,
        'feeds': {
            'x': golden.tensor_json(feed['x:0'])
        },
        'init': init.name,
        'train': train.name,
        'variables': {
            n: golden.tensor_json(v) for n, v in values.items()
        },
    })

  def write(self, directory):
    golden.write_cases(directory, self.name, self.cases)


def differentiable():
  """Writes which of the ops in core/graph/ops have an entry in TensorFlow's table of gradients."""
  text = ''.join(p.read_text() for p in (sample_graphs.REPOSITORY / 'core' / 'graph' / 'ops').glob('*.cpp'))
  names = sorted(set(re.findall(r'op\(\s*"(\w+)\(', text)))
  known = ops.gradient_registry.list()
  (golden.GOLDEN / 'gradients.txt').write_text(''.join(f'{n}\n' for n in names if n in known))


def main():
  differentiable()
  for name in sys.argv[1:] or [*gradient_cases.FAMILIES, 'optimizers']:
    family = Family(name)
    if name == 'optimizers':
      optimizer_graph_cases.record(family)
      family.write('optimizers')
    else:
      gradient_cases.FAMILIES[name](family)
      family.write('gradients')


if __name__ == '__main__':
  main()
