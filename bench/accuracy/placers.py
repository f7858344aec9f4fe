#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the placers of published papers make of networks on four GPUs, beside one GPU: FOLDER holds the networks of
bench/peers/export_networks.py.

  bench/accuracy/placers.py FOLDER [LANESCOPE]

Four GPUs of 4 TFLOP/s and 350 GB/s that take 5 us a launch, each behind PCIe (10 GB/s, 15 us) and copying straight to
the others as fast; a host that nothing but input should want. By rates alone: nothing is measured.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

NETWORKS = ('inception_v3', 'transformer', 'lstm')
PLACERS = ('m-etf', 'm-sct', 'heft', 'greedy')


def machine(gpus=4):
  devices = [{'name': 'CPU:0', 'kind': 'host', 'memory': '256GiB', 'workers': 32, 'memory_bandwidth': '40GB/s',
              'peak': {'float32': '100GFLOP/s'}}]
  links = []
  for g in range(gpus):
    devices.append({'name': f'GPU:{g}', 'kind': 'modelled', 'memory': '16GiB', 'queue': 'in-order',
                    'peak': {'float32': '4TFLOP/s'}, 'memory_bandwidth': '350GB/s', 'launch': '5us'})
    links += [{'between': [f'{"CPU:0" if o < 0 else f"GPU:{o}"}', f'GPU:{g}'], 'bandwidth': '10GB/s', 'latency': '15us'}
              for o in range(-1, g)]
  return {'name': f'{gpus} GPUs behind PCIe', 'devices': devices, 'links': links}


def step_ns(program, graph, machine_file, strategy):
  done = subprocess.run([program, 'simulate', graph, '--machine', machine_file, '--strategy', strategy, '--json'],
                        capture_output=True, text=True)
  if done.returncode != 0:
    sys.exit(f'{graph} by {strategy}: {done.stderr.strip()}')
  return json.loads(done.stdout)['step_ns']['value']


def main():
  folder = pathlib.Path(sys.argv[1])
  program = sys.argv[2] if len(sys.argv) > 2 else 'build/release/bin/lanescope'
  print(f'| network | {" | ".join(PLACERS)} |')
  print('|---' * (len(PLACERS) + 1) + '|')
  with tempfile.TemporaryDirectory() as scratch:
    machine_file = pathlib.Path(scratch) / 'machine.json'
    machine_file.write_text(json.dumps(machine()))
    for network in NETWORKS:
      graph = folder / f'{network}.pbtxt'
      one = step_ns(program, graph, machine_file, 'single')
      shares = [step_ns(program, graph, machine_file, placer) / one for placer in PLACERS]
      print(f'| {network} | {" | ".join(f"{share:.2f}" for share in shares)} |', flush=True)


if __name__ == '__main__':
  main()
