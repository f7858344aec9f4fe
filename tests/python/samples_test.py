# SPDX-License-Identifier: Apache-2.0
"""The scripts of samples/python run."""

import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("lanescope._core", reason="the module of the package is not built (it needs nanobind)")

SCRIPTS = sorted((pathlib.Path(__file__).parent.parent.parent / "samples" / "python").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_sample_runs(script, tmp_path):
    if "torch" in script.stem:
        pytest.importorskip("torch", reason="PyTorch is not installed")
    arguments = [str(tmp_path / "page.html")] if script.stem == "compare_placements" else []
    done = subprocess.run([sys.executable, str(script), *arguments], cwd=tmp_path, capture_output=True, text=True, check=False,
                          env=os.environ)
    assert done.returncode == 0, done.stderr
    assert done.stdout
