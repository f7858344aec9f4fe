#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Queues, readers and parsers of Lanescope and of TensorFlow on the same data: rates by processor time, one thread.

  bench/peers/input_beside_tensorflow.py --python tf/bin/python

--python names an interpreter that has TensorFlow 2.15.
"""

import argparse
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def ours(programs):
  rates = {}
  for name in ('bench_queues', 'bench_readers'):
    result = subprocess.run([str(programs / name), '--benchmark_format=json', '--benchmark_repetitions=5',
                             '--benchmark_report_aggregates_only=false'],
                            check=True, capture_output=True, text=True)
    for run in json.loads(result.stdout)['benchmarks']:
      if run['run_type'] != 'iteration':
        continue
      rate = run.get('bytes_per_second', run.get('items_per_second'))
      rates[run['run_name']] = max(rate, rates.get(run['run_name'], 0))
  return rates


def text(name, rate):
  if rate is None:
    return '-'
  return f'{rate / 1e6:.1f} MB/s' if 'Queue' not in name else f'{rate / 1e6:.2f} M/s'


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--python', default='python3')
  parser.add_argument('--programs', type=pathlib.Path, default=ROOT / 'build/release/bin')
  args = parser.parse_args()
  theirs = json.loads(
      subprocess.run([args.python, str(ROOT / 'bench/peers/tensorflow_input.py')],
                     check=True, capture_output=True, text=True).stdout)
  print(f'{"benchmark":<28}{"lanescope":>14}{"tensorflow":>14}{"ratio":>8}')
  for name, rate in ours(args.programs).items():
    other = theirs.get(name)
    ratio = f'{rate / other:.1f}' if other else '-'
    print(f'{name:<28}{text(name, rate):>14}{text(name, other):>14}{ratio:>8}')


if __name__ == '__main__':
  main()
