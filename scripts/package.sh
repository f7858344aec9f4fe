#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the packages of docs/guides/packages.md into build/package/packages.
#   scripts/package.sh [CMAKE_OPTION...]     e.g. -DLANESCOPE_CUDA=OFF
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build
./scripts/install-packages.sh
cmake --preset package "$@"
cmake --build --preset package
cd build/package
rm -rf packages
cpack
