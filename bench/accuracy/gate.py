#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often `lanescope gate` is wrong, and what it finds: gate.py LANESCOPE [--pairs N] [--found N] [--rounds N]
[--runs N].

Records runs of one graph on virtual devices, one process each, first as the machine is, then beside a neighbour that keeps
a processor busy in bursts. A pair is a stretch of those runs, twice as many as rounds, cut into rounds of two neighbours; a
coin says which of the two is called the candidate. Nothing differs in such a pair, so each "worse" is a false alarm. Then the
candidate's times are multiplied by 1.01, 1.02 and 1.05: so much is injected. Everything but the multiplication is the program
itself: it reads the traces, leaves out disturbed steps, and gives the verdict. Beside it stands what a fixed threshold on
the medians of the same runs would find, set after the fact so that it, too, has 1% of false alarms.
"""

import argparse
import json
import pathlib
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
GRAPH = ROOT / 'samples/graphs/polynomial.pbtxt'
RUNS_OF_A_TRACE = 20
INJECTED = (0, 0.01, 0.02, 0.05)
QUANTITIES = ('step', 'fastest')
NEIGHBOUR = '''
import random, time
draw = random.Random(1)
while True:
  end = time.monotonic() + draw.uniform(0.2, 1)
  while time.monotonic() < end:
    pass
  time.sleep(draw.uniform(0.2, 1))
'''


def call(command, statuses=(0,)):
  """What the command prints."""
  done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
  if done.returncode not in statuses:
    sys.exit(f'{" ".join(map(str, command))}\n{done.stderr}')
  return done.stdout


def record(options, folder):
  """By quantity the times (ns) of so many runs, in their order, and the seconds that a run took."""
  store = folder / 'pool.db'
  start = time.monotonic()
  for first in range(0, options.runs, RUNS_OF_A_TRACE):
    trace = folder / f'{first}.db'
    for _ in range(min(RUNS_OF_A_TRACE, options.runs - first)):
      call([options.lanescope, 'run', GRAPH, '--steps', str(options.steps), '--trace', trace])
    call([options.lanescope, 'gate', trace, '--store', store, '--as', 'pool', '--what', ','.join(QUANTITIES)])
    trace.unlink()
  took = (time.monotonic() - start) / options.runs
  with sqlite3.connect(store) as database:
    pool = {quantity: [value for value, in database.execute(
        'SELECT value FROM BASELINE_SAMPLE WHERE quantity = ? ORDER BY record, run', (quantity,))] for quantity in QUANTITIES}
  return pool, took


def draw_pairs(options, pool):
  """Pairs of lists: the base's runs and the candidate's."""
  draw = random.Random(options.seed)
  pairs = []
  for _ in range(options.pairs):
    first = draw.randrange(len(pool) - 2 * options.rounds + 1)
    base, candidate = [], []
    for at in range(first, first + 2 * options.rounds, 2):
      two = [pool[at], pool[at + 1]]
      if draw.random() < 0.5:
        two.reverse()
      base.append(two[0])
      candidate.append(two[1])
    pairs.append((base, candidate))
  return pairs


def write_store(options, store, pool_store, quantity, pairs, injected):
  """A store in which the sides of pair k are the baselines bK and cK."""
  call(['cp', pool_store, store])
  with sqlite3.connect(store) as database:
    database.execute('DELETE FROM BASELINE')
    database.execute('DELETE FROM BASELINE_SAMPLE')
    for number, (base, candidate) in enumerate(pairs):
      for side, runs in (('b', base), ('c', [value * (1 + injected) for value in candidate])):
        record_number = database.execute('INSERT INTO BASELINE (name, what, utcNs) VALUES (?, ?, 0)',
                                         (f'{side}{number}', 'pool')).lastrowid
        database.executemany(
            "INSERT INTO BASELINE_SAMPLE (record, run, utcNs, steps, quantity, value, scale, error) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, 0)",
            [(record_number, run, 2 * run + 1 + (side == 'c'), options.steps, quantity, value, value)
             for run, value in enumerate(runs)])


def intervals(options, store, quantity, pairs):
  """Of each pair the interval of the change, as the program prints it."""
  found = []
  for number in range(len(pairs)):
    result = json.loads(call([options.lanescope, 'gate', f'@b{number}', f'@c{number}', '--store', store, '--budget', '0%',
                              '--what', quantity, '--json'], (0, 1, 3)))
    low, high = result['quantities'][0]['low'], result['quantities'][0]['high']
    assert (low > 0) == (result['verdict'] == 'worse')
    found.append((low, high))
  return found


def by_threshold(pairs):
  """By injected share: what a threshold on medians finds that has 1% of false alarms in these very pairs."""
  changes = sorted(statistics.median(candidate) / statistics.median(base) for base, candidate in pairs)
  threshold = changes[int(0.99 * len(changes))]
  return {injected: sum(change * (1 + injected) > threshold for change in changes) / len(changes) for injected in INJECTED}


def measure(options, name, folder):
  """The rows of one condition."""
  folder.mkdir()
  pool, took = record(options, folder)
  print(f'\n{name}: {options.runs} runs of {options.steps} steps, {took:.2f} s each, a pair {2 * options.rounds * took:.0f} s\n')
  print('| quantity | neighbours differ by | injected | pairs | worse, budget 0% | by threshold | interval | '
        'fine / worse / cannot tell, budget 2% |')
  print('|---|---|---|---|---|---|---|---|')
  for quantity in QUANTITIES:
    times = pool[quantity]
    spread = statistics.median(abs(a / b - 1) for a, b in zip(times[::2], times[1::2]))
    all_pairs = draw_pairs(options, times)
    threshold = by_threshold(all_pairs)
    for injected in INJECTED:
      pairs = all_pairs[:options.found] if injected else all_pairs
      store = folder / f'{quantity}{injected}.db'
      write_store(options, store, folder / 'pool.db', quantity, pairs, injected)
      found = intervals(options, store, quantity, pairs)
      worse = sum(low > 0 for low, _ in found)
      usual = [sum(high <= 0.02 for _, high in found), sum(low > 0.02 for low, _ in found)]
      width = statistics.median(high - low for low, high in found)
      print(f'| {quantity} | {spread:.1%} | {injected:.0%} | {len(pairs)} | {worse / len(pairs):.1%} | '
            f'{threshold[injected]:.1%} | {width:.1%} wide | {usual[0]} / {usual[1]} / {len(pairs) - sum(usual)} |', flush=True)


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('lanescope', type=lambda path: pathlib.Path(path).resolve())
  parser.add_argument('--pairs', type=int, default=200)
  parser.add_argument('--found', type=int, default=200, help='pairs of each share that is injected')
  parser.add_argument('--rounds', type=int, default=20)
  parser.add_argument('--runs', type=int, default=400, help='that pairs are cut from')
  parser.add_argument('--steps', type=int, default=600, help='of a run')
  parser.add_argument('--seed', type=int, default=1)
  options = parser.parse_args()
  if options.runs < 2 * options.rounds:
    parser.error('a pair is cut from more runs than there are')
  with tempfile.TemporaryDirectory() as folder:
    measure(options, 'As the machine is', pathlib.Path(folder) / 'alone')
    neighbour = subprocess.Popen([sys.executable, '-c', NEIGHBOUR])
    try:
      measure(options, 'Beside a neighbour', pathlib.Path(folder) / 'beside')
    finally:
      neighbour.kill()
      neighbour.wait()


if __name__ == '__main__':
  main()
