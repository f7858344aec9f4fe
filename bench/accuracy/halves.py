#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A strategy of another program, as plug-ins are: the first half of the work on GPU:0, the rest on GPU:1."""

import json
import sys


def main():
  nodes = json.load(sys.stdin)['graph']['nodes']
  half = sum(node['flops'] + node['bytes'] for node in nodes) / 2
  group_device, done, placed = {}, 0, {}
  for node in nodes:
    wanted = 'GPU:0' if done < half else 'GPU:1'
    done += node['flops'] + node['bytes']
    device = group_device.setdefault(node['group'], wanted)
    if device in node['devices']:
      placed[node['name']] = {'device': device}
  json.dump({'nodes': placed}, sys.stdout)


if __name__ == '__main__':
  main()
