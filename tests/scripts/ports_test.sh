#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Processes of one computer open no port: ports_test.sh SOURCES PROGRAM. Looks at every socket of two that mpirun started,
# while they send each other messages. Wants OpenMPI and Python; 77: one is missing.
set -euo pipefail
sources=$1 program=$2
work=$(mktemp -d)
mpirun=
clean() {
  [[ -z $mpirun ]] || kill "$mpirun" 2> /dev/null || true
  wait || true
  rm -rf "$work"
}
fail() {
  echo "FAILED: $1" >&2
  tail -n 20 "$work/err" >&2 || true
  exit 1
}
for tool in mpirun python3; do
  command -v $tool > /dev/null || {
    echo "SKIPPED: $tool is not installed"
    exit 77
  }
done
trap clean EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpirun --oversubscribe --bind-to none -n 2 "$program" run "$sources/samples/graphs/deepconn_dual.pbtxt" --machine \
  "$sources/samples/machines/two-tasks.json" --strategy tower-split --steps 1000000 --trace "$work/trace.db" \
  > "$work/out" 2> "$work/err" &
mpirun=$!
for ((tenths = 0; ; ++tenths)); do
  [[ ! -s $work/err ]] || break  # it has said how far it is
  ((tenths < 600)) || fail "no step has run within a minute"
  kill -0 $mpirun 2> /dev/null || fail "the run has ended"
  sleep 0.1
done

# Law: no socket of theirs listens for other computers.
python3 - "$program" "$work/trace.db" << 'CHECK' || fail "a port is open"
import os, pathlib, sys
listening = {}
for table in 'tcp', 'tcp6':
  file = pathlib.Path('/proc/net', table)
  for line in file.read_text().splitlines()[1:] if file.exists() else []:
    fields = line.split()
    if fields[3] == '0A':
      listening[fields[9]] = fields[1]
seen = 0
for process in pathlib.Path('/proc').glob('[0-9]*'):
  try:
    if os.fsencode(sys.argv[2]) not in (process / 'cmdline').read_bytes() or os.readlink(process / 'exe') != os.path.realpath(sys.argv[1]):
      continue
    sockets = [os.readlink(file) for file in (process / 'fd').iterdir()]
  except (FileNotFoundError, ProcessLookupError):
    continue
  seen += 1
  for socket in sockets:
    address = listening.get(socket.removeprefix('socket:[').removesuffix(']'))
    assert address is None, f'{process.name} listens at {address}'
assert seen == 2, seen
CHECK
echo "ports: passed"
