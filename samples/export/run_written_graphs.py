# SPDX-License-Identifier: Apache-2.0
"""Runs graphs that Lanescope's C++ API wrote (samples/cpp/write_graphs) in TensorFlow and here, beside each other.

Usage: run_written_graphs.py FOLDER LANESCOPE [STEPS]

FOLDER holds NAME.pbtxt; the step is that of samples/graphs/NAME.run.json. Prints the loss of every step from both, and
ends with status 1 where they differ by more than 2e-4 of it.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

import sample_graphs


def _in_tensorflow(path, run, steps):
  graph = sample_graphs.import_graph(path)
  with sample_graphs.plain_session(graph) as session:
    sample_graphs.initialise(session, run)
    return [
        float(sample_graphs.run_step(session, run, sample_graphs.step_feeds(run, step))[run['loss']])
        for step in range(steps)
    ]


def _here(program, path, run, steps):
  with tempfile.TemporaryDirectory() as folder:
    subprocess.run([program, 'run', path, '--steps', str(steps), '--warmup', '0', '--save-fetches', folder,
                    '--trace', f'{folder}/trace.db', '--strategy', 'annotated'], check=True, capture_output=True)
    files = sorted(pathlib.Path(folder).rglob('*.npy'))
    return [float(np.load(file)) for file in files]


def main():
  folder, program = pathlib.Path(sys.argv[1]), sys.argv[2]
  steps = int(sys.argv[3]) if len(sys.argv) > 3 else 3
  worst = 0.0
  for path in sorted(folder.glob('*.pbtxt')):
    shutil.copy(sample_graphs.GRAPH_DIR / f'{path.stem}.run.json', folder)
    run = sample_graphs.load_run(path)
    theirs, ours = _in_tensorflow(path, run, steps), _here(program, path, run, steps)
    assert len(ours) == steps, f'{path.name}: {len(ours)} fetches of {steps} steps'
    for step, (a, b) in enumerate(zip(theirs, ours)):
      worst = max(worst, abs(a - b) / abs(a))
      print(f'{path.stem:20} step {step}: TensorFlow {a:.7g}, here {b:.7g}', flush=True)
  print(f'largest difference: {worst:.2g} of a loss')
  return int(worst > 2e-4)


if __name__ == '__main__':
  sys.exit(main())
