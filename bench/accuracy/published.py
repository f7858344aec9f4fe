#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Speed-ups of TensorFlow's published benchmarks beside what is predicted: FOLDER holds the networks of
bench/peers/export_networks.py --synthetic.

  bench/accuracy/published.py FOLDER [LANESCOPE]

Published: images per second with synthetic data, TensorFlow's docs_src/performance/benchmarks.md at 5984ffe (May
2017). One GPU's rate is taken from there, as a speed of the GPUs; what two, four and eight reach is predicted: a tower
on each GPU, variables in host memory (parameter_server, cpu) or on the GPUs in turn where TensorFlow replicated them.

DeepCoNN on two GPUs of a K80: seconds an epoch, aistein/dlprof at 8f408ab. Taken from one GPU's run are the share of the
peak rates (8.86 ms of kernels a step under nvprof) and what TensorFlow 1.8 takes on the host for a launch (11.62 ms a
step: 86.03 steps a second in its log); two GPUs are predicted. An epoch is 824 steps and 10.9 s of start-up.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

SYSTEMS = {
    # 8 GPUs of 4 boards, two on a PCIe switch.
    'K80': dict(memory='11.17GiB', peak='4.37TFLOP/s', bandwidth='240GB/s', host='10GB/s', bus='12GB/s', peer=None),
    # DGX-1: four NVLinks a GPU.
    'P100': dict(memory='16GiB', peak='10.6TFLOP/s', bandwidth='732GB/s', host='12GB/s', bus='14GB/s', peer='18GB/s'),
}
# (system, network): batch of a GPU, variables, images per second of 1, 2, 4 and 8 GPUs.
PUBLISHED = {
    ('K80', 'inception_v3'): (64, 'cpu', (30.5, 57.8, 116, 227)),
    ('K80', 'resnet50'): (64, 'cpu', (51.9, 99.0, 195, 387)),
    ('K80', 'resnet152'): (32, 'cpu', (20.0, 38.2, 75.8, 148)),
    ('K80', 'alexnet_one_tower'): (512, 'cpu', (656, 1209, 2328, 4640)),
    ('K80', 'vgg16'): (32, 'cpu', (35.4, 64.8, 120, 234)),
    ('P100', 'inception_v3'): (64, 'cpu', (142, 284, 569, 1131)),
    ('P100', 'resnet50'): (64, 'cpu', (219, 422, 852, 1734)),
    ('P100', 'resnet152'): (64, 'cpu', (91.8, 181, 356, 716)),
    ('P100', 'alexnet_one_tower'): (512, 'gpu', (2987, 5658, 10509, 17822)),
    ('P100', 'vgg16'): (64, 'gpu', (154, 295, 584, 1081)),
}


def machine(system, gpus):
  spec = SYSTEMS[system]
  devices = [{'name': 'CPU:0', 'kind': 'host', 'memory': '256GiB', 'workers': 32, 'memory_bandwidth': '60GB/s',
              'peak': {'float32': '1TFLOP/s'}}]
  links, buses = [], []
  for g in range(gpus):
    devices.append({'name': f'GPU:{g}', 'kind': 'modelled', 'memory': '1TiB', 'queue': 'in-order',
                    'peak': {'float32': spec['peak']}, 'memory_bandwidth': spec['bandwidth'], 'launch': '5us'})
    if g % 2 == 0:
      buses.append({'name': f'pcie {g // 2}', 'bandwidth': spec['bus']})
    links.append({'between': ['CPU:0', f'GPU:{g}'], 'bandwidth': spec['host'], 'latency': '8us', 'bus': f'pcie {g // 2}'})
    if spec['peer']:
      links += [{'between': [f'GPU:{o}', f'GPU:{g}'], 'bandwidth': spec['peer'], 'latency': '5us'} for o in range(g)]
  return {'name': f'{gpus} x {system}', 'devices': devices, 'links': links, 'buses': buses}


DEEPCONN = {'single': 20.455, 'dual': 22.500, 'alternating': 23.021}
ROOT = pathlib.Path(__file__).resolve().parents[2]


def find(low, high, wanted, of):
  """Where the rising `of` is as wanted."""
  for _ in range(25):
    middle = (low + high) / 2
    low, high = (middle, high) if of(middle) < wanted else (low, middle)
  return (low + high) / 2


