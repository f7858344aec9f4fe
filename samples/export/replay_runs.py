# SPDX-License-Identifier: Apache-2.0
"""Runs in TensorFlow what the programs of samples/cpp have run, and compares what comes out.

Usage: replay_runs.py FOLDER

FOLDER is what the programs wrote with LANESCOPE_RECORD_RUNS=FOLDER in their environment (samples/cpp/recorded_runs.h):
graphs that the C++ API wrote, and for each the runs of one session. Ends with status 1 where a fetched value differs by
more than 2e-4 of its largest element.
"""

import json
import pathlib
import sys

import numpy as np

import sample_graphs


def _tensor(name):
  return name if ':' in name else name + ':0'


def _load(folder, value):
  if isinstance(value, str):
    return np.load(folder / value)
  return np.array(value['strings'], object).reshape(value['shape'])


def _replay(path):
  """Yields how far each fetched value is from what was recorded, in shares of its largest element."""
  runs = json.loads(path.with_suffix('').with_suffix('.runs.json').read_text())
  with sample_graphs.plain_session(sample_graphs.import_graph(path)) as session:
    for run in runs:
      targets = [session.graph.get_operation_by_name(name) for name in run['targets']]
      feeds = {_tensor(name): _load(path.parent, value) for name, value in run['feeds'].items()}
      names = list(run['fetches'])
      values, _ = session.run([[_tensor(name) for name in names], targets], feeds)
      for name, value in zip(names, values):
        ours = _load(path.parent, run['fetches'][name])
        largest = max(np.abs(value).max(initial=0), 1e-30)
        yield 0.0 if value.size == 0 else float(np.abs(ours - value).max() / largest)


def main():
  folder = pathlib.Path(sys.argv[1])
  worst = 0.0
  for path in sorted(folder.glob('*.pbtxt')):
    if not path.with_suffix('.runs.json').exists():
      continue  # it failed before its first run, as it was meant to
    differences = list(_replay(path))
    worst = max([worst, *differences])
    print(f'{path.stem:24} {len(differences):3} values, largest difference {max(differences, default=0):.2g}', flush=True)
  print(f'largest difference of all: {worst:.2g}')
  return int(worst > 2e-4)


if __name__ == '__main__':
  sys.exit(main())
