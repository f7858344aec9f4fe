# SPDX-License-Identifier: Apache-2.0
"""Queues, readers of files that a test can name, and what turns texts and bytes into tensors."""

import zlib

import golden
import numpy as np
import tensorflow.compat.v1 as tf


def _texts(*values):
  return np.array([v.encode() if isinstance(v, str) else v for v in values], object)


def _text(value):
  return golden.Constant(np.array(value, object), object)


def parsing(family):
  rows = _texts('1,2.5,x', ' 3 , -1e3 ,"a ""b"", c"', ',,')
  defaults = [np.array([7], np.int32), np.array([0.5], np.float32), _texts('none')]
  family.op('DecodeCSV/defaults', 'DecodeCSV', records=rows, record_defaults=defaults)
  family.op('DecodeCSV/tabs',
            'DecodeCSV',
            records=_texts('9000000000\t1e-310\tNA', '-1\tinf\tb'),
            record_defaults=[np.array([], np.int64), np.array([], np.float64), _texts('d')],
            field_delim='\t',
            na_value='NA')
  family.op('DecodeCSV/selected',
            'DecodeCSV',
            records=_texts('1,2,3,4', '5,6,7,8').reshape(2, 1),
            record_defaults=[np.array([0], np.int32), np.array([0], np.int64)],
            select_cols=[1, 3])
  family.op('DecodeCSV/plain_quotes',
            'DecodeCSV',
            records=_texts('"a","b"'),
            record_defaults=[_texts(''), _texts('')],
            use_quote_delim=False)
  pieces = _texts('abcdefgh', '\x01\x02\x03\x04\x05\x06\x07\x08')
  for dtype in ('uint8', 'int16', 'int32', 'int64', 'float32', 'float64'):
    family.op(f'DecodeRaw/{dtype}', 'DecodeRaw', bytes=pieces, out_type=tf.as_dtype(dtype))
    family.op(f'DecodeRaw/{dtype}_big', 'DecodeRaw', bytes=pieces, out_type=tf.as_dtype(dtype), little_endian=False)
  for unit, words in (('BYTE', _texts('lanescope', 'trace', 'over')), ('UTF8_CHAR', _texts('lanescope', 'träce', 'über'))):
    for index in (np.int32, np.int64):
      family.op(f'Substr/scalar_{unit}_{index.__name__}',
                'Substr',
                input=words,
                pos=np.array(1, index),
                len=np.array(3, index),
                unit=unit)
    family.op(f'Substr/each_{unit}',
              'Substr',
              input=words,
              pos=np.array([-3, 0, 2], np.int32),
              len=np.array([2, 50, 1], np.int32),
              unit=unit)
    family.op(f'StringLength/{unit}', 'StringLength', input=words, unit=unit)
  family.op('Substr/rows',
            'Substr',
            input=_texts('abc', 'def', 'ghi', 'jkl').reshape(2, 2),
            pos=np.array([0, 1], np.int32),
            len=np.array([1, 2], np.int32))
  lines = _texts('a b  c', '', ' d, e ', 'f')
  for skip in (True, False):
    family.op(f'StringSplit/blanks_{skip}', 'StringSplit', input=lines, delimiter=np.array(b' ', object), skip_empty=skip)
    family.op(f'StringSplit/any_{skip}', 'StringSplit', input=lines, delimiter=np.array(b', ', object), skip_empty=skip)
  family.op('StringSplit/bytes', 'StringSplit', input=_texts('abc', '', 'd'), delimiter=np.array(b'', object))
  for most in (-1, 0, 1):
    family.op(f'StringSplitV2/blanks_{most}', 'StringSplitV2', input=lines, sep=np.array(b'', object), maxsplit=most)
    family.op(f'StringSplitV2/text_{most}',
              'StringSplitV2',
              input=_texts('1<>2<><>3', '<>', '', 'x'),
              sep=np.array(b'<>', object),
              maxsplit=most)
  family.op('StringLower', 'StringLower', input=_texts('AbC-Z', 'Ü'))
  family.op('StringUpper', 'StringUpper', input=_texts('AbC-z', 'ü'))
  family.op('StringStrip', 'StringStrip', input=_texts(' a b\t\n', '', '  '))


def _example(**features):
  """A serialized tf.train.Example; None: a feature without a list."""
  example = tf.train.Example()
  for name, values in features.items():
    feature = example.features.feature[name]
    if values is None:
      continue
    if values and isinstance(values[0], bytes):
      feature.bytes_list.value.extend(values)
    elif values and isinstance(values[0], float):
      feature.float_list.value.extend(values)
    else:
      feature.int64_list.value.extend(values)
  return example.SerializeToString(deterministic=True)


