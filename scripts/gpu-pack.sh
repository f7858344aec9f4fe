#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Packs what scripts/gpu-check.sh and bench/accuracy/hardware.sh run into one file, so that on the computer with the GPU
# nothing is compiled and nothing installed: the programs, stripped, and the libraries they need but for the system's and
# CUDA's own.
#   scripts/gpu-pack.sh [PACK] [BUILD]   PACK: default build/gpu-pack.tar.gz; BUILD: a build folder, default build/gpu, made
#                                        with the CUDA module and the tests if it is not there
# From the environment: CMAKE_EXTRA, further options for cmake (-DLANESCOPE_CUDA_ARCHITECTURES=90 for one kind of GPU).
# There: LANESCOPE_PACK=build/gpu-pack.tar.gz scripts/gpu-check.sh, in a checkout of the same commit. The computers must be
# of one architecture, and the C library there not older.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ${1:-} == -* ]]; then
  sed -n '3,10s/^# \{0,1\}//p' "$0"
  exit $([[ $1 == -h || $1 == --help ]] && echo 0 || echo 2)
fi
pack=${1:-build/gpu-pack.tar.gz} build=${2:-build/gpu}
programs=(lanescope gpu_tests liblanescope_cuda.so liblanescope_inject.so)

if [[ ! -f $build/CMakeCache.txt ]]; then
  # shellcheck disable=SC2086  # several options
  cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DLANESCOPE_CUDA=ON -DLANESCOPE_BENCH=ON ${CMAKE_EXTRA:-}
fi
targets=(lanescope gpu_tests lanescope_cuda lanescope_inject)
if grep -q '^LANESCOPE_BENCH:BOOL=ON' "$build/CMakeCache.txt"; then
  programs+=(bench_accuracy) targets+=(bench_accuracy)
fi
cmake --build "$build" --parallel "$(nproc)" --target "${targets[@]}"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin" "$folder/lib"
for program in "${programs[@]}"; do
  strip -o "$folder/bin/$program" "$build/bin/$program"
done

# What every Linux has, in a version that the rest of it needs, and what comes with the GPU.
system='^(linux-vdso|ld-linux.*|libc|libm|libdl|librt|libpthread|libgcc_s|libz|libstdc\+\+|libcuda|libcublas|libcublasLt|libcudnn.*|libcudart|libcupti)\.so'
mapfile -t needed < <(ldd "${programs[@]/#/$build/bin/}" | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u)
openblas=$(ldconfig -p | awk '$1 == "libopenblas.so.0" {print $NF; exit}')  # loaded when the first product runs
for library in "${needed[@]}" $openblas; do
  name=${library##*/}
  [[ $name =~ $system ]] || cp -L "$library" "$folder/lib/$name"
done
[[ -f $folder/lib/libopenblas.so.0 ]] || echo "gpu-pack: no OpenBLAS found; the other computer must have it" >&2
git rev-parse HEAD > "$folder/commit" 2> /dev/null || echo unknown > "$folder/commit"

mkdir -p "$(dirname "$pack")"
tar -C "$folder" -czf "$pack" .
echo "$pack: $(($(stat -c %s "$pack") / 1024)) KiB, $(ls "$folder/lib" | wc -l) libraries; unpacked $(du -sm "$folder" | cut -f1) MiB"
