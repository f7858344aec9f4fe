# SPDX-License-Identifier: Apache-2.0
"""A table from words to their row, as `index_table_from_tensor` builds it, but with a name that stays.

TensorFlow names an unnamed table by a random identifier, so that two exports of one model would differ.
"""

import tensorflow.compat.v1 as tf


class _NamedInitializer(tf.lookup.KeyValueTensorInitializer):
  _shared_name = 'words'


def build(words):
  """Returns a table that maps words[i] to i and every other word to 0."""
  with tf.name_scope('string_to_index'):
    rows = tf.cast(tf.range(tf.size(words)), tf.int64)
    with tf.name_scope('hash_table'):
      return tf.lookup.StaticHashTable(_NamedInitializer(words, rows), default_value=0)