def examples(family):
  a = _example(x=[1.0, 2.0], y=[3, 4, 5], z=[b'p'])
  b = _example(x=[3.0, -4.5], y=[], z=[b'q', b'r'])
  no_list = _example(x=None, y=[-1, 1 << 62])
  nothing = _example()
  unpacked = b'\x0a\x13\x0a\x11\x0a\x01x\x12\x0c\x12\x0a' + b''.join(
      b'\x0d' + np.float32(v).tobytes() for v in (1, 2))
  none = np.array([], np.float32)
  pair = np.array([7, 8], np.float32)
  names = np.array([], object)
  sparse = [('y', tf.int64), ('z', tf.string), ('x', tf.float32)]

  def key(name):
    return np.array(name.encode(), object)

  def many(case, records, dense=(), lists=(), **more):
    """dense: (key, default, shape)."""
    family.op(f'ParseExample/{case}',
              'ParseExample',
              serialized=golden.Constant(_texts(*records) if records else np.array([], object), object),
              names=more.get('names', names),
              sparse_keys=[key(k) for k, _ in lists],
              dense_keys=[key(k) for k, _, _ in dense],
              dense_defaults=[default for _, default, _ in dense],
              sparse_types=[dtype for _, dtype in lists],
              dense_shapes=[tf.TensorShape(shape) for _, _, shape in dense])

  many('dense', [a, b], [('x', none, [2])])
  many('dense_default', [a, nothing, no_list], [('x', pair, [2])])
  many('dense_scalar', [_example(x=[1.5]), _example(x=[2.5])], [('x', none, [])])
  many('dense_longest', [a, nothing, _example(x=[1.0] * 6)], [('x', np.array(-1, np.float32), [None])])
  many('dense_longest_rows', [a, _example(x=[1.0, 2.0, 3.0, 4.0])], [('x', np.array(-1, np.float32), [None, 2])])
  many('dense_texts', [a, b], [('z', np.array(b'-', object), [None])])
  many('sparse', [a, b, nothing, no_list], lists=sparse)
  many('both', [b, a], [('x', none, [2])], sparse[:2], names=_texts('first', 'second'))
  many('none', [], [('x', none, [2])], sparse[:2])
  many('unpacked', [unpacked], [('x', none, [2])])
  many('twice', [a + _example(x=[9.0, 8.0])], [('x', none, [2])], sparse[:2])
  many('twice_sparse', [a + _example(x=[9.0, 8.0, 7.0]), b], lists=sparse)

  def second(case, records, dense=(), lists=(), ragged=()):
    """ragged: (key, value type, split type)."""
    family.op(f'ParseExampleV2/{case}',
              'ParseExampleV2',
              serialized=golden.Constant(records, object),
              names=names,
              sparse_keys=np.array([k.encode() for k, _ in lists], object),
              dense_keys=np.array([k.encode() for k, _, _ in dense], object),
              ragged_keys=np.array([k.encode() for k, _, _ in ragged], object),
              dense_defaults=[default for _, default, _ in dense],
              num_sparse=len(lists),
              sparse_types=[dtype for _, dtype in lists],
              ragged_value_types=[dtype for _, dtype, _ in ragged],
              ragged_split_types=[dtype for _, _, dtype in ragged],
              dense_shapes=[tf.TensorShape(shape) for _, _, shape in dense])

  lengths = [('z', tf.string, tf.int64), ('y', tf.int64, tf.int32)]
  second('vector', _texts(a, b), [('x', none, [2])], sparse[:1], lengths[:1])
  second('ragged', _texts(nothing, b, a, no_list), ragged=lengths)
  second('scalar', np.array(a, object), [('x', none, [2])], sparse[:1], lengths[:1])
  second('scalar_longest', np.array(a, object), [('x', np.array(0, np.float32), [None])])

  def single(case, record, dense=(), lists=()):
    family.op(f'ParseSingleExample/{case}',
              'ParseSingleExample',
              serialized=_text(record),
              dense_defaults=[default for _, default, _ in dense],
              num_sparse=len(lists),
              sparse_keys=[k.encode() for k, _ in lists],
              dense_keys=[k.encode() for k, _, _ in dense],
              sparse_types=[dtype for _, dtype in lists],
              dense_shapes=[tf.TensorShape(shape) for _, _, shape in dense])

  single('all', a, [('x', none, [2])], sparse[:2])
  single('default', nothing, [('x', pair, [2])], sparse[:1])
  single('longest', a, [('y', np.array(9, np.int64), [None])])
  single('longest_missing', nothing, [('y', np.array(9, np.int64), [None])])


def _png(pixels, color, bits=8, extra=b''):
  """A PNG file of rows of bytes."""

  def chunk(kind, data):
    return len(data).to_bytes(4, 'big') + kind + data + zlib.crc32(kind + data).to_bytes(4, 'big')

  height = len(pixels)
  channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[color]
  width = len(pixels[0]) * 8 // (bits * channels)
  header = width.to_bytes(4, 'big') + height.to_bytes(4, 'big') + bytes([bits, color, 0, 0, 0])
  data = zlib.compress(b''.join(b'\0' + bytes(row) for row in pixels))
  return b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', header) + extra + chunk(b'IDAT', data) + chunk(b'IEND', b'')


