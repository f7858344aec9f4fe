# SPDX-License-Identifier: Apache-2.0
"""Places, simulates and runs exported models, and writes which of them do: docs/results/exported-models.md.

Usage: model_table.py FOLDER LANESCOPE [OUTPUT.md]
       model_table.py --losses GRAPH

FOLDER is what export_models.py has written. Where TensorFlow is installed, the results of a run are compared with its.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import sample_graphs

HEAD = """# Models as TensorFlow exports them

Models of TensorFlow 2.15 (Keras layers, its own initializers, Adam or plain descent) as `samples/export/export_models.py`
writes them: a forward pass or a training step, as the nodes of a graph or as a call of a `tf.function`, and the forward pass
as a SavedModel with its variables' values ("saved"), run as it is. Made by
`samples/export/model_table.py`: each is placed and simulated on two virtual GPUs and run for two steps; "agrees" says that
forward passes, or losses, are TensorFlow's within 1e-3 in both steps. A training step that makes small differences large
(normalized gradients of sums that are zero but for rounding, say) makes TensorFlow differ from itself: "agrees as TensorFlow
does" says that the first step agrees, and that the second one differs from TensorFlow's by no more than three times what
TensorFlow's differs by when it takes its other kernels (oneDNN's). Where something is in the way, its first mention.

| model | step | form | nodes | placed | simulated | run | in the way |
|---|---|---|---|---|---|---|---|
"""


def _call(program, *arguments):
  done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=600)
  error = [line for line in done.stderr.splitlines() if line.startswith('error:')]
  return done.returncode == 0, (error[0][7:] if error else '')


def _ours(program, path):
  with tempfile.TemporaryDirectory() as folder:
    ok, error = _call(program, 'run', path, '--steps', 2, '--warmup', 0, '--save-fetches', folder, '--trace',
                      f'{folder}/t.db')
    values = [np.load(f) for f in sorted(pathlib.Path(folder).rglob('*.npy'))]
  return ok, error, values


def _saved_row(program, path):
  """A SavedModel, and beside it what is fed and what TensorFlow gives."""
  name, step, form = path.name.rsplit('_', 2)
  feed = ['--feed', f'serving_default_x={path}.x.npy']
  placed, place_error = _call(program, 'place', path)
  simulated, simulate_error = _call(program, 'simulate', path)
  with tempfile.TemporaryDirectory() as folder:
    ran, run_error = _call(program, 'run', path, *feed, '--steps', 1, '--warmup', 0, '--save-fetches', folder)
    values = [np.load(f) for f in sorted(pathlib.Path(folder).rglob('*.npy'))]
  verdict = 'no'
  if ran:
    verdict = 'agrees' if np.allclose(values[0], np.load(f'{path}.result.npy'), 1e-3, 1e-3) else 'other numbers'
  error = next((e for e in (place_error, simulate_error, run_error) if e), '').replace('|', '/')
  yes = lambda ok: 'yes' if ok else 'no'
  print(path.name, placed, simulated, verdict, error, flush=True)
  return (verdict, f'| {name} | {step} | {form} | | {yes(placed)} | {yes(simulated)} | {verdict} | {error[:160]} |')


def _theirs(path):
  run = sample_graphs.load_run(path)
  graph = sample_graphs.import_graph(path)
  with sample_graphs.plain_session(graph) as session:
    sample_graphs.initialise(session, run)
    return [sample_graphs.run_step(session, run, sample_graphs.step_feeds(run, i))[run['fetches'][0]] for i in range(2)]


def _theirs_by_other_kernels(path):
  environment = dict(os.environ, TF_ENABLE_ONEDNN_OPTS='1')
  done = subprocess.run([sys.executable, __file__, '--losses', path], capture_output=True, check=True, env=environment)
  return json.loads(done.stdout)


def _verdict(ours, path):
  expected = _theirs(path)
  close = [np.allclose(a, b, 1e-3, 1e-3) for a, b in zip(ours, expected)]
  if len(close) == 2 and all(close):
    return 'agrees'
  if close[:1] != [True]:
    return 'other numbers'
  other = _theirs_by_other_kernels(path)
  noise = np.abs(np.array(other[1]) - expected[1]).max()
  print(f'{path.stem}: second step {ours[1]}, TensorFlow {expected[1]}, with oneDNN {other[1]}', flush=True)
  return 'agrees as TensorFlow does' if np.abs(ours[1] - expected[1]).max() <= 3 * noise else 'first step agrees'


def _row(program, path):
  name, step, form = path.stem.rsplit('_', 2)
  nodes = path.read_text().count('\nnode {') + 1
  placed, place_error = _call(program, 'place', path)
  simulated, simulate_error = _call(program, 'simulate', path)
  ran, run_error, values = _ours(program, path)
  verdict = 'no'
  if ran:
    verdict = _verdict(values, path)
  error = next((e for e in (place_error, simulate_error, run_error) if e), '').replace('|', '/')
  yes = lambda ok: 'yes' if ok else 'no'
  print(path.stem, placed, simulated, verdict, error, flush=True)
  return (verdict, f'| {name} | {step} | {form} | {nodes} | {yes(placed)} | {yes(simulated)} | {verdict} | {error[:160]} |')


def main():
  if sys.argv[1] == '--losses':
    print(json.dumps([np.asarray(value).tolist() for value in _theirs(pathlib.Path(sys.argv[2]))]))
    return
  folder, program = pathlib.Path(sys.argv[1]), sys.argv[2]
  output = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else sample_graphs.REPOSITORY / 'docs' / 'results' / 'exported-models.md'
  rows = [_row(program, path) for path in sorted(folder.glob('*.pbtxt'))]
  rows += [_saved_row(program, path) for path in sorted(folder.glob('*_saved'))]
  rows.sort(key=lambda row: row[1])
  agree = sum(verdict.startswith('agrees') for verdict, _ in rows)
  output.write_text(HEAD + '\n'.join(row for _, row in rows) + f'\n\n{agree} of {len(rows)} run and agree.\n')


if __name__ == '__main__':
  main()
