#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same training steps by Lanescope and by TensorFlow on the CPU: same graph files, feeds and number of threads.

Runs them in turn, several rounds, and prints for each graph the median step time of each (over the rounds) and the
ratio round by round. With --fusion also the step whose nodes share launches, and what it takes of TensorFlow's and of the
other. On a machine that has other work --least takes the shortest step of each run. export_networks.py writes more graphs
than samples/graphs has.

  bench/peers/step_beside_tensorflow.py samples/graphs/deepconn_single.pbtxt build/networks/*.pbtxt --python tf/bin/python

--python names an interpreter that has TensorFlow 2.15.
"""

import argparse
import json
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
RATIOS = (('lanescope', 'tensorflow'), ('fused', 'tensorflow'), ('fused', 'lanescope'))


def run_json(command):
  result = subprocess.run(command, check=True, capture_output=True, text=True)
  return json.loads(result.stdout)


def compare(graph, args):
  machine = ROOT / 'samples/machines' / ('host-1-worker.json' if args.threads == 1 else 'host-2-workers.json')
  steps = ['--steps', str(args.steps), '--warmup', str(args.warmup)]
  ours = [args.lanescope, 'run', graph, '--machine', str(machine), *steps, '--json']
  threads = ['--intra', str(args.threads), '--inter', str(args.threads)]
  theirs = [args.python, str(ROOT / 'bench/peers/tensorflow_step.py'), graph, *threads, *steps]
  figure = 'min' if args.least else 'median'
  times = {'lanescope': [], 'tensorflow': []} | ({'fused': []} if args.fusion else {})
  for _ in range(args.rounds):
    times['lanescope'].append(run_json(ours)['step_ns'][figure] / 1e6)
    times['tensorflow'].append(run_json(theirs)[figure] / 1e6)
    if args.fusion:
      times['fused'].append(run_json([*ours, '--fusion'])['step_ns'][figure] / 1e6)
  columns = [f'{statistics.median(v):9.2f} ({min(v):.2f} to {max(v):.2f})' for v in times.values()]
  for above, below in RATIOS[:None if args.fusion else 1]:
    ratios = [a / b for a, b in zip(times[above], times[below])]
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
  parser.add_argument('--fusion', action='store_true', help='run steps with fused launches, too')
  parser.add_argument('--least', action='store_true', help='the shortest step of each run instead of the median')
  args = parser.parse_args()
  names = ['lanescope, ms', 'tensorflow, ms', 'ratio']
  if args.fusion:
    names[2:] = ['fused, ms', 'ratio', 'fused / tensorflow', 'fused / lanescope']
  print(f'{"graph":<22}' + ''.join(f'{name:<32}' for name in names))
  for graph in args.graphs:
    compare(graph, args)


if __name__ == '__main__':
  main()
