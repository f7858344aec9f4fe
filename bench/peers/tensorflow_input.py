# SPDX-License-Identifier: Apache-2.0
"""Times TensorFlow's queues, readers and parsers on the data of bench/queues.cpp and bench/readers.cpp, on one thread.

Prints one JSON object: by benchmark name of ours, records or bytes a second of processor time.
"""

import json
import os
import pathlib
import tempfile
import time

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
os.environ['CUDA_VISIBLE_DEVICES'] = ''

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

BATCH = 128
SECONDS = 1.0


def _session():
  return tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1))


def _rate(run, amount):
  """Of `amount` a run, a second of processor time: the best of five rounds."""
  run()
  best = 0
  for _ in range(5):
    runs, begin = 0, time.process_time()
    while time.process_time() - begin < SECONDS / 5:
      run()
      runs += 1
    best = max(best, runs * amount / (time.process_time() - begin))
  return best


def _looped(body, count=200):
  """A session run that evaluates `body()` so often: what a run itself costs hardly counts."""

  def step(i):
    with tf.control_dependencies(body()):
      return tf.add(i, 1)

  return tf.while_loop(lambda i: i < count, step, [tf.constant(0)], parallel_iterations=1), count


def queues():
  rates = {}
  kinds = [('BM_QueueOneByOne', None), ('BM_QueueBatches/kind:0', tf.FIFOQueue),
           ('BM_QueueBatches/kind:1', tf.RandomShuffleQueue), ('BM_QueueBatches/kind:2', tf.PaddingFIFOQueue)]
  for name, kind in kinds:
    with tf.Graph().as_default(), _session() as session:
      more = {'min_after_dequeue': BATCH, 'seed': 1} if kind is tf.RandomShuffleQueue else {}
      queue = (kind or tf.FIFOQueue)(4 * BATCH, dtypes=[tf.float32, tf.int32], shapes=[[8], []], **more)
      size = BATCH if kind else 1
      values = [tf.zeros([size, 8] if kind else [8]), tf.zeros([size] if kind else [], tf.int32)]

      def body():
        put = queue.enqueue_many(values) if kind else queue.enqueue(values)
        with tf.control_dependencies([put]):
          return queue.dequeue_many(size) if kind else queue.dequeue()

      if more:
        session.run(queue.enqueue_many(values))
      loop, count = _looped(body)
      rates[name] = _rate(lambda: session.run(loop), count * size)
  return rates


def records(folder):
  rates = {}
  for size in (100, 1000, 10000):
    path = str(pathlib.Path(folder) / f'{size}.tfrecord')
    count = 64_000_000 // (size + 16) + 1
    with tf.python_io.TFRecordWriter(path) as writer:
      for _ in range(count):
        writer.write(b'x' * size)
    with tf.Graph().as_default(), _session() as session:
      queue = tf.FIFOQueue(10, [tf.string])
      put = queue.enqueue([path])
      _, values = tf.TFRecordReader().read_up_to(queue, count)
      read = tf.size(values)

      def run():
        session.run(put)
        assert session.run(read) == count

      rates[f'BM_TfRecords/record:{size}'] = _rate(run, os.path.getsize(path))
    os.remove(path)
  return rates


def csv():
  rates = {}
  for text in (0, 1):
    lines = []
    for line in range(10_000):
      fields = [f'"a text, number {line * c}"' if text else f'{line % 97}.{c * line % 9973:04}' for c in range(10)]
      lines.append(','.join(fields))
    with tf.Graph().as_default(), _session() as session:
      default = [''] if text else [0.0]
      held = tf.get_variable('lines', initializer=tf.constant(lines), use_resource=False)
      session.run(held.initializer)
      columns = tf.decode_csv(held, [default] * 10)
      amount = sum(len(line) + 1 for line in lines)
      rates[f'BM_DecodeCsv/text:{text}'] = _rate(lambda: session.run(columns[0].op), amount)
  return rates


def main():
  with tempfile.TemporaryDirectory() as folder:
    print(json.dumps({**queues(), **records(folder), **csv()}))


if __name__ == '__main__':
  main()
