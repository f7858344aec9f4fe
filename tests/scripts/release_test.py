# SPDX-License-Identifier: Apache-2.0
"""A release is made of what the tag has, appears whole, and leaves the builds alone. Packages and wheels are stand-ins."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CMAKE = "project(lanescope VERSION 0.2.0 LANGUAGES CXX)\n"
PACKAGE = "#!/bin/sh\nmkdir -p build/package/packages/_CPack_Packages && cat VERSION > build/package/packages/lanescope_0.2.0_amd64.deb\n"
PYTHON = """#!/bin/sh
case "$*" in
  *--version*) exit 0 ;;
  *--wheel-dir*) [ ! -e "$NO_WHEEL" ] || exit 1; echo wheel > "$7/lanescope-0.2.0-py3-none-any.whl" ;;
esac
"""


@unittest.skipIf(shutil.which("git") is None, "there is no git")
class Release(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name) / "lanescope"
        (self.root / "scripts").mkdir(parents=True)
        for name in ("release.sh", "fresh_system.sh"):
            shutil.copy(ROOT / "scripts" / name, self.root / "scripts")
        self.bin = pathlib.Path(directory.name) / "bin"
        self.bin.mkdir()
        self.write(self.bin / "python3", PYTHON, 0o755)
        self.write(self.root / "scripts" / "package.sh", PACKAGE, 0o755)
        self.write(self.root / "CMakeLists.txt", CMAKE)
        self.write(self.root / "NEWS.md", "## 0.2.0, 28 November 2026\n")
        self.write(self.root / "Containerfile", "FROM debian:12\n")
        self.write(self.root / "VERSION", "tagged\n")
        self.write(self.root / ".gitignore", "build\n")
        self.git("init", "--quiet")
        self.commit()

    @staticmethod
    def write(path, text, mode=0o644):
        path.write_text(text)
        path.chmod(mode)

    def git(self, *arguments):
        command = ["git", "-C", str(self.root), "-c", "user.name=A", "-c", "user.email=a@b", *arguments]
        subprocess.run(command, check=True, capture_output=True)

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "A")

    def release(self, *arguments, **environment):
        env = {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}", "NO_WHEEL": "/nowhere", **environment}
        return subprocess.run([str(self.root / "scripts" / "release.sh"), *arguments], capture_output=True, text=True, env=env)

    def refusal(self, *arguments):
        result = self.release(*arguments)
        self.assertNotEqual(result.returncode, 0)
        self.assertFalse((self.root / "build" / "dist").exists())
        return result.stderr.strip()

    def test_what_is_no_release_is_refused_before_anything_is_built(self):
        self.assertEqual(self.refusal("v0.2.0"), "release: there is no tag v0.2.0")
        self.git("tag", "v0.2.0")
        self.git("tag", "0.2.0")
        self.git("tag", "v0.3.0")
        for name in ("0.2.0", "v0.2", "main"):
            self.assertEqual(self.refusal(name), f"release: a tag is v and three numbers, such as v0.2.0; this is '{name}'")
        self.assertEqual(self.refusal("v0.3.0"), "release: CMakeLists.txt of v0.3.0 names another version")
        self.write(self.root / "NEWS.md", "## 0.2.0, not released\n")
        self.commit()
        self.git("tag", "--force", "v0.2.0")
        self.assertEqual(self.refusal("v0.2.0"), "release: NEWS.md of v0.2.0 has no heading '## 0.2.0, DAY MONTH YEAR'")

    def test_all_is_of_the_tag_with_checksums_and_nothing_else(self):
        self.git("tag", "v0.2.0")
        self.write(self.root / "VERSION", "later\n")
        program = self.root / "build" / "release" / "bin" / "lanescope"
        program.parent.mkdir(parents=True)
        program.write_text("built")
        result = self.release("v0.2.0")
        self.assertEqual(result.returncode, 0, result.stderr)
        dist = self.root / "build" / "dist" / "v0.2.0"
        made = {"lanescope-0.2.0.tar.gz", "lanescope_0.2.0_amd64.deb", "lanescope-0.2.0-py3-none-any.whl", "Containerfile"}
        self.assertEqual({path.name for path in dist.iterdir()}, made | {"SHA256SUMS"})
        self.assertEqual((dist / "lanescope_0.2.0_amd64.deb").read_text(), "tagged\n")
        with tarfile.open(dist / "lanescope-0.2.0.tar.gz") as archive:
            self.assertEqual(archive.extractfile("lanescope-0.2.0/VERSION").read(), b"tagged\n")
        sums = dict(reversed(line.split()) for line in (dist / "SHA256SUMS").read_text().splitlines())
        self.assertEqual(sums, {name: hashlib.sha256((dist / name).read_bytes()).hexdigest() for name in made})
        self.assertEqual(program.read_text(), "built")

    def test_a_failure_leaves_the_release_of_before(self):
        self.git("tag", "v0.2.0")
        self.assertEqual(self.release("v0.2.0").returncode, 0)
        before = (self.root / "build" / "dist" / "v0.2.0" / "SHA256SUMS").read_text()
        self.assertNotEqual(self.release("v0.2.0", NO_WHEEL=str(self.root / "VERSION")).returncode, 0)
        self.assertEqual((self.root / "build" / "dist" / "v0.2.0" / "SHA256SUMS").read_text(), before)


if __name__ == "__main__":
    unittest.main()
