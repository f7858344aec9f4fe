#!/usr/bin/env python3
"""The same training step by Lanescope and by TensorFlow on the CPU: same graph file, feeds and number of threads.

Runs the two in turn, several rounds, and prints the median step time of each and the ratio round by round.

  bench/peers/step_beside_tensorflow.py samples/graphs/deepconn_single.pbtxt --threads 1 --python tf/bin/python

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


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('graph')
  parser.add_argument('--threads', type=int, choices=(1, 2), default=1)
  parser.add_argument('--steps', type=int, default=20)
  parser.add_argument('--rounds', type=int, default=5)
  parser.add_argument('--python', default='python3')
  parser.add_argument('--lanescope', default=str(ROOT / 'build/release/bin/lanescope'))
  args = parser.parse_args()

  machine = ROOT / 'samples/machines' / ('host-1-worker.json' if args.threads == 1 else 'host-2-workers.json')
  ours = [args.lanescope, 'run', args.graph, '--machine', str(machine), '--steps', str(args.steps), '--warmup', '3', '--json']
  theirs = [args.python, str(ROOT / 'bench/peers/tensorflow_step.py'), args.graph, '--intra', str(args.threads), '--inter',
            str(args.threads), '--steps', str(args.steps)]
  times = {'lanescope': [], 'tensorflow': []}
  for _ in range(args.rounds):
    times['lanescope'].append(run_json(ours)['step_ns']['median'] / 1e6)
    times['tensorflow'].append(run_json(theirs)['median'] / 1e6)
  ratios = [a / b for a, b in zip(times['lanescope'], times['tensorflow'])]
  for name, values in times.items():
    print(f'{name:<11} {statistics.median(values):8.2f} ms  ({min(values):.2f} to {max(values):.2f} over {args.rounds} rounds)')
  print(f'ratio       {statistics.median(ratios):8.3f}     ({min(ratios):.3f} to {max(ratios):.3f})')


if __name__ == '__main__':
  main()
