# SPDX-License-Identifier: Apache-2.0
"""A file that leaves an include to its neighbour in a batch is found."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Standalone(unittest.TestCase):
    def test_what_a_batch_hides(self):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            (root / "scripts").mkdir()
            (root / "build").mkdir()
            script = shutil.copy(ROOT / "scripts" / "check_standalone.py", root / "scripts")
            (root / "first.cpp").write_text("#include <vector>\nstd::vector<int> first;\n")
            (root / "second.cpp").write_text("std::vector<int> second;\n")
            batch = root / "build" / "batch.cpp"
            batch.write_text('#include "first.cpp"\n#include "second.cpp"\n')
            command = f"c++ -I{root} -Winvalid-pch -include /none/cmake_pch.hxx -o batch.o -c {batch}"
            (root / "build" / "compile_commands.json").write_text(
                json.dumps([{"file": str(batch), "directory": str(root), "command": command}]))

            done = subprocess.run(["python3", script, root / "build"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 1, done.stderr)
            error, count = done.stdout.splitlines()
            self.assertIn(f"{root}/second.cpp:1", error)
            self.assertEqual(count, "2 files, 1 do not compile by themselves")

            done = subprocess.run(["python3", script, root / "build", root / "first.cpp"], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (0, "1 files, 0 do not compile by themselves\n"))


if __name__ == "__main__":
    unittest.main()
