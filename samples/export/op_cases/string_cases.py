# SPDX-License-Identifier: Apache-2.0
"""Conversions of strings and look-ups in tables."""

import numpy as np

import tensorflow.compat.v1 as tf
import word_table


def strings(family):
  for dtype in ('int32', 'int64'):
    values = np.array([0, -1, 42, 89999, -2**31, 2**31 - 1], dtype)
    family.op(f'AsString/{dtype}', 'AsString', input=values)
    family.op(f'AsString/{dtype}_width', 'AsString', input=values, width=6, fill='0')
  for dtype in ('float32', 'float64'):
    values = np.array([0, -1.5, 3.25, 1e10, 1e-7, np.nan, np.inf, -np.inf, 1 / 3], dtype)
    family.op(f'AsString/{dtype}', 'AsString', input=values)
    family.op(f'AsString/{dtype}_precision', 'AsString', input=values, precision=3)
    family.op(f'AsString/{dtype}_scientific', 'AsString', input=values, scientific=True)
    family.op(f'AsString/{dtype}_shortest', 'AsString', input=values, shortest=True)
  family.op('AsString/bool', 'AsString', input=np.array([[True], [False]]))
  family.op('StringJoin/two',
            'StringJoin',
            inputs=[np.array([b'a', b'b'], object),
                    np.array([b'c', b''], object)],
            separator='-')
  for dtype, text in (('float32', [b'1.5', b' -2e3',
                                   b'inf']), ('int32', [b'7', b'-12', b'0']), ('int64', [b'9000000000'] * 3)):
    family.op(f'StringToNumber/{dtype}',
              'StringToNumber',
              string_tensor=np.array(text, object),
              out_type=tf.as_dtype(dtype))
  # Every branch of the hash, by the length of the text.
  texts = [bytes(33 + (7 * i + length) % 90 for i in range(length)) for length in (0, 1, 3, 4, 7, 8, 9, 16, 17, 32,
                                                                               33, 64, 65, 128, 300)]
  for buckets in (1, 10, 2**40 + 1, 2**63 - 1):
    family.op(f'StringToHashBucketFast/{buckets}',
              'StringToHashBucketFast',
              input=np.array(texts, object).reshape(3, 5),
              num_buckets=buckets)
  family.op('StringToHashBucketFast/empty', 'StringToHashBucketFast', input=np.zeros([0, 2], object), num_buckets=3)
  _tables(family)


def _tables(family):

  def build_index():
    words = tf.as_string(tf.range(12))
    table = word_table.build(words)
    tf.identity(table.lookup(tf.placeholder(tf.string, [None, 2], name='words')), name='ids')
    return [tf.tables_initializer()]

  feeds = [np.array(v, object) for v in ([[b'3', b'11'], [b'x', b'']], [[b'0', b'012']])]
  steps = [({
      'words': v
  }, ['ids:0'], []) for v in feeds] + [({
      'words': np.zeros([0, 2], object)
  }, ['ids:0'], [])]
  family.graph('LookupTableFindV2/index_of_numbers', build_index, steps)

  def build_table(keys, values, default, reference=False):
    make = tf.raw_ops.HashTable if reference else tf.raw_ops.HashTableV2
    initialise = tf.raw_ops.InitializeTable if reference else tf.raw_ops.InitializeTableV2
    find = tf.raw_ops.LookupTableFind if reference else tf.raw_ops.LookupTableFindV2
    size = tf.raw_ops.LookupTableSize if reference else tf.raw_ops.LookupTableSizeV2
    table = make(key_dtype=tf.as_dtype(keys.dtype),
                 value_dtype=tf.as_dtype(values.dtype),
                 shared_name='table')
    init = initialise(table_handle=table, keys=tf.constant(keys), values=tf.constant(values))
    find(table_handle=table,
         keys=tf.placeholder(tf.as_dtype(keys.dtype), [3], name='keys'),
         default_value=tf.constant(default, tf.as_dtype(values.dtype)),
         name='find')
    size(table_handle=table, name='size')
    return [init]

  words = np.array([b'a', b'b', b'a\x00'[:1] + b'c'], object)
  ids = np.array([7, 8, 9], np.int64)
  for label, keys, values, default, query, reference in (('words', words, ids, -1,
                                                          np.array([b'ac', b'z', b'a'], object), False),
                                                         ('words_reference', words, ids, -1,
                                                          np.array([b'b', b'z', b'a'], object),
                                                          True), ('numbers_to_words', ids, words, b'none',
                                                                  np.array([9, 0, 7], np.int64), False)):
    if not reference or label == 'words_reference':
      family.graph(f'HashTable/{label}',
                   lambda k=keys, v=values, d=default, r=reference: build_table(k, v, d, r), [({
                       'keys': query
                   }, ['find:0', 'size:0'], [])])


def summaries(family):
  """Values whose bytes are text, since that is how strings are recorded."""
  tags = np.array([b'loss', b'rate'], object)
  family.op('ScalarSummary', 'ScalarSummary', tags=tags, values=np.array([2.0, 0.5], np.float32))
  family.op('ScalarSummary/one', 'ScalarSummary', tags=np.array(b'x', object), values=np.array(8.0))
  family.op('ScalarSummary/int', 'ScalarSummary', tags=np.array([], object), values=np.array([], np.int64))

  def merged():
    x = tf.placeholder(tf.float32, [], name='x')
    tf.raw_ops.MergeSummary(inputs=[tf.summary.scalar('a', x), tf.summary.scalar('b', x * 4.0)], name='merged')

  family.graph('MergeSummary', merged, [({'x': np.array(2.0, np.float32)}, ['merged:0'], [])])


FAMILIES = {'strings': strings, 'summaries': summaries}