class Bench:

  def __init__(self, folder, program, scratch):
    self.folder, self.program, self.scratch = folder, program, scratch

  def run(self, *arguments):
    done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
      sys.exit(f'{" ".join(map(str, arguments))}: {done.stderr.strip()}')
    return done.stdout

  def step_ns(self, system, network, batch, variables, gpus, speed):
    machine_file = self.scratch / 'machine.json'
    machine_file.write_text(json.dumps(machine(system, gpus)))
    graph = self.scratch / f'{network}.pbtxt'
    graph.write_text((self.folder / f'{network}.pbtxt').read_text())
    spec = json.loads((self.folder / f'{network}.run.json').read_text())
    for feed in spec['feeds'].values():
      feed['shape'][0] = batch * gpus
    spec['batch_axis'] = {name: 0 for name in spec['feeds']}
    (self.scratch / f'{network}.run.json').write_text(json.dumps(spec))
    strategy = {'cpu': 'parameter-server', 'gpu': 'parameter-server-turn'}[variables]
    if gpus > 1:
      towers = self.scratch / 'towers.pb'
      self.run('place', graph, '--strategy', 'data-parallel', '--machine', machine_file, '-o', towers)
      graph = towers
    speeds = [x for g in range(gpus) for x in ('--set', f'GPU:{g}.speed={speed}')]
    result = self.run('simulate', graph, '--strategy', strategy, '--machine', machine_file, '--json', *speeds)
    return json.loads(result)['step_ns']['value']

  def speed_of_one(self, system, network, batch, variables, rate):
    wanted = batch / rate * 1e9
    speed = self.step_ns(system, network, batch, variables, 1, 1) / wanted
    for _ in range(3):
      speed *= self.step_ns(system, network, batch, variables, 1, speed) / wanted
    return speed


  def deepconn_ms(self, graph, slowdown, launch_us):
    spec = json.loads((ROOT / 'samples/machines/k80x2.json').read_text())
    spec['devices'][0].update(peak={'float32': '100GFLOP/s'}, memory_bandwidth='40GB/s')
    for gpu in spec['devices'][1:]:
      gpu.update(peak={'float32': f'{4.37 / slowdown:.6f}TFLOP/s'}, memory_bandwidth=f'{240 / slowdown:.6f}GB/s',
                 launch=f'{1000 * launch_us:.0f}ns')
    machine_file = self.scratch / 'k80x2.json'
    machine_file.write_text(json.dumps(spec))
    result = self.run('simulate', ROOT / f'samples/graphs/deepconn_{graph}.pbtxt', '--machine', machine_file, '--json')
    return json.loads(result)['step_ns']['value'] / 1e6


def print_deepconn(bench):
  slowdown = find(1, 20, 8.86, lambda x: bench.deepconn_ms('single', x, 0))
  launch_us = find(0, 60, 11.62, lambda x: bench.deepconn_ms('single', slowdown, x))
  print(f'\nDeepCoNN on two K80: {1 / slowdown:.2f} of the peak rates, {launch_us:.0f} us a launch\n')
  print('| placement | published s/epoch | predicted | error | without start-up |')
  print('|---|---|---|---|---|')
  for graph, published in DEEPCONN.items():
    training = 0.824 * bench.deepconn_ms(graph, slowdown, launch_us)
    note = ' (in sample)' if graph == 'single' else ''
    print(f'| {graph}{note} | {published:.2f} | {training + 10.9:.2f} | {100 * ((training + 10.9) / published - 1):+.1f}% | '
          f'{100 * (training / (published - 10.9) - 1):+.1f}% |')


def main():
  folder = pathlib.Path(sys.argv[1])
  program = sys.argv[2] if len(sys.argv) > 2 else 'build/release/bin/lanescope'
  errors = []
  print('| system | network | share of peak rates | GPUs | published | predicted | published speed-up | predicted | error |')
  print('|---|---|---|---|---|---|---|---|---|')
  with tempfile.TemporaryDirectory() as scratch:
    bench = Bench(folder, program, pathlib.Path(scratch))
    for (system, network), (batch, variables, rates) in PUBLISHED.items():
      speed = bench.speed_of_one(system, network, batch, variables, rates[0])
      for gpus, rate in zip((2, 4, 8), rates[1:]):
        predicted = batch * gpus / bench.step_ns(system, network, batch, variables, gpus, speed) * 1e9
        error = predicted / rate - 1
        errors.append(abs(error))
        print(f'| {system} | {network} | {speed:.2f} | {gpus} | {rate:g} | {predicted:.0f} | {rate / rates[0]:.2f}x | '
              f'{predicted / rates[0]:.2f}x | {100 * error:+.1f}% |', flush=True)
    print(f'mean error {100 * sum(errors) / len(errors):.1f}%, worst {100 * max(errors):.1f}%')
    print_deepconn(bench)


if __name__ == '__main__':
  main()
