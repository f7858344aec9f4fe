#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Steps of two hosts: hosts_test.sh SOURCES PROGRAM. The hosts are namespaces with a network, a name and shared memory of
# their own, the second with a clock that is 1000 s ahead, joined by a cable of 100 Mbit/s (tc); mpirun starts the processes
# there as it would by ssh. Wants root, iproute2 and OpenMPI; 77: one of them is missing, or this system does not allow it.
set -euo pipefail
sources=$1 program=$2
graph=$sources/samples/graphs/deepconn_dual.pbtxt
unique=ls$$
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
clean() {
  for number in 1 2; do
    ip netns pids "${unique}node$number" 2> /dev/null | xargs --no-run-if-empty kill -KILL || true  # what a cut cable left
    ip netns del "${unique}node$number" 2> /dev/null || true
  done
  rm -rf "$work"
}
for tool in ip tc mpirun unshare python3; do
  command -v $tool > /dev/null || skip "$tool is not installed"
done
((EUID == 0)) || skip "making hosts takes root"
trap clean EXIT
{ ip netns add "${unique}node1" && ip netns add "${unique}node2" &&
  ip link add "${unique}a" netns "${unique}node1" type veth peer name "${unique}b" netns "${unique}node2"; } 2> /dev/null ||
  skip "this system makes no network namespaces"
inside() {  # inside 1|2 COMMAND...
  local number=$1
  shift
  ip netns exec "${unique}node$number" "$@"
}
inside 1 ip addr add 10.77.0.1/24 dev "${unique}a"
inside 2 ip addr add 10.77.0.2/24 dev "${unique}b"
inside 1 ip link set "${unique}a" up
inside 2 ip link set "${unique}b" up
inside 1 ip link set lo up
inside 2 ip link set lo up
readonly bytes_per_second=12500000
for end in 1:a 2:b; do
  inside "${end%:*}" tc qdisc add dev "$unique${end#*:}" root tbf rate 100mbit burst 32k latency 200ms 2> /dev/null ||
    skip "this system shapes no traffic"
done

readonly seconds_ahead=1000
ahead=(--time --monotonic $seconds_ahead)
unshare "${ahead[@]}" true 2> /dev/null || {
  echo "SKIPPED in part: this system has one clock for all"
  ahead=()
}
# As ssh: HOST COMMAND...
cat > "$work/agent" << AGENT
#!/usr/bin/env bash
host=\$1
shift
exec ip netns exec $unique\$host unshare --uts --mount ${ahead[*]} bash -c "hostname \$host; mount -t tmpfs none /dev/shm; \$*"
AGENT
chmod +x "$work/agent"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# From node1; what it prints is in $work/NAME and $work/NAME.err.
launch() {  # launch NAME ARGUMENT...
  local name=$1
  shift
  inside 1 unshare --uts --mount bash -c 'hostname node1; mount -t tmpfs none /dev/shm; exec timeout 100 mpirun "$@"' mpirun --mca plm_rsh_agent "$work/agent" \
    --mca btl tcp,self --mca btl_tcp_if_exclude lo --bind-to none "$@" > "$work/$name" 2> "$work/$name.err"
}

# Law: two hosts fetch the bits of one process that plays both, and what both did stands in one trace by one clock.
cluster=ps=node1:1,worker=node2:1
cat > "$work/gpu.json" << 'MACHINE'
{"devices": [{"name": "CPU:0", "kind": "host", "workers": 1}, {"name": "GPU:0", "kind": "virtual", "memory": "2GiB", "workers": 1}],
 "links": [{"between": ["CPU:0", "GPU:0"], "bandwidth": "8GB/s", "latency": "60us"}]}
MACHINE
run=(run "$graph" --cluster "$cluster" --machine "$work/gpu.json" --strategy tower-split --warmup 1 --json)
launch two -host node1:1,node2:1 "$program" "${run[@]}" --steps 2 --trace "$work/two.db" || fail "a run on two hosts"
"$program" "${run[@]}" --steps 2 > "$work/one" 2> "$work/one.err" || fail "the same in one process"
python3 - "$work" "${#ahead[@]}" $seconds_ahead << 'CHECK' || fail "what two hosts fetch and record"
import json, sqlite3, sys
two, one = (json.load(open(f'{sys.argv[1]}/{name}')) for name in ('two', 'one'))
assert two['fetches'] == one['fetches'], (two['fetches'], one['fetches'])
assert ['node1' in two['ranks'][0]['name'], 'node2' in two['ranks'][1]['name']] == [True, True], two['ranks']
clock = two['ranks'][1]
seconds = int(sys.argv[3]) if int(sys.argv[2]) else 0
assert abs(clock['clock_ahead_ns'] - seconds * 10**9) < 10**8 and 0 < clock['clock_uncertainty_ns'] < 10**8, clock
trace = sqlite3.connect(f'{sys.argv[1]}/two.db')
tasks = trace.execute('SELECT name, process, clockAheadNs FROM LANESCOPE_TASK ORDER BY task').fetchall()
assert [(name, process) for name, process, _ in tasks] == [('/job:ps/task:0', two['ranks'][0]['name']),
                                                           ('/job:worker/task:0', two['ranks'][1]['name'])], tasks
