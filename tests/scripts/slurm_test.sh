#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Steps that Slurm starts: slurm_test.sh SOURCES PROGRAM. Controller and two nodes of this computer, with a key of their own,
# listen on loopback; srun (by PMIx) and mpirun in an allocation start the processes. Wants root, slurmctld, slurmd, munge and
# OpenMPI, and what Slurm needs for PMIx (Debian: slurm-wlm-basic-plugins, libpmix-dev); 77: one of them is missing, or they
# do not start here.
set -euo pipefail
sources=$1 program=$2
graph=$sources/samples/graphs/deepconn_dual.pbtxt machine=$sources/samples/machines/two-tasks.json
work=$(mktemp -d)

skip() {
  echo "SKIPPED: $1"
  exit 77
}
fail() {
  echo "FAILED: $1" >&2
  tail -n 20 "$work"/*.err >&2 2> /dev/null || true
  exit 1
}
stop() {  # stop DAEMON: and waits until it has written what it had to
  [[ -s $work/$1.pid ]] || return 0
  local pid
  pid=$(< "$work/$1.pid")
  kill "$pid" 2> /dev/null || return 0
  for _ in {1..100}; do
    grep --quiet '^State:.[^Z]' "/proc/$pid/status" 2> /dev/null || return 0
    sleep 0.1
  done
}
clean() {
  for daemon in node1 node2 controller munged; do stop $daemon; done
  rm -rf "$work"
}
for tool in slurmctld slurmd srun salloc munged mpirun python3; do
  command -v $tool > /dev/null || skip "$tool is not installed"
done
((EUID == 0)) || skip "the daemons take root"
trap clean EXIT

chmod 755 "$work"
mkdir -p "$work"/{state,spool-node1,spool-node2,tmp-node1,tmp-node2,munge}
chmod 755 "$work/munge"
head -c 1024 /dev/urandom > "$work/key"
chmod 600 "$work/key"
munged --socket="$work/munge/socket" --key-file="$work/key" --pid-file="$work/munged.pid" --log-file="$work/munged.log" \
  --seed-file="$work/seed" 2> "$work/munged.err" || skip "munged does not start here: $(head -n 1 "$work/munged.err")"
read -r controller node1 node2 < <(python3 -c '
import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
print(*(s.getsockname()[1] for s in sockets))')
cat > "$work/slurm.conf" << CONFIGURATION
ClusterName=here
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$controller
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$work/munge/socket
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool-%n
TmpFS=$work/tmp-%n
SlurmctldPidFile=$work/controller.pid
SlurmdPidFile=$work/%n.pid
SlurmctldLogFile=$work/controller.log
SlurmdLogFile=$work/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
ReturnToService=2
NodeName=node1 NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$node1 CPUs=1 State=UNKNOWN
NodeName=node2 NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$node2 CPUs=1 State=UNKNOWN
PartitionName=all Nodes=node[1-2] Default=YES State=UP
CONFIGURATION
export SLURM_CONF=$work/slurm.conf OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
slurmctld 2> "$work/controller.err" || skip "slurmctld does not start here: $(head -n 1 "$work/controller.err")"
for node in node1 node2; do
  slurmd -N $node 2> "$work/$node.err" || skip "slurmd does not start here: $(head -n 1 "$work/$node.err")"
done
idle=0
for _ in {1..100}; do
  idle=$(sinfo -h -t idle -o %D 2> /dev/null | head -n 1)
  ((${idle:-0} == 2)) && break
  sleep 0.1
done
((${idle:-0} == 2)) || skip "Slurm's nodes do not come up here"
srun --mpi=list 2>&1 | grep --quiet pmix || skip "Slurm has no plug-in for PMIx"
srun -N 2 -n 2 --mpi=pmix true 2> "$work/pmix.err" || skip "Slurm starts nothing by PMIx here: $(head -n 1 "$work/pmix.err")"

step() {  # step NAME COMMAND...: a step of tower-split by the launcher in front
  local name=$1
  shift
  timeout 60 "$@" "$program" run "$graph" --machine "$machine" --strategy tower-split --steps 2 --save-fetches "$work/$name" \
    < /dev/null > "$work/$name.out" 2> "$work/$name.err" || fail "$name: no step"
}

# Law: two processes that Slurm starts, on a node each, fetch the bits of one process that plays both.
"$program" run "$graph" --machine "$machine" --strategy tower-split --steps 2 --save-fetches "$work/alone" > /dev/null 2> "$work/alone.err"
step srun srun -N 2 -n 2 --mpi=pmix
step salloc salloc --quiet -N 2 -n 2 mpirun --bind-to none
for name in srun salloc; do
  grep --quiet 'rank 1 on .* as /job:worker/task:1' "$work/$name.out" "$work/$name.err" || fail "$name: not two processes"
  diff --recursive "$work/alone" "$work/$name" > "$work/$name.err" || fail "$name: other bits"
done

# Law: where Slurm gives processes nothing to find each other by, each says so and what to do; none runs the whole.
if timeout 60 srun -N 2 -n 2 --mpi=none "$program" run "$graph" --machine "$machine" < /dev/null > "$work/none.out" 2> "$work/none.err"; then
  fail "processes that cannot find each other ran"
fi
(($(grep --count 'error: FailedPrecondition: rank [01] of 2 on .*--mpi=pmix' "$work/none.err") == 2)) || fail "not a line of each process"

# Law: a job that Slurm ends leaves no process.
timeout 60 srun -N 2 -n 2 --mpi=pmix "$program" run "$graph" --machine "$machine" --strategy tower-split --steps 100000 \
  < /dev/null > "$work/cancelled.out" 2> "$work/cancelled.err" &
job=$!
for _ in {1..300}; do
  (($(pgrep --count --full -- "^$program run .*--steps 100000" || true) == 2)) && break
  sleep 0.1
done
scancel "$(squeue --noheader --states=running --format=%i)"
wait $job && fail "a cancelled job ended well"
for _ in {1..100}; do
  pgrep --full -- "^$program run .*--steps 100000" > /dev/null || break
  sleep 0.1
done
! pgrep --full -- "^$program run .*--steps 100000" > /dev/null || fail "a cancelled job's processes run on"
echo "two nodes of Slurm $(slurmd -V | cut -d ' ' -f 2): srun by PMIx, mpirun in an allocation, no PMIx, scancel"
