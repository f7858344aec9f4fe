#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the sample graphs on the host's kernels and on a GPU and compares what they return, step by step.

Usage: gpu_samples.py PROGRAM HOST_MACHINE GPU_MACHINE [--steps N] [GRAPH...]

A step is a run with the same seeds, so both sides compute the same function of the same numbers; the third step
replays what the second recorded. A graph that names tasks runs with them all in one process, each with the devices
of the machine. Values agree when they differ by at most 0.2% of the larger one or of the tensor's
mean magnitude. Prints a line a graph and ends with status 1 if one disagrees or fails.
"""

import argparse
import ast
import glob
import os
import re
import struct
import subprocess
import sys
import tempfile

_TOLERANCE = 2e-3
_FORMATS = {'<f4': 'f', '<f8': 'd', '<i4': 'i', '<i8': 'q', '|b1': '?', '|u1': 'B', '|i1': 'b', '<i2': 'h', '<u2': 'H'}


def _read_npy(path):
  """Values of a .npy file; None where it holds no numbers. Without numpy, which may not be there."""
  with open(path, 'rb') as file:
    magic = file.read(8)
    if magic[:6] != b'\x93NUMPY':
      raise ValueError(f'{path} is no .npy file')
    length = struct.unpack('<H', file.read(2))[0] if magic[6] == 1 else struct.unpack('<I', file.read(4))[0]
    header = ast.literal_eval(file.read(length).decode('latin1'))
    code = _FORMATS.get(header['descr'])
    if code is None:
      return None
    data = file.read()
  return struct.unpack(f'<{len(data) // struct.calcsize(code)}{code}', data)


def cluster_of(graph):
  """The tasks that the text of a graph names, as --cluster takes them: 'worker=localhost:2'; empty for none."""
  tasks = {}
  for job, task in re.findall(r'/job:(\w+)/(?:replica:\d+/)?task:(\d+)', graph):
    if job != 'localhost':
      tasks[job] = max(tasks.get(job, 0), int(task) + 1)
  return ','.join(f'{job}=localhost:{count}' for job, count in sorted(tasks.items()))


def _run(program, graph, machine, steps, folder):
  """The first line of what went wrong, or an empty text."""
  words = [program, 'run', graph, '--machine', machine, '--steps', str(steps), '--warmup', '0', '--save-fetches', folder]
  with open(graph, encoding='utf-8', errors='replace') as file:
    cluster = cluster_of(file.read())
  if cluster:
    words += ['--cluster', cluster]
  done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
  lines = [line for line in done.stdout.splitlines() if line.startswith('error')] or done.stdout.splitlines()[-1:]
  return '' if done.returncode == 0 else ' '.join(lines) or f'status {done.returncode}'


def _compare(host_folder, gpu_folder):
  """(largest difference relative to what is allowed, number of values, problem)."""
  worst, count = 0.0, 0
  names = sorted(os.listdir(host_folder))
  if not names or names != sorted(os.listdir(gpu_folder)):
    return worst, count, 'other fetches'
  for name in names:
    host, gpu = (_read_npy(os.path.join(folder, name)) for folder in (host_folder, gpu_folder))
    if host is None or gpu is None:
      continue
    if len(host) != len(gpu):
      return worst, count, f'{name}: other sizes'
    scale = sum(abs(value) for value in host) / max(len(host), 1)
    for a, b in zip(host, gpu):
      count += 1
      if a == b or (a != a and b != b):
        continue
      difference = abs(a - b) / (_TOLERANCE * max(abs(a), abs(b), scale))
      if not difference <= 1:
        return difference, count, f'{name}: {a} on the host, {b} on the GPU'
      worst = max(worst, difference)
  return worst, count, '' if count else 'no numbers to compare'


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('program')
  parser.add_argument('host_machine')
  parser.add_argument('gpu_machine')
  parser.add_argument('graphs', nargs='*')
  parser.add_argument('--steps', type=int, default=3)
  arguments = parser.parse_args()
  graphs = arguments.graphs or sorted(glob.glob('samples/graphs/*.pbtxt'))
  failed = 0
  for graph in graphs:
    with tempfile.TemporaryDirectory() as folder:
      sides = [os.path.join(folder, side) for side in ('host', 'gpu')]
      problems = [_run(arguments.program, graph, machine, arguments.steps, side)
                  for machine, side in zip((arguments.host_machine, arguments.gpu_machine), sides)]
      worst, count, problem = (0.0, 0, '; '.join(filter(None, problems))) if any(problems) else _compare(*sides)
    failed += bool(problem)
    outcome = problem or f'{count} values agree, the worst at {worst * 100:.1f}% of what is allowed'
    print(f'{os.path.basename(graph)}: {outcome}', flush=True)
  return 1 if failed else 0


if __name__ == '__main__':
  sys.exit(main())