assert abs(tasks[1][2] - clock['clock_ahead_ns']) < 10**8, tasks
for kind in 'KERNEL', 'MEMCPY':
  devices, events, outside = trace.execute(f'''
    SELECT COUNT(DISTINCT e.deviceId), COUNT(*), SUM(e.start < s.start - 1000000 OR e.end > s.end + 1000000) FROM CUPTI_ACTIVITY_KIND_{kind} e
    JOIN LANESCOPE_ACTIVITY a ON a.correlationId = e.correlationId AND a.globalPid = e.globalPid
    JOIN LANESCOPE_STEP s ON s.runId = (a.globalPid >> 48) AND s.step = a.step''').fetchone()
  assert events > 0 and outside == 0, (kind, devices, events, outside)
  assert kind == 'MEMCPY' or devices >= 2, devices
between, = trace.execute('''SELECT COUNT(*) FROM LANESCOPE_COMMAND c JOIN LANESCOPE_DEVICE s ON s.deviceId = c.src
  JOIN LANESCOPE_DEVICE d ON d.deviceId = c.dst WHERE c.kind = 'copy' AND (s.name LIKE '%:ps/%') <> (d.name LIKE '%:ps/%')''').fetchone()
assert between > 0, 'no tensor goes from host to host'
CHECK

# Law: so do the networks of an ensemble, which begin at the same moment by that clock.
ensemble=(run "$sources/samples/graphs/polynomial.pbtxt" --cluster "$cluster" --machine "$work/gpu.json" --replicas --json)
launch ensemble -host node1:1,node2:1 "$program" "${ensemble[@]}" --trace "$work/ensemble.db" || fail "an ensemble on two hosts"
"$program" "${ensemble[@]}" > "$work/alone" 2> "$work/alone.err" || fail "the same in one process"
python3 - "$work" << 'CHECK' || fail "what an ensemble on two hosts fetches and records"
import json, sqlite3, sys
two, one = (json.load(open(f'{sys.argv[1]}/{name}'))['replicas'] for name in ('ensemble', 'alone'))
assert [of['fetches'] for of in two] == [of['fetches'] for of in one] and len(two) == 2, (two, one)
trace = sqlite3.connect(f'{sys.argv[1]}/ensemble.db')
runs = trace.execute('''SELECT MIN(s.start) + r.clockOriginNs, COUNT(*) FROM LANESCOPE_STEP s JOIN LANESCOPE_RUN r USING (runId)
  GROUP BY runId ORDER BY runId''').fetchall()
assert [steps for _, steps in runs] == [10, 10] and abs(runs[0][0] - runs[1][0]) < 10**9, runs
CHECK

# Law: a cost file knows that the tasks have hosts of their own, each with all of its cores.
launch calibrate -host node1:1,node2:1 "$program" calibrate "$work/two.db" -o "$work/hosts.json" || fail "a calibration by two hosts"
python3 - "$work" "$(nproc)" << 'CHECK' || fail "what a cost file says of two hosts"
import json, sys
interference = json.load(open(f'{sys.argv[1]}/hosts.json'))['interference']
computer, = interference['other_hosts']
assert computer['tasks'] == ['/job:worker/task:0'], computer
assert interference['host']['cores'] == computer['cores'] == int(sys.argv[2]), interference
CHECK

# Law: each host measures what it has; a measured network is the cable, neither faster nor half as fast.
echo '{"devices": [{"name": "CPU:0", "kind": "host", "workers": 1}]}' > "$work/cpu.json"
launch devices -host node1:1,node2:1 "$program" devices --machine "$work/cpu.json" --cluster "$cluster" --measure \
  -o "$work/measured.json" || fail "a network that is measured"
