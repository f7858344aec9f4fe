# SPDX-License-Identifier: Apache-2.0
"""Writes every sample graph and its run configuration, then runs each from its file.

Usage: export_graphs.py [--check STEPS] [NAME...]
"""

import argparse

import sample_graphs

import cifar10
import deepconn
import device_examples
import polynomial


def _builders():
  builders = {}
  for placement in deepconn.PLACEMENTS:
    builders[f'deepconn_{placement}'] = lambda p=placement: deepconn.build(p)
  for placement in ('dual', 'alternating'):
    builders[f'deepconn_{placement}_colocated'] = lambda p=placement: deepconn.build(p, True)
  builders['polynomial'] = lambda: polynomial.build(False)
  builders['polynomial_parallel'] = lambda: polynomial.build(True)
  builders['cifar10_single'] = lambda: cifar10.build(1)
  builders['cifar10_towers'] = lambda: cifar10.build(2)
  for example in device_examples.NAMES:
    builders[example] = lambda e=example: device_examples.build(e)
  return builders


def _check(name, steps):
  """Reads the files back and runs some steps; prints first and last loss."""
  path = sample_graphs.GRAPH_DIR / f'{name}.pbtxt'
  run = sample_graphs.load_run(path)
  with sample_graphs.plain_session(sample_graphs.import_graph(path)) as session:
    sample_graphs.initialise(session, run)
    values = []
    for step in range(steps):
      result = sample_graphs.run_step(session, run, sample_graphs.step_feeds(run, step))
      values.append(result[run['fetches'][0]])
  first, last = (v if v.size == 1 else v.sum() for v in (values[0], values[-1]))
  print(f'{name}: {path.stat().st_size} bytes, {run["fetches"][0]} step 0: {first}, step {steps - 1}: {last}',
        flush=True)


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument('names', nargs='*')
  parser.add_argument('--check', type=int, default=1, metavar='STEPS')
  arguments = parser.parse_args()
  builders = _builders()
  for name in arguments.names or builders:
    sample_graphs.save(name, *builders[name]())
    if arguments.check:
      _check(name, arguments.check)


if __name__ == '__main__':
  main()
