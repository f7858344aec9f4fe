#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How well steps of several processes are predicted: cluster.py [--ranks 2,4] [--network 12.5MB/s,1GB/s] [--rounds N] [--traces FOLDER].

For 2 and for 4 processes of this computer, whose network is emulated (samples/machines, with links and a network
interface of each task of --network), `mpirun -n N lanescope compare` calibrates on one device and predicts the other
placements, of DeepCoNN and of mirrored training. The rounds form repeats, each calibrated and predicted by itself: what
counts is the median of their errors, for the machine is not as fast in one minute as in the next. Rows with a star
calibrated the predictions; of the others those count whose tasks send each other messages: the rest are steps of one
process. Wants a quiet machine; takes some minutes.
"""

import argparse
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MACHINES = {2: 'two-tasks', 4: 'four-tasks'}
GRAPHS = {
    'deepconn_dual': {2: ['single', 'tower-split', 'alternating', 'heft'],
                      4: ['single', 'round-robin', 'tower-split', 'heft']},
    'mirrored': {2: ['single', 'annotated', 'alternating'], 4: ['single', 'annotated', 'alternating']},
}
NAMES = {2: 'two', 4: 'four'}


def throttled(ranks, bandwidth):
  """The machine file of so many tasks, all that they send or receive through an interface of that bandwidth."""
  machine = json.loads((ROOT / f'samples/machines/{MACHINES[ranks]}.json').read_text())
  tasks = sorted({device['name'].rsplit('/', 1)[0] for device in machine['devices']})
  for link in machine['links']:
    if len({end.rsplit('/', 1)[0] for end in link['between']}) == 2:
      link['bandwidth'] = bandwidth
  machine['nics'] = [{'tasks': [task], 'bandwidth': bandwidth} for task in tasks]
  return machine


def compare(program, graph, ranks, network, machine, options):
  """The rows of one comparison, by the processes that it measures."""
  name = f'mirrored_{NAMES[ranks]}' if graph == 'mirrored' else graph
  command = [
      'mpirun', '--oversubscribe', '--bind-to', 'none', '-n', str(ranks), program, 'compare',
      f'{ROOT}/samples/graphs/{name}.pbtxt:{",".join(GRAPHS[graph][ranks])}', '--machine',
      machine, '--rounds', str(options.rounds), '--repeats', str(options.repeats),
      '--steps', str(options.steps), '--json'
  ]
  if options.traces:
    trace = pathlib.Path(options.traces, f'{graph}_{ranks}_{network.replace("/", "p")}.db')
    trace.unlink(missing_ok=True)
    command += ['--trace', str(trace)]
  environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1')
  done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                        check=False)
  if not done.stdout:
    sys.exit(f'{" ".join(command)}\n{done.stderr}')
  if options.traces:
    trace.with_suffix('.json').write_text(done.stdout)
  return json.loads(done.stdout)['rows']


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--ranks', default='2,4', help='processes (default: 2,4)')
  parser.add_argument('--network', default='12.5MB/s,125MB/s,1GB/s', help='bandwidths (default: 100 Mbit/s, 1 Gbit/s, 1 GB/s)')
  parser.add_argument('--rounds', type=int, default=6)
  parser.add_argument('--repeats', type=int, default=3)
  parser.add_argument('--steps', type=int, default=8)
  parser.add_argument('--traces', help='keep what is recorded in this folder')
  parser.add_argument('--program', default=str(ROOT / 'build/release/bin/lanescope'))
  options = parser.parse_args()
  if options.traces:
    os.makedirs(options.traces, exist_ok=True)
  print(f'{"ranks":5}  {"network":8}  {"row":28}  {"messages":>8}  {"measured":>10}  {"predicted":>10}  {"error":>7}   '
        f'{"of repeats":24} {"noise":>6}  disturbed')
  held_out = {}
  with tempfile.TemporaryDirectory() as folder:
    for ranks, network, graph in itertools.product(
        map(int, options.ranks.split(',')), options.network.split(','), GRAPHS):
      machine = pathlib.Path(folder, 'machine.json')
      machine.write_text(json.dumps(throttled(ranks, network)))
      for row in compare(options.program, graph, ranks, network, str(machine), options):
        label = f'{ranks:5}  {network:8}  ' + f'{row["graph"].split(".")[0]} {row["strategy"]}'.ljust(28)
        if row['failed'] or not row['measured']:
          print(f'{label}  {row["failed"]}')
          continue
        measured, predicted = row['measured']['step_ns']['median'], row['predicted']['step_ns']['value']
        disturbed, messages = row['measured']['disturbed'], round(row['between_tasks']['messages'])
        repeats = [repeat['error'] for repeat in row['repeats']]
        error = statistics.median(repeats)
        print(f'{label}  {messages:8}  {measured / 1e6:7.2f} ms  {predicted / 1e6:7.2f} ms  {100 * error:+6.1f}%'
              f'{"*" if row["in_sample"] else " "}  {", ".join(f"{100 * one:+.1f}" for one in repeats):24} {100 * row["noise"]:5.1f}%  {disturbed["steps"]} of '
              f'{disturbed["of"]}{"" if disturbed["quiet"] else ", hardly any quiet stretch"}', flush=True)
        if not row['in_sample'] and messages > 0:
          held_out.setdefault((ranks, network), []).append(abs(error))
  for (ranks, network), errors in held_out.items():
    print(f'{ranks} ranks, {network}: {len(errors)} held-out rows with messages, mean error {100 * sum(errors) / len(errors):.1f}%, '
          f'worst {100 * max(errors):.1f}%, {sum(error <= 0.05 for error in errors)} within 5%')


if __name__ == '__main__':
  main()
