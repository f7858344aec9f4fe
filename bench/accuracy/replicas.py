#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Synchronous or asynchronous training with a slow worker, predicted and measured: replicas.py FOLDER [--ratios 1,2]
[--rounds N].

FOLDER has the graphs that samples/cpp/replicas.cpp writes: one parameter server, two workers, 1 MB of variables. The first
worker's link carries --bandwidth, the second one's that divided by each ratio r; both are emulated. Printed are gradients a
second, of which one that others made s updates between its reading and its update counts for 1/(1+s), and the r from which
on it pays to wait for the second worker no more. Predicted is what `lanescope simulate` says of a worker's step and of the
chief's update, without calibration. Wants a quiet machine; a round takes a minute and a half.
"""

import argparse
import array
import ast
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MACHINE = ROOT / 'samples/machines/one-ps-two-workers.json'
SERVER = '/job:ps'


def run(command):
  """What the command prints."""
  environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1')
  done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                        check=False)
  if done.returncode != 0:
    sys.exit(f'{" ".join(command)}\n{done.stderr}')
  return done.stdout


def write_machine(path, bandwidths):
  """The machine file with these bytes a second between the server and each worker."""
  machine = json.loads(MACHINE.read_text())
  for link in machine['links']:
    ends = ' '.join(link['between'])
    if SERVER in ends:
      link['bandwidth'] = f'{bandwidths[1 if "/job:worker/task:1" in ends else 0]:.0f}B/s'
  path.write_text(json.dumps(machine))
  return str(path)


def numbers_of(path):
  """The numbers of an .npy file of float32, int32 or int64."""
  data = path.read_bytes()
  begin = 10 + int.from_bytes(data[8:10], 'little')
  kind = ast.literal_eval(data[10:begin].decode())['descr']
  return array.array({'<f4': 'f', '<i4': 'i', '<i8': 'q'}[kind], data[begin:])


class Experiment:
  """One ratio of the workers' links, on a machine file of its own."""

  def __init__(self, options, folder, ratio):
    self.options = options
    self.folder = folder
    fast, slow = options.bandwidth, options.bandwidth / ratio
    self.machine = write_machine(folder / 'machine.json', (fast, slow))
    # A worker's step is predicted as the first one's.
    self.step = self.simulated('async', [], self.machine)
    self.slow_step = self.simulated('async', [], write_machine(folder / 'slow.json', (slow, fast)))
    self.sync_step = self.simulated('sync_worker', [], write_machine(folder / 'slow.json', (slow, fast)))
    self.update = self.simulated('sync_chief', ['--fetch', 'global_step/read', '--target', 'sync_token_q_EnqueueMany'],
                                 self.machine)

  def simulated(self, graph, what, machine):
    """Seconds of a step."""
    prediction = run([self.options.program, 'simulate', f'{self.options.graphs}/{graph}.pbtxt', '--machine', machine,
                      '--json', *what])
    return json.loads(prediction)['step_ns']['value'] / 1e9

  def predicted(self):
    """Gradients a second, synchronously and asynchronously."""
    t, q = self.step, self.slow_step / self.step
    # The quick worker meets an update of the other in every q-th step, the slow one q in each.
    return 2 / (self.sync_step + self.update), (1 - 1 / q + 1 / (2 * q)) / t + 1 / ((1 + q) * q * t)

  def job(self, clients):
    """What each of the clients ([graph, option...]) says of its run, in their order."""
    words = ['mpirun', '--oversubscribe', '--bind-to', 'none', '-n', '1', self.options.program, 'serve', '--machine',
             self.machine]
    for number, (graph, *options) in enumerate(clients):
      client = [self.options.program, 'run', f'{self.options.graphs}/{graph}.pbtxt', '--machine', self.machine,
                '--warmup', '1', '--json', *options]
      words += [':', '-n', '1', 'sh', '-c', 'exec "$@" > "$0"', str(self.folder / f'{number}.json'), *client]
    run(words)
    return [json.loads((self.folder / f'{number}.json').read_text()) for number in range(len(clients))]

  def synchronous(self):
    """Measured gradients a second: two for every update that the slower worker sees from one step to the next."""
    steps = ['--steps', str(self.options.steps), '--together']
    fetches = self.folder / 'updates'
    seen = ['--fetch', 'loss', '--fetch', 'global_step/read', '--save-fetches', str(fetches)]
    worker = self.job([['sync_chief', *steps], ['sync_worker', *steps, *seen]])[1]
    updates = [numbers_of(file)[0] for file in sorted(fetches.glob('*global_step*.npy'))]
    # Of equal workers one may read just before an update or just after: one step in all sees none then.
    seen = statistics.median(later - before for before, later in zip(updates, updates[1:]))
    return 2e9 * seen / worker['step_ns']['median']

  def asynchronous(self):
    """The same, by what each counts for; the workers run about as long as each other."""
    steps = [round(self.options.steps * self.slow_step / self.step), self.options.steps]
    fetches = [self.folder / f'fetches{worker}' for worker in range(2)]
    runs = self.job([['async', '--steps', str(count), '--save-fetches', str(path)] for count, path in zip(steps, fetches)])
    rate = 0
    for result, path in zip(runs, fetches):
      stale = [numbers_of(file)[0] for file in path.glob('*staleness*.npy')]
      assert len(stale) == result['steps'], f'{len(stale)} values of staleness in {result["steps"]} steps'
      rate += statistics.mean(1 / (1 + updates) for updates in stale) * 1e9 / result['step_ns']['median']
    return rate


