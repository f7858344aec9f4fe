#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far replays of traces are from what was measured, as a table.

  bench/accuracy/replays.py LANESCOPE FILE... [--set CHANGE]...

FILE is a trace of another tool or of `lanescope profile`, also as FILE.db.gz. With nothing changed that is the replay's
own error; --set adds what is predicted with the changes. The status is 1 where a replay is further off than 1%.
"""

import argparse
import gzip
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

MOST = 0.01


def replay(program, path, changes):
    """What `simulate --json` says of the trace; a text where it refuses."""
    command = [program, 'simulate', str(path), '--json']
    for change in changes:
        command += ['--set', change]
    done = subprocess.run(command, capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip()


def row(file, answer, changes):
    if isinstance(answer, str):
        return [file.name, answer]
    step = answer['steps']
    cells = [file.name, str(answer['facts']['operations']), f'{len(step)}', f"{answer['measured_ns'] / 1e3:.1f}",
             f"{answer['replayed_ns'] / 1e3:.1f}", f"{100 * answer['error']:+.2f}%"]
    if changes:
        cells.append(f"{answer['predicted_ns'] / 1e3:.1f}")
    return cells


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('program')
    parser.add_argument('files', nargs='+', type=pathlib.Path)
    parser.add_argument('--set', action='append', default=[], dest='changes')
    arguments = parser.parse_args()
    head = ['trace', 'operations', 'steps', 'measured, us', 'replayed, us', 'error']
    if arguments.changes:
        head.append(', '.join(arguments.changes))
    print('| ' + ' | '.join(head) + ' |')
    print('|' + '---|' * len(head))
    worst = 0.0
    with tempfile.TemporaryDirectory() as scratch:
        for file in arguments.files:
            path = file
            if file.name.endswith('.db.gz'):
                path = pathlib.Path(scratch) / file.name.removesuffix('.gz')
                with gzip.open(file) as packed, open(path, 'wb') as unpacked:
                    shutil.copyfileobj(packed, unpacked)
            answer = replay(arguments.program, path, arguments.changes)
            print('| ' + ' | '.join(row(file, answer, arguments.changes)) + ' |', flush=True)
            if not isinstance(answer, str):
                worst = max(worst, abs(answer['error']))
    return 0 if worst <= MOST else 1


if __name__ == '__main__':
    sys.exit(main())
