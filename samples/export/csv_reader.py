# SPDX-License-Identifier: Apache-2.0
"""Writes samples/pipelines/csv_reader: threads read a CSV file into a shuffle queue, steps take batches from it.

Usage: csv_reader.py [--check]     --check: runs it in TensorFlow, too
"""

import argparse

import sample_graphs

import numpy as np
import tensorflow.compat.v1 as tf

FOLDER = sample_graphs.REPOSITORY / 'samples' / 'pipelines'
# Paths in a graph are taken from where the program runs: from the root of the repository.
DATA = 'samples/pipelines/instances.csv'
ROWS = 1000
BATCH = 20
READERS = 2


def write_data():
  """Two features, the second of which may be missing, and a class that follows from the first."""
  random = np.random.RandomState(3)
  lines = ['x1,x2,target']
  for _ in range(ROWS):
    x1, x2 = random.uniform(-1, 1, 2)
    second = '' if random.uniform() < 0.1 else f' {x2:.4f}'
    lines.append(f'{x1:.4f},{second}, {int(x1 > 0)}')
  (sample_graphs.REPOSITORY / DATA).write_text('\n'.join(lines) + '\n')


def build():
  """Returns (graph, run configuration)."""
  graph = tf.Graph()
  with graph.as_default(), tf.device('/cpu:0'):
    files = tf.train.string_input_producer([DATA], num_epochs=1, shuffle=False, name='filename_q')
    reader = tf.TextLineReader(skip_header_lines=1)
    _, line = reader.read(files)
    x1, x2, target = tf.decode_csv(line, record_defaults=[[-1.0], [-1.0], []])
    queue = tf.RandomShuffleQueue(capacity=200,
                                  min_after_dequeue=50,
                                  dtypes=[tf.float32, tf.float32],
                                  shapes=[[2], []],
                                  seed=7,
                                  name='instance_q',
                                  shared_name='shared_instance_q')
    enqueue = queue.enqueue([tf.stack([x1, x2]), target])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [enqueue] * READERS))
    features, targets = queue.dequeue_up_to(BATCH)
    weights = tf.get_variable('weights', [2, 1], initializer=tf.zeros_initializer(), use_resource=False)
    logits = tf.squeeze(tf.matmul(features, weights), 1)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits), name='loss')
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss, name='train')
    init = tf.group(tf.global_variables_initializer(), tf.local_variables_initializer(), name='init')
  run = {
      'init': [init.name],
      'fetches': [loss.name],
      'targets': [train.name],
      'loss': loss.name,
      'queue_runners': [],
  }
  for runner in graph.get_collection(tf.GraphKeys.QUEUE_RUNNERS):
    run['queue_runners'].append({
        'queue': runner.enqueue_ops[0].inputs[0].op.get_attr('shared_name').decode() or runner.name,
        'enqueue': [op.name for op in runner.enqueue_ops],
        'close': runner.close_op.name,
        'cancel': runner.cancel_op.name,
    })
  return graph, run


def check(graph, run):
  with sample_graphs.plain_session(graph) as session:
    sample_graphs.initialise(session, {'init': run['init']})
    coordinator = tf.train.Coordinator()
    with graph.as_default():
      threads = tf.train.start_queue_runners(session, coordinator)
    losses = []
    try:
      while True:
        losses.append(session.run(run['fetches'] + run['targets'])[0])
    except tf.errors.OutOfRangeError:
      print(f'{len(losses)} batches, loss {losses[0]} to {losses[-1]}')
    coordinator.request_stop()
    coordinator.join(threads)


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument('--check', action='store_true')
  arguments = parser.parse_args()
  write_data()
  graph, run = build()
  sample_graphs.save('csv_reader', graph, run, FOLDER)
  if arguments.check:
    check(graph, run)


if __name__ == '__main__':
  main()
