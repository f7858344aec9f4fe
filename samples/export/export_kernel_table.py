# SPDX-License-Identifier: Apache-2.0
"""Writes core/place/kernels.tsv: which device types have a kernel for an op, taken from TensorFlow's registry.

The Linux wheel is the CUDA build and registers its GPU kernels whether or not a GPU is present. Kernels of
the device type DEFAULT serve any device that has no kernel of its own for the same attributes; they are
written out here as rows of CPU and GPU, so that the table needs no such rule. Rows that differ in one
type list only are merged.
"""

import collections
import itertools

import sample_graphs
import tensorflow as tf2
import tensorflow.compat.v1 as tf
from tensorflow.python.framework import kernels

_DEVICES = ('CPU', 'GPU')
_TABLE = sample_graphs.REPOSITORY / 'core' / 'place' / 'kernels.tsv'

Kernel = collections.namedtuple('Kernel', 'op device constraints host_memory priority label')


def _registered():
  """All kernels, each with one type per constrained attribute; what they ask of strings is left to them."""
  for kernel in kernels.get_all_registered_kernels().kernel:
    if kernel.device_type not in _DEVICES + ('DEFAULT',):
      continue
    choices = [[(c.name, tf.as_dtype(t).name) for t in c.allowed_values.list.type]
               for c in kernel.constraint
               if c.allowed_values.list.type]
    for combination in itertools.product(*choices):
      yield Kernel(kernel.op, kernel.device_type, frozenset(combination),
                   tuple(sorted(kernel.host_memory_arg)), kernel.priority, kernel.label)


def _resolve_default(rows):
  """Replaces DEFAULT rows by CPU and GPU rows where no row of that device serves the same attributes."""
  own = collections.defaultdict(list)
  for row in rows:
    own[row.op, row.device, row.label].append(row.constraints)
  resolved = [row for row in rows if row.device != 'DEFAULT']
  for row in rows:
    if row.device != 'DEFAULT':
      continue
    for device in _DEVICES:
      served = own[row.op, device, row.label]
      if any(constraints <= row.constraints for constraints in served):
        continue
      if any(row.constraints < constraints for constraints in served):
        raise ValueError(f'{row.op}: a {device} kernel serves only a part of a default kernel')
      resolved.append(row._replace(device=device))
  return sorted(set(resolved), key=lambda r: (r.op, r.device, r.label, sorted(r.constraints)))


def _merge(rows):
  """Joins rows that agree but for the type list of one attribute, until nothing more joins."""
  merged = {}
  for row in rows:
    key = (row.op, row.device, row.host_memory, row.priority, row.label)
    merged.setdefault(key, []).append({name: frozenset([kind]) for name, kind in row.constraints})
  result = []
  for key, constraint_sets in merged.items():
    for attribute in sorted({name for c in constraint_sets for name in c}):
      groups = collections.OrderedDict()
      for constraints in constraint_sets:
        rest = frozenset((n, k) for n, k in constraints.items() if n != attribute)
        groups.setdefault((rest, attribute in constraints), set()).update(constraints.get(attribute, ()))
      constraint_sets = [
          dict(rest, **({
              attribute: frozenset(kinds)
          } if present else {})) for (rest, present), kinds in groups.items()
      ]
    result.extend((key, constraints) for constraints in constraint_sets)
  return result


def _line(key, constraints):
  op, device, host_memory, priority, label = key
  types = ';'.join(f'{name}={",".join(sorted(kinds))}' for name, kinds in sorted(constraints.items()))
  return '\t'.join((op, device, types, ','.join(host_memory), str(priority), label))


def main():
  rows = _resolve_default(list(_registered()))
  lines = sorted(_line(key, constraints) for key, constraints in _merge(rows))
  header = (f'# Kernels registered by TensorFlow {tf2.__version__} (CUDA build); no constraint: any type.\n'
            '# op\tdevice_type\tconstraints\thost_memory_args\tpriority\tlabel\n')
  _TABLE.write_text(header + '\n'.join(lines) + '\n')
  print(f'{len(lines)} rows, {len({row.op for row in rows})} ops')


if __name__ == '__main__':
  main()
