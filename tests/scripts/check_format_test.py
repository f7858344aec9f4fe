# SPDX-License-Identifier: Apache-2.0
"""The format check of a source archive says that it skips, that of a checkout checks."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Tree:
    """A temporary tree with the script and one badly formatted file."""

    def __init__(self):
        self._directory = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self._directory.name) / "outer" / "lanescope"
        (self.root / "scripts").mkdir(parents=True)
        for name in ("check_format.sh", "changed_tests.py"):
            shutil.copy(ROOT / "scripts" / name, self.root / "scripts")
        shutil.copy(ROOT / ".clang-format", self.root)
        (self.root / "bad.cpp").write_text("// SPDX-License-Identifier: Apache-2.0\nint   main( ){return 0 ;}\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._directory.cleanup()

    def git_init(self, folder):
        for command in (["init", "--quiet"], ["add", "--all"]):
            self.git(folder, *command)

    @staticmethod
    def git(folder, *arguments):
        command = ["git", "-C", str(folder), "-c", "user.name=A", "-c", "user.email=a@b", *arguments]
        subprocess.run(command, check=True, capture_output=True)

    def check(self, *arguments):
        return subprocess.run([str(self.root / "scripts" / "check_format.sh"), *arguments], capture_output=True, text=True)


@unittest.skipIf(shutil.which("git") is None, "there is no git")
class CheckFormat(unittest.TestCase):
    def test_an_archive_skips_visibly(self):
        with Tree() as tree:
            result = tree.check()
            self.assertEqual((result.returncode, result.stdout),
                             (0, "format check SKIPPED: this is no git checkout\n"))

    def test_so_does_an_archive_inside_another_checkout(self):
        with Tree() as tree:
            (tree.root.parent / "other.txt").write_text("")
            subprocess.run(["git", "-C", str(tree.root.parent), "init", "--quiet"], check=True, capture_output=True)
            result = tree.check()
            self.assertEqual(result.returncode, 0)
            self.assertIn("SKIPPED: this is no git checkout", result.stdout)

    @unittest.skipIf(shutil.which("clang-format-14") is None, "there is no clang-format 14")
    def test_a_checkout_is_checked(self):
        with Tree() as tree:
            tree.git_init(tree.root)
            result = tree.check()
            self.assertEqual(result.returncode, 1)
            self.assertIn("bad.cpp", result.stderr)

    @unittest.skipIf(shutil.which("clang-format-14") is None, "there is no clang-format 14")
    def test_of_a_change_the_changed_files_are_checked(self):
        with Tree() as tree:
            tree.git_init(tree.root)
            tree.git(tree.root, "commit", "--quiet", "--message", "A")
            good = tree.root / "good.cpp"
            good.write_text("// SPDX-License-Identifier: Apache-2.0\nint x;\n")
            self.assertEqual(tree.check("--changed").stdout, "format check: 1 files\n")
            good.write_text("// SPDX-License-Identifier: Apache-2.0\nint   x;\n")
            result = tree.check("--changed")
            self.assertEqual(result.returncode, 1)
            self.assertIn("good.cpp", result.stderr)
            self.assertNotIn("bad.cpp", result.stderr)


if __name__ == "__main__":
    unittest.main()
