# SPDX-License-Identifier: Apache-2.0
"""Where sample graphs and their run configurations lie, and how to write, read and run them."""

import json
import os
import pathlib

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
# Recorded values come from TensorFlow's own kernels; a caller that wants the oneDNN ones sets this first.
os.environ.setdefault('TF_ENABLE_ONEDNN_OPTS', '0')

import tensorflow.compat.v1 as tf
from google.protobuf import text_format

import feeds

tf.disable_v2_behavior()

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
GRAPH_DIR = REPOSITORY / 'samples' / 'graphs'


def _plain_path(name):
  return name if ':' in name else name + ':0'


def save(name, graph, run, folder=GRAPH_DIR):
  """Writes NAME.pbtxt (the GraphDef exactly as TensorFlow holds it) and NAME.run.json."""
  folder.mkdir(parents=True, exist_ok=True)
  (folder / f'{name}.pbtxt').write_text(text_format.MessageToString(graph.as_graph_def()))
  (folder / f'{name}.run.json').write_text(json.dumps(run, indent=2) + '\n')


def load_graph_def(path):
  graph_def = tf.GraphDef()
  text_format.Parse(pathlib.Path(path).read_text(), graph_def)
  return graph_def


def load_run(path):
  return json.loads(pathlib.Path(path).with_suffix('.run.json').read_text())


def import_graph(path):
  graph = tf.Graph()
  with graph.as_default():
    tf.import_graph_def(load_graph_def(path), name='')
  return graph


def plain_session(graph, intra=0, inter=0):
  """A session that runs the graph as written: no rewriting passes, missing devices replaced."""
  config = tf.ConfigProto(allow_soft_placement=True,
                          intra_op_parallelism_threads=intra,
                          inter_op_parallelism_threads=inter)
  config.graph_options.rewrite_options.disable_meta_optimizer = True
  config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
  return tf.Session(graph=graph, config=config)


def initialise(session, run):
  for target in run['init']:
    session.run(session.graph.get_operation_by_name(target))


def step_feeds(run, step):
  return {_plain_path(name): value for name, value in feeds.make_feeds(run, step).items()}


def run_step(session, run, step_feed, extra_fetches=()):
  """One session run; returns {fetch name: value}."""
  names = list(run['fetches']) + list(extra_fetches)
  targets = [session.graph.get_operation_by_name(t) for t in run['targets']]
  values, _ = session.run([[_plain_path(n) for n in names], targets], step_feed)
  return dict(zip(names, values))
