# SPDX-License-Identifier: Apache-2.0
"""Times the steps of a sample graph in TensorFlow on the CPU and prints one JSON object, times in ns.

Usage: tensorflow_step.py GRAPH.pbtxt [options]

A step is one session run, from feeds in to fetches out. Feed values are generated before the timed region;
handing them to TensorFlow (for strings: one conversion an element) is a part of the step, as in any program
that feeds arrays. "feeds_only" times runs that hand over the same feeds and read their sizes only.
"""

import argparse
import json
import os
import pathlib
import sys
import time

import numpy as np

_EXPORT_DIR = pathlib.Path(__file__).resolve().parents[2] / 'samples' / 'export'


def _arguments():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('graph')
  parser.add_argument('--intra', type=int, default=1, help='threads inside an op (0: all cores)')
  parser.add_argument('--inter', type=int, default=1, help='ops at the same time (0: all cores)')
  parser.add_argument('--warmup', type=int, default=10)
  parser.add_argument('--steps', type=int, default=50)
  parser.add_argument('--no-onednn', action='store_true', help="TensorFlow's own kernels only")
  parser.add_argument('--no-rewrites', action='store_true', help='run the graph as written')
  return parser.parse_args()


def _quantiles(times):
  return {
      'median': int(np.median(times)),
      'p25': int(np.percentile(times, 25)),
      'p75': int(np.percentile(times, 75)),
      'min': int(min(times)),
      'max': int(max(times)),
  }


def _timed(call, inputs):
  begin = time.perf_counter_ns()
  result = call(*inputs)
  return time.perf_counter_ns() - begin, result


def main():
  arguments = _arguments()
  os.environ['TF_ENABLE_ONEDNN_OPTS'] = '0' if arguments.no_onednn else '1'
  os.environ['CUDA_VISIBLE_DEVICES'] = ''
  sys.path.insert(0, str(_EXPORT_DIR))
  import sample_graphs
  tf = sample_graphs.tf

  run = sample_graphs.load_run(arguments.graph)
  graph = sample_graphs.import_graph(arguments.graph)
  with graph.as_default():
    sizes = [tf.size(graph.get_tensor_by_name(f'{name}:0')) for name in run['feeds']]
  config = tf.ConfigProto(allow_soft_placement=True,
                          intra_op_parallelism_threads=arguments.intra,
                          inter_op_parallelism_threads=arguments.inter)
  if arguments.no_rewrites:
    config.graph_options.rewrite_options.disable_meta_optimizer = True
  count = arguments.warmup + arguments.steps
  with tf.Session(graph=graph, config=config) as session:
    sample_graphs.initialise(session, run)
    feed_list = [f'{name}:0' for name in run['feeds']]
    fetches = list(run['fetches']) + [graph.get_operation_by_name(t) for t in run['targets']]
    step = session.make_callable(fetches, feed_list=feed_list)
    feeds_only = session.make_callable(sizes, feed_list=feed_list)
    step_times, feed_times = [], []
    for i in range(count):
      feeds = sample_graphs.step_feeds(run, i)
      inputs = [feeds[name] for name in feed_list]
      feed_times.append(_timed(feeds_only, inputs)[0])
      elapsed, values = _timed(step, inputs)
      step_times.append(elapsed)
  print(
      json.dumps({
          'graph':
              pathlib.Path(arguments.graph).stem,
          'tensorflow':
              tf.__version__,
          'intra':
              arguments.intra,
          'inter':
              arguments.inter,
          'onednn':
              not arguments.no_onednn,
          'rewrites':
              not arguments.no_rewrites,
          'warmup':
              arguments.warmup,
          'steps':
              arguments.steps,
          **_quantiles(step_times[arguments.warmup:]),
          'feeds_only':
              _quantiles(feed_times[arguments.warmup:]),
          'last_fetch':
              float(np.ravel(values[0])[0]),
      }))


if __name__ == '__main__':
  main()
