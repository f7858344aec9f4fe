# SPDX-License-Identifier: Apache-2.0
"""Writes the graphs of samples/pipelines whose models take their input from files, and the files.

cifar10_binary     records of CIFAR-10's binary format, shuffled and batched, for a tower on each of two GPUs
deepconn_tfrecord  reviews as tf.train.Example records of a TFRecord file, parsed batch by batch
deepconn_csv       the same as lines of comma-separated values, parsed one by one

Usage: input_pipelines.py [--check STEPS] [--records N] [--folder FOLDER] [NAME...]
  --check: runs so many steps of each in TensorFlow, too; --records, --folder: more data, elsewhere
"""

import argparse

import sample_graphs

import numpy as np
import tensorflow.compat.v1 as tf

import cifar10
import deepconn
import feeds

FOLDER = sample_graphs.REPOSITORY / 'samples' / 'pipelines'
# Paths in a graph are taken from where the program runs: from the root of the repository.
DATA = 'samples/pipelines'
SEED = 20

CIFAR_RECORDS = 48
CIFAR_HEIGHT = CIFAR_WIDTH = 32
CIFAR_READERS = 2
CIFAR_BATCH = 32

REVIEW_RECORDS = 32
REVIEW_READERS = 2


def write_cifar10(path, records):
  """A label, and the pixels of an image whose brightness depends on it: 3 planes of 32 rows."""
  random = np.random.RandomState(SEED)
  with open(path, 'wb') as file:
    for _ in range(records):
      label = random.randint(cifar10.CLASSES)
      plane = np.add.outer(np.arange(CIFAR_HEIGHT), np.arange(CIFAR_WIDTH)) * 2 + 10 * label
      image = np.stack([plane, 255 - plane, plane // 2]) + random.randint(0, 16, (3, 1, CIFAR_WIDTH))
      file.write(bytes([label]) + np.clip(image, 0, 255).astype(np.uint8).tobytes())


def _queue_runners(graph, run):
  run['queue_runners'] = [{
      'queue': runner.enqueue_ops[0].inputs[0].op.name,
      'enqueue': [op.name for op in runner.enqueue_ops],
      'close': runner.close_op.name,
      'cancel': runner.cancel_op.name,
  } for runner in graph.get_collection(tf.GraphKeys.QUEUE_RUNNERS)]
  return run


def _standardised(image):
  """per_image_standardization: mean 0, and a deviation of 1 unless the image is all alike."""
  mean = tf.reduce_mean(image)
  variance = tf.reduce_mean(tf.square(image)) - tf.square(mean)
  deviation = tf.sqrt(tf.nn.relu(variance))
  least = 1.0 / np.sqrt(cifar10.IMAGE * cifar10.IMAGE * 3)
  return (image - mean) / tf.maximum(deviation, least)


def _cifar10_example(data):
  files = tf.train.string_input_producer([data], shuffle=False, name='files')
  reader = tf.FixedLengthRecordReader(record_bytes=1 + 3 * CIFAR_HEIGHT * CIFAR_WIDTH)
  _, value = reader.read(files)
  record = tf.decode_raw(value, tf.uint8)
  label = tf.reshape(tf.cast(tf.strided_slice(record, [0], [1]), tf.int32), [])
  planes = tf.reshape(tf.strided_slice(record, [1], [1 + 3 * CIFAR_HEIGHT * CIFAR_WIDTH]),
                      [3, CIFAR_HEIGHT, CIFAR_WIDTH])
  image = tf.cast(tf.transpose(planes, [1, 2, 0]), tf.float32)
  border = (CIFAR_HEIGHT - cifar10.IMAGE) // 2
  image = tf.slice(image, [border, border, 0], [cifar10.IMAGE, cifar10.IMAGE, 3])
  image.set_shape([cifar10.IMAGE, cifar10.IMAGE, 3])
  return _standardised(image), label


def cifar10_binary(data_folder, records):
  data = f'{data_folder}/cifar10.bin'
  write_cifar10(sample_graphs.REPOSITORY / data, records or CIFAR_RECORDS)

  def inputs(towers):
    image, label = _cifar10_example(data)
    images, labels = tf.train.shuffle_batch([image, label],
                                            batch_size=CIFAR_BATCH,
                                            num_threads=CIFAR_READERS,
                                            capacity=256 + 3 * CIFAR_BATCH,
                                            min_after_dequeue=256,
                                            seed=SEED,
                                            name='examples')
    batches = tf.FIFOQueue(2 * towers, [tf.float32, tf.int32],
                           shapes=[images.shape, labels.shape],
                           name='batches')
    tf.train.add_queue_runner(tf.train.QueueRunner(batches, [batches.enqueue([images, labels])]))
    return lambda: [batches.dequeue() for _ in range(towers)]

  graph, run = cifar10.build(2, inputs, feeds=False)
  return graph, run


def _reviews(records):
  """The reviews and ratings that the fed samples have in their first steps."""
  _, run = deepconn.build('dual')
  batches = [feeds.make_feeds(run, step) for step in range((records + deepconn.BATCH - 1) // deepconn.BATCH)]
  return [np.concatenate([batch[name] for batch in batches])[:records]
          for name in ('user_reviews', 'item_reviews', 'labels')]


def _any_batch(tensor):
  """The same; the graph does not say of how many examples, so that another batch size can be tried."""
  return tf.placeholder_with_default(tensor, [None, *tensor.shape.as_list()[1:]])


def _bytes(values):
  return [v if isinstance(v, bytes) else str(v).encode() for v in values]


def deepconn_tfrecord(data_folder, records):
  data = f'{data_folder}/reviews.tfrecord.gz'
  gzip = tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)
  with tf.python_io.TFRecordWriter(str(sample_graphs.REPOSITORY / data), gzip) as writer:
    for user, item, rating in zip(*_reviews(records or REVIEW_RECORDS)):
      example = tf.train.Example()
      example.features.feature['user'].bytes_list.value.extend(_bytes(user))
      example.features.feature['item'].bytes_list.value.extend(_bytes(item))
      example.features.feature['rating'].float_list.value.append(float(rating[0]))
      writer.write(example.SerializeToString(deterministic=True))

  def inputs():
    with tf.device('/cpu:0'):
      files = tf.train.string_input_producer([data], shuffle=False, name='files')
      reader = tf.TFRecordReader(options=gzip)
      _, record = reader.read(files)
      serialized = tf.train.shuffle_batch([record],
                                          batch_size=deepconn.BATCH,
                                          num_threads=REVIEW_READERS,
                                          capacity=4 * deepconn.BATCH,
                                          min_after_dequeue=deepconn.BATCH,
                                          seed=SEED,
                                          name='records')
      features = tf.parse_example(
          _any_batch(serialized), {
              'user': tf.FixedLenFeature([deepconn.WORDS], tf.string),
              'item': tf.FixedLenFeature([deepconn.WORDS], tf.string),
              'rating': tf.FixedLenFeature([1], tf.float32),
          })
    return features['user'], features['item'], features['rating']

  return deepconn.build('dual', inputs=inputs)


def deepconn_csv(data_folder, records):
  data = f'{data_folder}/reviews.csv'
  with open(sample_graphs.REPOSITORY / data, 'wb') as file:
    for user, item, rating in zip(*_reviews(records or REVIEW_RECORDS)):
      words = [b' '.join(_bytes(words)) for words in (user, item)]
      file.write(b'%d,%s,%s\n' % (int(rating[0]), *words))

  def words(text):
    pieces = tf.string_split([text]).values
    return tf.reshape(pieces, [deepconn.WORDS])

  def inputs():
    with tf.device('/cpu:0'):
      files = tf.train.string_input_producer([data], shuffle=False, name='files')
      reader = tf.TextLineReader()
      _, line = reader.read(files)
      rating, user, item = tf.decode_csv(line, record_defaults=[[0.0], [''], ['']])
      batch = tf.train.shuffle_batch([words(user), words(item), tf.reshape(rating, [1])],
                                     batch_size=deepconn.BATCH,
                                     num_threads=REVIEW_READERS,
                                     capacity=4 * deepconn.BATCH,
                                     min_after_dequeue=deepconn.BATCH,
                                     seed=SEED,
                                     name='examples')
      return [_any_batch(tensor) for tensor in batch]

  return deepconn.build('dual', inputs=inputs)


BUILDERS = {
    'cifar10_binary': cifar10_binary,
    'deepconn_tfrecord': deepconn_tfrecord,
    'deepconn_csv': deepconn_csv,
}


def check(graph, run, steps):
  with sample_graphs.plain_session(graph) as session:
    sample_graphs.initialise(session, run)
    coordinator = tf.train.Coordinator()
    with graph.as_default():
      threads = tf.train.start_queue_runners(session, coordinator)
    losses = [sample_graphs.run_step(session, run, {})[run['fetches'][0]] for _ in range(steps)]
    coordinator.request_stop()
    coordinator.join(threads)
  return losses


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('names', nargs='*')
  parser.add_argument('--check', type=int, default=0, metavar='STEPS')
  parser.add_argument('--records', type=int)
  parser.add_argument('--folder', default=DATA)
  arguments = parser.parse_args()
  for name in arguments.names or BUILDERS:
    graph, run = BUILDERS[name](arguments.folder, arguments.records)
    run = _queue_runners(graph, run)
    sample_graphs.save(name, graph, run, sample_graphs.REPOSITORY / arguments.folder)
    if arguments.check:
      losses = check(graph, run, arguments.check)
      print(f'{name}: loss {losses[0]} to {losses[-1]}', flush=True)


if __name__ == '__main__':
  main()
