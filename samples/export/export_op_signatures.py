# SPDX-License-Identifier: Apache-2.0
"""Writes core/graph/signatures.tsv: arguments of every op that TensorFlow registers, references marked.

Each line holds two columns in the syntax of core/graph/ops/op_spec.h: the signature, and those attributes that
decide how many tensors an argument has and of which type.
"""

import re

import sample_graphs
import tensorflow as tf2
import tensorflow.compat.v1 as tf
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session

_TABLE = sample_graphs.REPOSITORY / 'core' / 'graph' / 'signatures.tsv'


def _type_name(number):
  return tf.as_dtype(number).name


def _argument(arg):
  kind = arg.type_list_attr or arg.type_attr or _type_name(arg.type)
  if arg.number_attr:
    kind = f'{arg.number_attr} * {kind}'
  return f'{arg.name}: Ref({kind})' if arg.is_ref else f'{arg.name}: {kind}'


def _default(attr):
  if not attr.HasField('default_value'):
    return ''
  if attr.type == 'type':
    return f' = {_type_name(attr.default_value.type)}'
  if attr.type == 'int':
    return f' = {attr.default_value.i}'
  return f' = [{", ".join(_type_name(t) for t in attr.default_value.list.type)}]'


def _attribute(attr):
  minimum = f' >= {attr.minimum}' if attr.has_minimum else ''
  return f'{attr.name}: {attr.type}{minimum}{_default(attr)}'


def _line(op):
  arguments = list(op.input_arg) + list(op.output_arg)
  counts = {arg.number_attr for arg in arguments}
  attributes = [a for a in op.attr if a.name in counts or a.type in ('type', 'list(type)')]
  inputs, outputs = (', '.join(map(_argument, args)) for args in (op.input_arg, op.output_arg))
  return f'{op.name}({inputs}) -> ({outputs})\t{"; ".join(map(_attribute, attributes))}'


def main():
  ops = op_def_pb2.OpList()
  ops.ParseFromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
  # A name with a namespace is one of TensorFlow's own tests.
  named = sorted((op for op in ops.op if re.fullmatch(r'\w+', op.name)), key=lambda op: op.name)
  header = f'# Ops registered by TensorFlow {tf2.__version__} (CUDA build).\n# signature\tattributes\n'
  _TABLE.write_text(header + '\n'.join(map(_line, named)) + '\n')
  print(f'{len(named)} ops')


if __name__ == '__main__':
  main()
