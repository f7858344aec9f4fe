#!/usr/bin/env python3
"""How well steps of several processes are predicted: cluster.py [--ranks 2,4] [--rounds N] [--steps N].

For 2 and for 4 processes of this computer, whose network is emulated (samples/machines), `mpirun -n N lanescope
compare` calibrates on the first placement and predicts the others, of DeepCoNN and of mirrored training. Rows with a
star calibrated the predictions; the others count. Wants a quiet machine; takes some minutes.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MACHINES = {2: 'two-tasks', 4: 'four-tasks'}
GRAPHS = {
    'deepconn_dual': {2: ['tower-split', 'alternating', 'heft', 'single'],
                      4: ['round-robin', 'tower-split', 'heft', 'single']},
    'mirrored': {2: ['annotated', 'alternating', 'single'], 4: ['annotated', 'alternating', 'single']},
}
NAMES = {2: 'two', 4: 'four'}


def compare(program, graph, ranks, options):
  """The rows of one comparison, by the processes that it measures."""
  name = f'mirrored_{NAMES[ranks]}' if graph == 'mirrored' else graph
  command = [
      'mpirun', '--oversubscribe', '--bind-to', 'none', '-n', str(ranks), program, 'compare',
      f'{ROOT}/samples/graphs/{name}.pbtxt:{",".join(GRAPHS[graph][ranks])}', '--machine',
      f'{ROOT}/samples/machines/{MACHINES[ranks]}.json', '--rounds', str(options.rounds), '--steps',
      str(options.steps), '--json'
  ]
  environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1')
  done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                        check=False)
  if not done.stdout:
    sys.exit(f'{" ".join(command)}\n{done.stderr}')
  return json.loads(done.stdout)['rows']


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--ranks', default='2,4', help='processes (default: 2,4)')
  parser.add_argument('--rounds', type=int, default=6)
  parser.add_argument('--steps', type=int, default=8)
  parser.add_argument('--program', default=str(ROOT / 'build/release/bin/lanescope'))
  options = parser.parse_args()
  print(f'{"ranks":5}  {"row":28}  {"measured":>10}  {"predicted":>10}  {"error":>7}   {"noise":>6}  disturbed')
  held_out = {}
  for ranks in map(int, options.ranks.split(',')):
    for graph in GRAPHS:
      for row in compare(options.program, graph, ranks, options):
        label = f'{row["graph"].split(".")[0]} {row["strategy"]}'
        if row['failed'] or not row['measured']:
          print(f'{ranks:5}  {label:28}  {row["failed"]}')
          continue
        measured, predicted = row['measured']['step_ns']['median'], row['predicted']['step_ns']['value']
        disturbed = row['measured']['disturbed']
        print(f'{ranks:5}  {label:28}  {measured / 1e6:7.2f} ms  {predicted / 1e6:7.2f} ms  {100 * row["error"]:+6.1f}%'
              f'{"*" if row["in_sample"] else " "}  {100 * row["noise"]:5.1f}%  {disturbed["steps"]} of '
              f'{disturbed["of"]}{"" if disturbed["quiet"] else ", hardly any quiet stretch"}', flush=True)
        if not row['in_sample']:
          held_out.setdefault(ranks, []).append(abs(row['error']))
  for ranks, errors in held_out.items():
    print(f'{ranks} ranks: {len(errors)} held-out rows, mean error {100 * sum(errors) / len(errors):.1f}%, '
          f'worst {100 * max(errors):.1f}%, {sum(error <= 0.05 for error in errors)} within 5%')


if __name__ == '__main__':
  main()
