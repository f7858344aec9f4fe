# SPDX-License-Identifier: Apache-2.0
"""Prints, for each sample graph, its op types with counts and the type attributes they occur with.

Usage: list_ops.py > ops.txt
"""

import collections

import sample_graphs
import tensorflow.compat.v1 as tf


def _types(node):
  parts = []
  for name in sorted(node.attr):
    value = node.attr[name]
    kind = value.WhichOneof('value')
    if kind == 'type':
      parts.append(f'{name}={tf.as_dtype(value.type).name}')
    elif kind == 'list' and value.list.type:
      parts.append(f'{name}=[{",".join(tf.as_dtype(t).name for t in value.list.type)}]')
  return ' '.join(parts)


def _print_table(title, counts):
  print(f'== {title}: {sum(counts.values())} nodes, {len({op for op, _ in counts})} op types')
  by_op = collections.defaultdict(list)
  for (op, types), count in sorted(counts.items()):
    by_op[op].append((types, count))
  for op, uses in by_op.items():
    uses_text = '; '.join(f'{types or "-"} x{count}' for types, count in uses)
    print(f'{op}\t{sum(count for _, count in uses)}\t{uses_text}')
  print()


def main():
  union = collections.Counter()
  for path in sorted(sample_graphs.GRAPH_DIR.glob('*.pbtxt')):
    counts = collections.Counter((n.op, _types(n)) for n in sample_graphs.load_graph_def(path).node)
    union += counts
    _print_table(path.stem, counts)
  _print_table('union', union)


if __name__ == '__main__':
  main()
