#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and installs the Python package as its users do, by `pip install .` in a fresh environment of each interpreter, and
# runs its tests from there. Wants a registry of Python packages, and what scripts/install-packages.sh installs.
#   scripts/try-wheels.sh FOLDER [PYTHON...]     default: python3. FOLDER gets an environment for each.
# LANESCOPE_PIP: further options of pip, e.g. --config-settings=cmake.define.LANESCOPE_CUDA=OFF
set -euo pipefail
source_dir=$(cd "$(dirname "$0")/.." && pwd)
if (($# == 0)) || [[ $1 == -* ]]; then
  sed -n '3,6s/^# //p' "$0"
  exit 2
fi
folder=$(mkdir -p "$1" && cd "$1" && pwd)
shift
interpreters=("$@")
((${#interpreters[@]} > 0)) || interpreters=(python3)

for python in "${interpreters[@]}"; do
  version=$("$python" -c 'import platform; print(platform.python_version())')
  env=$folder/$version
  echo "== Python $version"
  rm -rf "$env"
  "$python" -m venv "$env"
  start=$SECONDS
  # shellcheck disable=SC2086
  "$env/bin/python" -m pip install --quiet --disable-pip-version-check ${LANESCOPE_PIP:-} "$source_dir[pandas,arrow]"
  "$env/bin/python" -m pip install --quiet --disable-pip-version-check pytest
  echo "installed in $((SECONDS - start)) s: $("$env/bin/lanescope" --version)"
  # From elsewhere, so that nothing but the installed package is found.
  cd "$folder"
  LANESCOPE=$env/bin/lanescope PYTHONDONTWRITEBYTECODE=1 PATH=$env/bin:$PATH "$env/bin/python" -m pytest -q -rs -p no:cacheprovider \
    "$source_dir/tests/python/package_test.py" "$source_dir/tests/python/samples_test.py"
  "$env/bin/python" - << 'PYTHON'
import importlib.metadata
import pathlib

import lanescope

folder = pathlib.Path(lanescope.__file__).parent
assert {"_core.pyi", "py.typed"} <= {path.name for path in folder.iterdir()}
assert importlib.metadata.version("lanescope") == lanescope.__version__
print(f"lanescope {lanescope.__version__} of {folder}")
PYTHON
done