def crossover(ratios, synchronous, asynchronous):
  """The ratio from which on asynchronous training gets more done, between those that were tried."""
  ahead = [s - a for s, a in zip(synchronous, asynchronous)]
  for i in range(1, len(ratios)):
    if ahead[i - 1] > 0 >= ahead[i]:
      return f'{ratios[i - 1] + (ratios[i] - ratios[i - 1]) * ahead[i - 1] / (ahead[i - 1] - ahead[i]):.1f}'
  return 'beyond these'


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('graphs', help='folder that samples/cpp/replicas.cpp has written')
  parser.add_argument('--ratios', default='1,1.5,2,2.5,3', help='how much slower the second link is')
  parser.add_argument('--bandwidth', type=float, default=4e6, help='bytes a second of the first link (default: 4e6)')
  parser.add_argument('--steps', type=int, default=12, help='of the slower worker')
  parser.add_argument('--rounds', type=int, default=3)
  parser.add_argument('--program', default=str(ROOT / 'build/release/bin/lanescope'))
  options = parser.parse_args()
  ratios = [float(ratio) for ratio in options.ratios.split(',')]
  with tempfile.TemporaryDirectory() as folder:
    experiments = []
    for ratio in ratios:
      path = pathlib.Path(folder, f'{ratio:g}')
      path.mkdir()
      experiments.append(Experiment(options, path, ratio))
    predicted = [experiment.predicted() for experiment in experiments]
    measured = [([], []) for _ in ratios]
    for _ in range(options.rounds):
      for experiment, (synchronous, asynchronous) in zip(experiments, measured):
        synchronous.append(experiment.synchronous())
        asynchronous.append(experiment.asynchronous())
  print('| r | synchronous, predicted | measured | asynchronous, predicted | measured |\n|---|---|---|---|---|')
  for ratio, of_model, rates in zip(ratios, predicted, measured):
    cells = [f'{model:.2f} | {statistics.median(rate):.2f} ({min(rate):.2f} to {max(rate):.2f})'
             for model, rate in zip(of_model, rates)]
    print(f'| {ratio:g} | {" | ".join(cells)} |')
  medians = [[statistics.median(rates[kind]) for rates in measured] for kind in range(2)]
  print(f'crossover: r = {crossover(ratios, *zip(*predicted))} predicted, {crossover(ratios, *medians)} measured')


if __name__ == '__main__':
  main()
