# SPDX-License-Identifier: Apache-2.0
"""Records TensorFlow's losses and final parameters on sample graphs, fed by their run configurations.

Usage: record_training.py [NAME...]
"""

import json
import sys

import golden
import sample_graphs

TRAINING_DIR = sample_graphs.REPOSITORY / 'tests' / 'golden' / 'training'

# graph: (steps, every so many losses, variables kept whole, variables kept as a few elements and their sum)
_RECORDINGS = {
    'deepconn_single':
        (8, 1, ['user_conv/bias', 'item_conv/bias', 'beta1_power', 'global_step'],
         ['word_embeddings', 'word_embeddings/Adam_1', 'user_conv/kernel', 'dense/kernel', 'dense_1/bias']),
    'polynomial': (1000, 50, ['w', 'w/Adam', 'w/Adam_1'], []),
    'polynomial_parallel': (1000, 50, ['w', 'w/Adam', 'w/Adam_1'], []),
    'cifar10_single': (3, 1, ['softmax_linear/biases', 'global_step'],
                       ['conv1/weights', 'conv2/weights', 'local3/weights', 'local4/weights']),
    'cifar10_towers': (3, 1, ['softmax_linear/biases', 'global_step'], [
        'conv1/weights', 'conv1/weights/ExponentialMovingAverage', 'conv2/weights', 'local3/weights',
        'local4/weights'
    ]),
}
# Graphs without a loss: their fetches over some runs of one session.
_OUTPUTS = {'matmul_cpu_gpu': 1, 'two_towers_matmul': 1, 'random_add': 3, 'random_add_split': 3}


def _open(name):
  path = sample_graphs.GRAPH_DIR / f'{name}.pbtxt'
  run = sample_graphs.load_run(path)
  session = sample_graphs.plain_session(sample_graphs.import_graph(path), 1, 1)
  sample_graphs.initialise(session, run)
  return session, run


def _loss_steps(steps, every):
  return set(range(0, steps, every)) | {steps - 1}


def _record_training(name):
  steps, every, whole, sampled = _RECORDINGS[name]
  session, run = _open(name)
  losses = {}
  with session:
    initial = {v: golden.samples_json(session.run(f'{v}:0')) for v in sampled}
    for step in range(steps):
      loss = sample_graphs.run_step(session, run, sample_graphs.step_feeds(run, step))[run['loss']]
      if step in _loss_steps(steps, every):
        losses[str(step)] = golden.tensor_json(loss)['values'][0]
    final = {v: golden.tensor_json(session.run(f'{v}:0')) for v in whole}
    final.update({v: golden.samples_json(session.run(f'{v}:0')) for v in sampled})
  return {
      'graph': f'{name}.pbtxt',
      'steps': steps,
      'loss': run['loss'],
      'losses': losses,
      'initial': initial,
      'final': final
  }


def _record_outputs(name):
  session, run = _open(name)
  with session:
    outputs = []
    for step in range(_OUTPUTS[name]):
      values = sample_graphs.run_step(session, run, sample_graphs.step_feeds(run, step))
      write = golden.tensor_json if all(v.size < 100 for v in values.values()) else golden.samples_json
      outputs.append({fetch: write(value) for fetch, value in values.items()})
  return {'graph': f'{name}.pbtxt', 'steps': _OUTPUTS[name], 'outputs': outputs}


def main():
  TRAINING_DIR.mkdir(parents=True, exist_ok=True)
  for name in sys.argv[1:] or [*_RECORDINGS, *_OUTPUTS]:
    record = _record_training(name) if name in _RECORDINGS else _record_outputs(name)
    (TRAINING_DIR / f'{name}.json').write_text(json.dumps(record, indent=1) + '\n')
    print(name, list(record.get('losses', {}).items())[-1:], flush=True)


if __name__ == '__main__':
  main()
