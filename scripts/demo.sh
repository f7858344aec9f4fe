#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a bare machine to the main job in one command: packages, release build, then placements of a training step measured,
# predicted and compared. Takes no arguments.
set -euo pipefail
cd "$(dirname "$0")/.."
if [[ $# -gt 0 ]]; then
  echo "usage: scripts/demo.sh   installs packages, builds, compares placements of DeepCoNN; writes build/demo" >&2
  [[ $1 == --help || $1 == -h ]] && exit 0
  exit 2
fi

graphs=samples/graphs
# The automatic strategies on the plain graph, and the two programs that carry their own device scopes.
rows=(
  $graphs/deepconn_single.pbtxt:single,tower-split,alternating
  $graphs/deepconn_dual.pbtxt:annotated
  $graphs/deepconn_alternating.pbtxt:annotated
)
# Two virtual GPUs with the links of two Tesla K80. Their kernels took 36.499 s in 4120 steps: 8.859 ms a step. The links are slowed by
# the factor by which this machine's arithmetic is slower, so that communication weighs as much as it did there.
machine=samples/machines/two-virtual-gpus-k80-links.json
reference_step=8.859ms
sweep=link.bandwidth=0.1GB/s..100GB/s
output=build/demo
trace=$output/demo.db

fail() {
  echo "demo: $1" >&2
  exit 1
}

show() {  # prints a command and runs it
  printf '\n$ lanescope %s\n\n' "$*"
  build/release/bin/lanescope "$@" || fail "lanescope $1 ended with status $?"
}

./scripts/install-packages.sh
mkdir -p "$output"
rm -f "$trace"
# The CUDA module and the capture, where a toolkit is found: before the table where there is a GPU, else after it.
cuda=(lanescope_cuda lanescope_inject)
if nvidia-smi > /dev/null 2>&1; then
  ./scripts/build.sh release lanescope "${cuda[@]}"
else
  ./scripts/build.sh release lanescope
fi

show compare "${rows[@]}" --details --machine $machine --reference-step $reference_step --trace "$trace" --sweep $sweep --plot "$output/sweep.svg"
cat << 'END'

What to look at:
* Error, in repeats, noise: how far predictions that saw only the row with the star are off, beside how far two measurements differ.
* Copies in a step, and the first sentence: what makes the losers lose, and from which link bandwidth on they would not.
* "infinite" among the bandwidths: the step when copies cost nothing, which no faster link gets below.
END
cat << END

Every run above is in $trace, an SQLite file. Try
  build/release/bin/lanescope gui $trace                 # measured beside predicted, on a timeline
  build/release/bin/lanescope summary $trace --run 1     # what took the time
and on two modelled K80 (published differences a step: dual +2.48 ms, alternating +3.11 ms)
  build/release/bin/lanescope compare $graphs/deepconn_single.pbtxt:single $graphs/deepconn_{dual,alternating}.pbtxt --machine samples/machines/k80x2.json --no-run
END
./scripts/build.sh release "${cuda[@]}"
