# SPDX-License-Identifier: Apache-2.0
"""Records elements of every generated feed, to test other implementations of the generators."""

import json

import golden
import sample_graphs

_STEPS = (0, 1, 41)


def main():
  records = []
  for path in sorted(sample_graphs.GRAPH_DIR.glob('*.pbtxt')):
    run = sample_graphs.load_run(path)
    for step in _STEPS if run['feeds'] else ():
      values = sample_graphs.feeds.make_feeds(run, step)
      records.append({
          'run': path.with_suffix('.run.json').name,
          'step': step,
          'feeds': {
              name: golden.samples_json(value) for name, value in values.items()
          },
      })
  path = sample_graphs.REPOSITORY / 'tests' / 'golden' / 'feeds.json'
  path.write_text('{"records":[\n' + ',\n'.join(json.dumps(r) for r in records) + '\n]}\n')
  print(f'{path.name}: {len(records)} records')


if __name__ == '__main__':
  main()