def pictures(family):
  random = np.random.RandomState(5)

  def rows(width, channels):
    return random.randint(0, 256, (5, width * channels)).astype(np.uint8).tolist()

  palette = bytes(random.randint(0, 256, 12).tolist())
  plte = (12).to_bytes(4, 'big') + b'PLTE' + palette + zlib.crc32(b'PLTE' + palette).to_bytes(4, 'big')
  indices = random.randint(0, 4, (5, 3)).tolist()
  files = {
      'gray': _png(rows(3, 1), 0),
      'gray_alpha': _png(rows(3, 2), 4),
      'rgb': _png(rows(3, 3), 2),
      'rgba': _png(rows(3, 4), 6),
      'palette': _png(indices, 3, extra=plte),
      'gray16': _png(rows(3, 2), 0, 16),
      'rgb16': _png(rows(3, 6), 2, 16),
      'bits': _png(random.randint(0, 256, (5, 2)).tolist(), 0, 1),
  }
  for name, data in files.items():
    for channels in (0, 1, 3, 4):
      family.op(f'DecodePng/{name}_{channels}', 'DecodePng', contents=_text(data), channels=channels)
  for name in ('gray', 'rgb', 'gray16', 'rgb16'):
    family.op(f'DecodePng/{name}_wide', 'DecodePng', contents=_text(files[name]), channels=0, dtype=tf.uint16)
  with tf.Graph().as_default(), tf.Session() as session:
    ramp = np.add.outer(np.arange(24) * 4, np.arange(20) * 5)
    color = np.stack([ramp, 255 - ramp, ramp // 2], -1).astype(np.uint8)
    jpegs = {
        'rgb': session.run(tf.io.encode_jpeg(color, quality=90)),
        'gray': session.run(tf.io.encode_jpeg(color[:, :, :1], quality=80)),
    }
  for name, data in jpegs.items():
    for channels in (0, 1, 3):
      family.op(f'DecodeJpeg/{name}_{channels}', 'DecodeJpeg', contents=_text(data), channels=channels)
    for ratio in (2, 4, 8):
      family.op(f'DecodeJpeg/{name}_by_{ratio}', 'DecodeJpeg', contents=_text(data), ratio=ratio)
    for method in ('INTEGER_FAST', 'INTEGER_ACCURATE'):
      family.op(f'DecodeJpeg/{name}_{method}', 'DecodeJpeg', contents=_text(data), dct_method=method)
  family.op('DecodeJpeg/plain_upscaling', 'DecodeJpeg', contents=_text(jpegs['rgb']), fancy_upscaling=False)


def queues(family):

  def fifo(queue_type, **more):

    def build():
      queue = queue_type(10, dtypes=[tf.float32], name='q', **more)
      queue.enqueue_many([tf.placeholder(tf.float32, [None], name='x')], name='put')
      tf.identity(queue.dequeue(), name='one')
      tf.identity(queue.dequeue_many(2), name='two')
      tf.identity(queue.dequeue_up_to(3), name='up_to_three')
      queue.size(name='size')
      queue.close(name='close')

    return build

  put = ({'x': np.arange(8, dtype=np.float32)}, [], ['put'])
  steps = [put, ({}, ['one:0'], []), ({}, ['two:0'], []), ({}, ['size:0'], []), ({}, [], ['close']),
           ({}, ['up_to_three:0'], []), ({}, ['up_to_three:0'], []), ({}, ['size:0'], [])]
  family.graph('FIFOQueue/steps', fifo(tf.FIFOQueue, shapes=[[]]), steps)
  for seed in (1729, 87539319, 1):
    family.graph(f'RandomShuffleQueue/seed_{seed}',
                 fifo(tf.RandomShuffleQueue, shapes=[[]], min_after_dequeue=2, seed=seed), steps)

  def padding():
    queue = tf.PaddingFIFOQueue(10, dtypes=[tf.int32, tf.string], shapes=[[None, 2], [None]], name='q')
    x = tf.placeholder(tf.int32, [None, 2], name='x')
    text = tf.placeholder(tf.string, [None], name='text')
    queue.enqueue([x, text], name='put')
    numbers, texts = queue.dequeue_many(2)
    tf.identity(numbers, name='numbers')
    tf.identity(texts, name='texts')

  family.graph('PaddingFIFOQueue', padding, [
      ({'x': np.ones([1, 2], np.int32), 'text': _texts('a', 'b')}, [], ['put']),
      ({'x': np.full([3, 2], 5, np.int32), 'text': _texts('c')}, [], ['put']),
      ({}, ['numbers:0', 'texts:0'], []),
  ])

  def identity_reader():
    queue = tf.FIFOQueue(10, [tf.string], name='q')
    queue.enqueue_many([tf.placeholder(tf.string, [None], name='work')], name='put')
    queue.close(name='close')
    reader = tf.IdentityReader()
    key, value = reader.read(queue, name='read')
    tf.identity(key, name='key')
    tf.identity(value, name='value')
    reader.num_records_produced(name='records')
    reader.num_work_units_completed(name='units')

  read = ({}, ['key:0', 'value:0'], [])
  count = ({}, ['records:0', 'units:0'], [])
  family.graph('IdentityReader', identity_reader,
               [count, ({'work': _texts('A', 'B', 'C')}, [], ['put']), ({}, [], ['close']), read, count, read, read, count])


FAMILIES = {'parsing': parsing, 'examples': examples, 'pictures': pictures, 'queues': queues}
