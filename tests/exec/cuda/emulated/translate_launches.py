#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rewrites the launches of a CUDA source so that a C++ compiler accepts it (tests/exec/cuda/emulated/emulator.h).

Usage: translate_launches.py SOURCE RESULT. `Kernel<T><<<grid, block, shared, stream>>>(arguments)` becomes a call of
emulator::Launch with a function that calls the kernel. Threads of files that synchronize or shuffle run together.
"""

import re
import sys

_KERNEL = re.compile(r'[;{}:)]\s*([A-Za-z_]\w*(?:\s*<[^;{}]*?>)?\s*)$')


def _end_of_call(text, start):
  """Index of the parenthesis that closes the one at `start`."""
  depth = 0
  for index in range(start, len(text)):
    depth += {'(': 1, ')': -1}.get(text[index], 0)
    if depth == 0:
      return index
  raise ValueError('a launch without an end')


def translate(text, path):
  together = 'true' if re.search(r'__syncthreads|__shfl', text) else 'false'
  text = re.sub(r'extern __shared__ (\w+) (\w+)\[\];',
                r'\1* \2 = static_cast<\1*>(::lanescope::exec::emulator::DynamicShared());', text)
  result = [f'#line 1 "{path}"\n']
  while '<<<' in text:
    begin = text.index('<<<')
    end = text.index('>>>', begin)
    kernel = _KERNEL.search(text[:begin])
    arguments = text.index('(', end)
    close = _end_of_call(text, arguments)
    name = kernel.group(1).strip()
    # All on one line, and the lines that it took after it: later line numbers stay right.
    call = (f'::lanescope::exec::emulator::Launch<{together}>({text[begin + 3:end]}, '
            f'[](auto... a) {{ {name}(a...); }}, {text[arguments + 1:close]})')
    lines = text.count('\n', kernel.start(1), close)
    result += [text[:kernel.start(1)], ' '.join(call.split())]
    rest = text[close + 1:]
    semicolon = rest.index(';') + 1
    result += [rest[:semicolon], '\n' * lines]
    text = rest[semicolon:]
  return ''.join(result) + text


def main():
  with open(sys.argv[1], encoding='utf-8') as source:
    text = source.read()
  with open(sys.argv[2], 'w', encoding='utf-8') as result:
    result.write(translate(text, sys.argv[1]))


if __name__ == '__main__':
  main()
