#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a wheel by pip in a fresh Debian of the release that this machine has, where neither compiler nor libraries of the
# build are, uses the program and runs the package's tests there. Wants root, debootstrap, a mirror of Debian and a registry of
# Python packages.
#   scripts/try-wheel.sh FOLDER WHEEL     FOLDER gets the system.
set -euo pipefail
# shellcheck source=scripts/fresh_system.sh
. "$(dirname "$0")/fresh_system.sh"
source_dir=$(cd "$(dirname "$0")/.." && pwd)
if (($# != 2)) || [[ $1 == -* ]]; then
  sed -n '3,6s/^# //p' "$0"
  exit 2
fi
folder=$(mkdir -p "$1" && cd "$1" && pwd)
wheel=$2
[[ -f $wheel ]] || fail "there is no wheel $wheel"
require_debootstrap
release=$(. /etc/os-release && echo "$VERSION_ID")
root=$folder/wheel-$release

echo "== Debian $release: $(basename "$wheel")"
fresh_system "$release" "$root"
install_in "$root" python3-venv
mkdir "$root/try"
cp "$wheel" "$root/try"
cp -r "$source_dir/samples" "$root/try"
mkdir "$root/try/tests"
cp -r "$source_dir/tests/python" "$root/try/tests"
inside --network "$root" sh -c 'python3 -m venv /env && /env/bin/pip install --quiet --disable-pip-version-check "$0[pandas,arrow]" pytest' \
  "/try/$(basename "$wheel")"
use_program "$root" /env/bin/lanescope /try/samples
# From elsewhere, so that nothing but the installed package is found.
inside "$root" sh -c 'cd /tmp && LANESCOPE=/env/bin/lanescope PATH=/env/bin:$PATH /env/bin/python -m pytest -q -rs -p no:cacheprovider \
  /try/tests/python/package_test.py /try/tests/python/samples_test.py'
