#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same training steps by Lanescope and by TensorFlow on the CPU: same graph files, feeds and number of threads.

Runs the two in turn, several rounds, and prints for each graph the median step time of each (over the rounds) and the
ratio round by round. export_networks.py writes more graphs than samples/graphs has.

  bench/peers/step_beside_tensorflow.py samples/graphs/deepconn_single.pbtxt build/networks/*.pbtxt --python tf/bin/python

--python names an interpreter that has TensorFlow 2.15.
"""

import argparse
import json
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run_json(command):
  result = subprocess.run(command, check=True, capture_output=True, text=True)
  return json.loads(result.stdout)


def compare(graph, args):
  machine = ROOT / 'samples/machines' / ('host-1-worker.json' if args.threads == 1 else 'host-2-workers.json')
  steps = ['--steps', str(args.steps), '--warmup', str(args.warmup)]
  ours = [args.lanescope, 'run', graph, '--machine', str(machine), *steps, '--json']
  threads = ['--intra', str(args.threads), '--inter', str(args.threads)]
  theirs = [args.python, str(ROOT / 'bench/peers/tensorflow_step.py'), graph, *threads, *steps]
  times = {'lanescope': [], 'tensorflow': []}
  for _ in range(args.rounds):
    times['lanescope'].append(run_json(ours)['step_ns']['median'] / 1e6)
    times['tensorflow'].append(run_json(theirs)['median'] / 1e6)
  ratios = [a / b for a, b in zip(times['lanescope'], times['tensorflow'])]
  columns = [f'{statistics.median(v):9.2f} ({min(v):.2f} to {max(v):.2f})' for v in times.values()]
  columns.append(f'{statistics.median(ratios):6.3f} ({min(ratios):.3f} to {max(ratios):.3f})')
  print(f'{pathlib.Path(graph).stem:<22}' + ''.join(f'{column:<32}' for column in columns), flush=True)


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('graphs', nargs='+')
  parser.add_argument('--threads', type=int, choices=(1, 2), default=1)
  parser.add_argument('--steps', type=int, default=20)
  parser.add_argument('--warmup', type=int, default=3)
  parser.add_argument('--rounds', type=int, default=5)
  parser.add_argument('--python', default='python3')
  parser.add_argument('--lanescope', default=str(ROOT / 'build/release/bin/lanescope'))
  args = parser.parse_args()
  print(f'{"graph":<22}{"lanescope, ms":<32}{"tensorflow, ms":<32}ratio')
  for graph in args.graphs:
    compare(graph, args)


if __name__ == '__main__':
  main()
