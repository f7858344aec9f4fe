#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes training steps of well-known networks, FOLDER/NAME.pbtxt and NAME.run.json, for step_beside_tensorflow.py.

  tf/bin/python bench/peers/export_networks.py build/networks [NAME...]
"""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'samples' / 'export'))
import sample_graphs

import image_networks
import network_layers
import sequence_networks

tf = sample_graphs.tf
NETWORKS = {
    'mnist': image_networks.mnist,
    'alexnet': image_networks.alexnet,
    'alexnet_one_tower': image_networks.alexnet_one_tower,
    'resnet50': image_networks.resnet50,
    'resnet152': image_networks.resnet152,
    'vgg16': image_networks.vgg16,
    'inception_v3': image_networks.inception_v3,
    'lstm': sequence_networks.lstm,
    'transformer': sequence_networks.transformer,
    'gpt': sequence_networks.gpt,
}


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('folder', type=pathlib.Path)
  parser.add_argument('names', nargs='*', metavar='NAME', help=', '.join(NETWORKS))
  parser.add_argument('--synthetic', action='store_true', help='leave the size of the batch open, make images on the device')
  arguments = parser.parse_args()
  network_layers.SYNTHETIC = arguments.synthetic
  for name in arguments.names or NETWORKS:
    with tf.Graph().as_default():
      tf.set_random_seed(1)
      sample_graphs.save(name, *NETWORKS[name](), arguments.folder)


if __name__ == '__main__':
  main()
