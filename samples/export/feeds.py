# SPDX-License-Identifier: Apache-2.0
"""Feed values of a run configuration (`G.run.json`), a pure function of (configuration, step).

Every generated number comes from one counter-based hash, so that any program that implements the few
lines of `_mix` and `uniform` produces the same bits in any order:

  u(seed, step, stream, i) = (mix(mix(mix(mix(seed) ^ step) ^ stream) ^ i) >> 11) * 2^-53

`step` counts the session runs from 0, warm-up included.
"""

import numpy as np

_NUMPY_TYPES = {
    'float32': np.float32,
    'float64': np.float64,
    'int32': np.int32,
    'int64': np.int64,
    'bool': np.bool_,
}

# Streams of the hash. Reviews use one stream a tower and a purpose, ratings read the class stream.
_STREAM_UNIFORM = 0
_STREAM_INTEGERS = 1
_STREAM_CLASS = 100
_STREAM_SIGNAL = 200
_STREAM_WORD = 300


def _mix(x):
  """SplitMix64's finaliser on an array of uint64, modulo 2^64."""
  with np.errstate(over='ignore'):
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def uniform(seed, step, stream, indices):
  """Doubles in [0, 1), one per index."""
  key = np.array([seed], np.uint64)
  for part in (step, stream):
    key = _mix(key) ^ np.uint64(part)
  bits = _mix(_mix(key) ^ np.asarray(indices, np.uint64))
  return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _generate_uniform(feed, step):
  u = uniform(feed['seed'], step, _STREAM_UNIFORM, np.arange(np.prod(feed['shape'], dtype=np.int64)))
  return feed['low'] + (feed['high'] - feed['low']) * u


def _generate_integers(feed, step):
  u = uniform(feed['seed'], step, _STREAM_INTEGERS, np.arange(np.prod(feed['shape'], dtype=np.int64)))
  return (feed['low'] + np.floor((feed['high'] - feed['low']) * u)).astype(np.int64)


def _classes(feed, step, tower, batch):
  return np.floor(feed['classes'] * uniform(feed['seed'], step, _STREAM_CLASS + tower, np.arange(batch)))


def _generate_review(feed, step):
  """Words of reviews: a share `signal` from the block of the review's class, the rest by a cubic law."""
  batch, words = feed['shape']
  seed, tower, block = feed['seed'], feed['tower'], feed['block']
  index = np.arange(batch * words)
  from_class = uniform(seed, step, _STREAM_SIGNAL + tower, index) < feed['signal']
  u = uniform(seed, step, _STREAM_WORD + tower, index)
  signal_word = np.repeat(_classes(feed, step, tower, batch), words) * block + np.floor(block * u)
  other_word = np.floor(feed['vocabulary'] * (u * u * u))
  ids = np.where(from_class, signal_word, other_word).astype(np.int64)
  return np.array([b'%d' % i for i in ids.tolist()], dtype=object)


def _generate_review_rating(feed, step):
  batch = feed['shape'][0]
  top = feed['classes'] - 1
  user, item = (_classes(feed, step, tower, batch) for tower in (0, 1))
  return 1 + 4 * (user / top) * (item / top)


def _generate_polynomial(feed, source):
  x = source.astype(np.float64)
  y = np.zeros_like(x)
  for coefficient in reversed(feed['coefficients']):
    y = y * x + coefficient
  return y


_GENERATORS = {
    'uniform': _generate_uniform,
    'integers': _generate_integers,
    'review': _generate_review,
    'review_rating': _generate_review_rating,
}


def _cast(feed, values):
  values = np.asarray(values).reshape(feed['shape'])
  return values if feed['dtype'] == 'string' else values.astype(_NUMPY_TYPES[feed['dtype']])


def make_feeds(run, step):
  """Returns {feed name: array} of one step of a run configuration."""
  arrays = {}
  dependent = []
  for name, feed in run['feeds'].items():
    if 'values' in feed:
      arrays[name] = _cast(feed, feed['values'])
    elif feed['generator'] == 'polynomial':
      dependent.append(name)
    else:
      arrays[name] = _cast(feed, _GENERATORS[feed['generator']](feed, step))
  for name in dependent:
    feed = run['feeds'][name]
    arrays[name] = _cast(feed, _generate_polynomial(feed, arrays[feed['of']]))
  return arrays
