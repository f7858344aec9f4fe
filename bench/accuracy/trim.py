#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a trace of the scoreboard small enough to be committed: trim.py IN.db OUT.db STRATEGY...

Of the measured runs of these strategies it keeps the steps whose length is nearest to the median of those that
count, and of the predictions the first, which has the costs that microbenchmarks gave.
"""

import os
import shutil
import sqlite3
import statistics
import sys

STEPS = 12


def steps_to_keep(trace, run):
  steps = trace.execute(
      'SELECT s.step, s."end" - s.start, IFNULL(d.disturbed, 0) FROM LANESCOPE_STEP s LEFT JOIN LANESCOPE_DISTURBANCE d '
      'ON d.runId = s.runId AND d.step = s.step WHERE s.runId = ?', (run,)).fetchall()
  left_alone = [step for step in steps if not step[2]]
  counted = left_alone if 3 * len(left_alone) >= len(steps) else steps
  median = statistics.median(ns for _, ns, _ in counted)
  return sorted(step for step, _, _ in sorted(counted, key=lambda step: abs(step[1] - median))[:STEPS])


def drop_run(trace, run):
  for (table,) in trace.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
    columns = [column[1] for column in trace.execute(f'PRAGMA table_info("{table}")')]
    if 'runId' in columns:
      trace.execute(f'DELETE FROM "{table}" WHERE runId = ?', (run,))
    elif 'globalPid' in columns:
      trace.execute(f'DELETE FROM "{table}" WHERE globalPid >> 48 = ?', (run,))


def keep_steps(trace, run, steps):
  kept = ','.join(map(str, steps))
  for table in ('CUPTI_ACTIVITY_KIND_KERNEL', 'CUPTI_ACTIVITY_KIND_MEMCPY'):
    trace.execute(
        f'DELETE FROM {table} WHERE globalPid >> 48 = ? AND correlationId IN (SELECT correlationId FROM '
        f'LANESCOPE_ACTIVITY WHERE globalPid >> 48 = ? AND step NOT IN ({kept}))', (run, run))
  trace.execute(f'DELETE FROM LANESCOPE_ACTIVITY WHERE globalPid >> 48 = ? AND step NOT IN ({kept})', (run,))
  for table in ('LANESCOPE_STEP', 'LANESCOPE_DISTURBANCE'):
    trace.execute(f'DELETE FROM {table} WHERE runId = ? AND step NOT IN ({kept})', (run,))


def drop_activities(trace, run):
  for table in ('CUPTI_ACTIVITY_KIND_KERNEL', 'CUPTI_ACTIVITY_KIND_MEMCPY', 'LANESCOPE_ACTIVITY'):
    trace.execute(f'DELETE FROM {table} WHERE globalPid >> 48 = ?', (run,))
  for table in ('LANESCOPE_COMMAND', 'LANESCOPE_QUEUE', 'LANESCOPE_DEPENDENCY', 'LANESCOPE_NODE', 'LANESCOPE_PLACEMENT',
                'LANESCOPE_STEP', 'LANESCOPE_MEMORY'):
    trace.execute(f'DELETE FROM {table} WHERE runId = ?', (run,))


def main():
  source, target, *strategies = sys.argv[1:]
  if os.path.exists(target):
    os.remove(target)
  shutil.copyfile(source, target)
  trace = sqlite3.connect(target)
  runs = trace.execute('SELECT runId, kind, strategy FROM LANESCOPE_RUN ORDER BY runId').fetchall()
  costs = [run for run, kind, _ in runs if kind == 'simulated'][:1]
  for run, kind, strategy in runs:
    if run in costs:
      drop_activities(trace, run)
    elif kind == 'simulated' or strategy not in strategies:
      drop_run(trace, run)
    else:
      keep_steps(trace, run, steps_to_keep(trace, run))
      trace.execute('DELETE FROM LANESCOPE_MEMORY WHERE runId = ?', (run,))
  for (index,) in trace.execute("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql NOT NULL").fetchall():
    trace.execute(f'DROP INDEX "{index}"')
  trace.commit()
  trace.execute('VACUUM')
  trace.close()


if __name__ == '__main__':
  main()