python3 - "$work" $bytes_per_second << 'CHECK' || fail "what the network measures"
import json, re, sys
scale = {'GB/s': 1e9, 'MB/s': 1e6, 'kB/s': 1e3, 'B/s': 1}
machine = json.load(open(f'{sys.argv[1]}/measured.json'))
number, unit = re.fullmatch(r'([\d.e+]+) ?(\S+)', machine['links'][0]['bandwidth']).groups()
measured = float(number) * scale[unit]
assert 0.5 * float(sys.argv[2]) <= measured <= 1.05 * float(sys.argv[2]), measured
said = open(f'{sys.argv[1]}/devices').read()
assert re.findall(r'Measured by (rank \d on node\d), one worker', said) == ['rank 0 on node1', 'rank 1 on node2'], said
assert all('peak' in device and 'memory_bandwidth' in device for device in machine['devices']), machine
CHECK

# Law: a step that the cable decides is predicted from that network and a run on one of the hosts. The hosts have no GPUs,
# so that messages take what they take: it is the placement by towers, on processors. With HOSTS_STEPS=N in the environment
# more steps are measured, and what is printed says more.
"$program" place "$graph" --cluster "$cluster" --machine "$work/gpu.json" --strategy tower-split -o "$work/towers.json" \
  > "$work/place.err" 2>&1 || fail "a placement by towers"
sed -i s/GPU:0/CPU:0/ "$work/towers.json"
step=("$graph" --machine "$work/measured.json" --json)
launch single -host node1:1,node2:1 "$program" run "${step[@]}" --strategy single --steps 8 --warmup 2 --trace "$work/single.db" ||
  fail "a run to calibrate on"
launch towers -host node1:1,node2:1 "$program" run "${step[@]}" --strategy "@$work/towers.json" --steps "${HOSTS_STEPS:-2}" \
  --warmup 1 || fail "a run by towers"
"$program" calibrate "$work/single.db" -o "$work/cost.json" > "$work/calibrate.err" 2>&1 || fail "a calibration"
"$program" simulate "${step[@]}" --strategy "@$work/towers.json" --cost "$work/cost.json" > "$work/predicted" 2> "$work/predict.err" ||
  fail "a prediction"
python3 - "$work" << 'CHECK' || fail "what is predicted of a step that the cable decides"
import json, sys
measured, predicted = (json.loads(open(f'{sys.argv[1]}/{name}').read().splitlines()[-1])['step_ns'] for name in ('towers', 'predicted'))
off = predicted['value'] / measured['median'] - 1
print(f'a step of {measured["median"] / 1e6:.0f} ms between the hosts is predicted {100 * off:+.1f}% off')
assert abs(off) < 0.25, (measured, predicted)
CHECK

in_time() {  # in_time SECONDS COMMAND...: until the command succeeds
  local until=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < until)) || return 1
    sleep 0.2
  done
}
runs() { [[ -s $work/$1.err ]]; }  # it has said how far it is
cable() {  # cable up|down
  inside 2 ip link set "${unique}b" "$1"
}
no_program() { ! inside_runs; }
inside_runs() {
  local pid
  for pid in $(ip netns pids "${unique}node1"); do
    [[ $(cat "/proc/$pid/comm" 2> /dev/null) != lanescope ]] || return 0
  done
  return 1
}

# Law: when the cable is cut the processes end within seconds, and a line names the one that does not answer. (mpirun
# itself goes on to wait for what it has on the other host.)
launch cut -host node1:1,node2:1 "$program" "${run[@]}" --steps 1000000 &
in_time 30 runs cut || fail "a run whose cable will be cut"
cable down
in_time 20 grep -q 'error: DeadlineExceeded: rank 0 of 2 on node1: rank 1 on node2 has not answered' "$work/cut.err" ||
  fail "who has not answered is not named"
in_time 10 no_program || fail "a process goes on without the other host"
ip netns pids "${unique}node1" | xargs kill -KILL
ip netns pids "${unique}node2" | xargs kill -KILL
wait || true
cable up

# Law: told to look after its daemons, mpirun ends then, too.
launch lost --mca oob_tcp_keepalive_time 2 --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 3 \
  -host node1:1,node2:1 "$program" "${run[@]}" --steps 1000000 &
mpirun=$!
in_time 30 runs lost || fail "a run whose cable will be cut again"
cable down
in_time 30 bash -c "! kill -0 $mpirun 2> /dev/null" || fail "mpirun goes on without the other host"
grep -q 'node2' "$work/lost.err" || fail "the host that is gone is not named"
echo "hosts: passed"
