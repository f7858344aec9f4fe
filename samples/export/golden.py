# SPDX-License-Identifier: Apache-2.0
"""Records what TensorFlow computes for small graphs, one compressed JSON file a family of ops.

A case is {"name", "graph", "init", "steps", "tolerance"}; an error case has "feeds", "fetches", "error_code"
and "error_contains" in place of the steps. Not-a-number and the infinities are written as strings.
"""

import gzip
import json
import math
import zlib

import numpy as np
from google.protobuf import text_format

import sample_graphs
import tensorflow.compat.v1 as tf

GOLDEN = sample_graphs.REPOSITORY / 'tests' / 'golden'

EXACT = {'rtol': 0.0, 'atol': 0.0}
FLOAT32 = {'rtol': 1e-5, 'atol': 1e-6}
FLOAT64 = {'rtol': 1e-12, 'atol': 1e-13}
# Sums of products in any order, of values of size one.
FLOAT32_SUM = {'rtol': 2e-5, 'atol': 2e-5}

_JSON_SPECIAL = {math.inf: 'inf', -math.inf: '-inf'}


class Constant:
  """An input that the graph holds as a Const instead of reading it from a feed."""

  def __init__(self, value, dtype=np.int32):
    self.value = np.array(value, dtype)


def seeded(name):
  """A generator that depends on the case's name alone, so that a new case changes no other."""
  return np.random.RandomState(zlib.crc32(name.encode()) & 0x7FFFFFFF)


def random_array(name, shape, dtype, low=-3.0, high=3.0):
  """Uniform test values in [low, high); rounded for integers, compared with the middle for bools."""
  values = seeded(name).uniform(low, high, shape)
  if np.dtype(dtype).kind == 'b':
    return np.asarray(values > (low + high) / 2)
  if np.dtype(dtype).kind in 'iu':
    return np.asarray(np.round(values)).astype(dtype)
  return np.asarray(values).astype(dtype)


def _number(value, digits):
  value = float(value)
  if math.isnan(value):
    return 'nan'
  if math.isinf(value):
    return _JSON_SPECIAL[value]
  return float(f'{value:.{digits}g}')


def _flat_values(array):
  flat = array.ravel().tolist()
  if array.dtype == object or array.dtype.kind in 'SU':
    return [v.decode() if isinstance(v, bytes) else v for v in flat]
  if array.dtype == np.float32:
    return [_number(v, 9) for v in flat]
  if array.dtype.kind == 'f':
    return [_number(v, 17) for v in flat]
  return flat


def _dtype_name(array):
  return 'string' if array.dtype == object or array.dtype.kind in 'SU' else array.dtype.name


def tensor_json(array):
  array = np.asarray(array)
  return {'dtype': _dtype_name(array), 'shape': list(array.shape), 'values': _flat_values(array)}


def samples_json(array, count=16):
  """A few spread elements and the sum of a tensor that is too large to store."""
  flat = np.asarray(array).ravel()
  index = np.unique(np.linspace(0, flat.size - 1, count).astype(np.int64))
  return {
      'dtype': _dtype_name(flat),
      'shape': list(np.shape(array)),
      'indices': index.tolist(),
      'values': _flat_values(flat[index]),
      'sum': float(flat.astype(np.float64).sum()),
  }


def default_tolerance(arrays):
  kinds = {np.asarray(a).dtype for a in arrays}
  if np.dtype(np.float32) in kinds:
    return FLOAT32
  return FLOAT64 if np.dtype(np.float64) in kinds else EXACT


def _placeholder(name, array):
  dtype = tf.string if _dtype_name(array) == 'string' else tf.as_dtype(array.dtype)
  return tf.placeholder(dtype, array.shape, name=name)


def write_cases(folder, name, cases):
  """The same cases give the same bytes."""
  path = GOLDEN / folder / f'{name}.json.gz'
  path.parent.mkdir(parents=True, exist_ok=True)
  lines = ',\n'.join(json.dumps(c, separators=(',', ':')) for c in cases)
  path.write_bytes(gzip.compress(('{"cases":[\n' + lines + '\n]}\n').encode(), 9, mtime=0))
  print(f'{path.name}: {len(cases)} cases, {path.stat().st_size} bytes', flush=True)


class Family:
  """The cases of one file."""

  def __init__(self, name):
    self.name = name
    self.cases = []

  def op(self, case, op_type, within=None, sampled=False, fetched=None, **arguments):
    """One op, or the first `fetched` of its outputs.

    Arrays (and lists of arrays) become feeds, `Constant`s Const nodes, the rest attributes.
    """
    graph, feeds = tf.Graph(), {}

    def convert(name, value):
      if isinstance(value, Constant):
        return tf.constant(value.value, name=name)
      if isinstance(value, np.ndarray):
        feeds[name] = value
        return _placeholder(name, value)
      if isinstance(value, list) and value and isinstance(value[0], (np.ndarray, Constant)):
        return [convert(f'{name}_{i}', v) for i, v in enumerate(value)]
      return value

    with graph.as_default():
      tf.set_random_seed(1)
      inputs = {name: convert(name, value) for name, value in arguments.items()}
      getattr(tf.raw_ops, op_type)(**inputs)
      operation = graph.get_operations()[-1]
      assert operation.type == op_type, (operation.type, op_type)
    steps = [(feeds, [t.name for t in operation.outputs[:fetched]], [])]
    self._record(case, graph, [], steps, within, sampled)

  def graph(self, case, build, steps, within=None, sampled=False):
    """A graph. `build` returns the init targets; a step is (feeds, fetch names, target names)."""
    graph = tf.Graph()
    with graph.as_default():
      tf.set_random_seed(1)
      init = build() or []
    self._record(case, graph, [o.name for o in init], steps, within, sampled)

  def error(self, case, build, feeds, fetches):
    """A graph whose run must fail; code and text are TensorFlow's."""
    graph = tf.Graph()
    with graph.as_default():
      text = build()
    try:
      with sample_graphs.plain_session(graph) as session:
        session.run(fetches, {f'{n}:0': v for n, v in feeds.items()})
    except tf.errors.OpError as error:
      if text not in error.message:
        raise ValueError(f'{case}: "{text}" is not in "{error.message}"') from error
      code = type(error).__name__.removesuffix('Error')
    else:
      raise ValueError(f'{case}: no error')
    self.cases.append({
        'name': case,
        'graph': text_format.MessageToString(graph.as_graph_def()),
        'feeds': {
            n: tensor_json(v) for n, v in feeds.items()
        },
        'fetches': fetches,
        'error_code': code,
        'error_contains': text,
    })

  def _record(self, case, graph, init, steps, within, sampled):
    recorded, outputs = [], []
    with sample_graphs.plain_session(graph, 1, 1) as session:
      for target in init:
        session.run(graph.get_operation_by_name(target))
      for feeds, fetches, targets in steps:
        operations = [graph.get_operation_by_name(t) for t in targets]
        values, _ = session.run([fetches, operations], {f'{n}:0': v for n, v in feeds.items()})
        outputs.extend(values)
        write = samples_json if sampled else tensor_json
        recorded.append({
            'feeds': {
                n: tensor_json(v) for n, v in feeds.items()
            },
            'fetches': {
                n: write(v) for n, v in zip(fetches, values)
            },
            'targets': targets,
        })
    self.cases.append({
        'name': case,
        'graph': text_format.MessageToString(graph.as_graph_def()),
        'init': init,
        'steps': recorded,
        'tolerance': within or default_tolerance(outputs),
    })

  def write(self):
    write_cases('ops', self.name, self.cases)
