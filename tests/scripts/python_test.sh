#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tests of the Python package: python_test.sh PYTHON LANESCOPE [FOLDER]. FOLDER: that of the package's module, where the
# build has made it. Exits with 77 where they cannot run.
set -euo pipefail
cd "$(dirname "$0")/../python"
if ! "$1" -c "import pytest, numpy" 2> /dev/null; then
  echo "Python tests SKIPPED: $1 lacks pytest or NumPy"
  exit 77
fi
export LANESCOPE=$2 PYTHONPATH=$PWD/../../python${3:+:$3} PYTHONDONTWRITEBYTECODE=1
status=0
"$1" -m pytest -q -rs -p no:cacheprovider ./*_test.py || status=$?
if ((status == 5)); then  # pytest's word for: nothing ran
  exit 77
fi
exit $status
