# SPDX-License-Identifier: Apache-2.0
"""A subject of more than 72 characters is found, but for those before the rule or the last release."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import check_subjects  # noqa: E402

LONG = "x" * 73


class Repository:
    """A temporary repository with one commit for each subject."""

    def __init__(self, *subjects):
        self._directory = tempfile.TemporaryDirectory()
        self.root = self._directory.name
        self.git("init", "--quiet")
        for subject in subjects:
            self.commit(subject)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._directory.cleanup()

    def git(self, *arguments):
        command = ["git", "-C", self.root, "-c", "user.name=A", "-c", "user.email=a@b", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, subject):
        self.git("commit", "--quiet", "--allow-empty", "--message", subject)

    def head(self):
        return self.git("rev-parse", "HEAD")

    def long_subjects(self, beginning):
        return list(check_subjects.long_subjects(self.root, check_subjects.first_commits(self.root, beginning)))


@unittest.skipIf(shutil.which("git") is None, "there is no git")
class Subjects(unittest.TestCase):
    def test_72_characters_are_fine_and_73_are_not(self):
        with Repository("The rule") as repository:
            beginning = repository.head()
            repository.commit("x" * 72)
            self.assertEqual(repository.long_subjects(beginning), [])
            repository.commit(LONG)
            short = repository.git("rev-parse", "--short", "HEAD")
            self.assertEqual(repository.long_subjects(beginning),
                             [f"{short}: a subject of 73 characters, at most 72: {LONG}"])

    def test_a_body_may_have_longer_lines(self):
        with Repository("The rule") as repository:
            beginning = repository.head()
            repository.commit(f"A subject\n\n{LONG}")
            self.assertEqual(repository.long_subjects(beginning), [])

    def test_what_came_before_the_rule_stays(self):
        with Repository(LONG, "The rule") as repository:
            self.assertEqual(repository.long_subjects(repository.head()), [])

    def test_a_release_is_a_new_beginning(self):
        with Repository("The rule") as repository:
            beginning = repository.head()
            repository.commit(LONG)
            repository.git("tag", "v0.3.0")
            self.assertEqual(repository.long_subjects(beginning), [])
            repository.commit(LONG)
            self.assertEqual(len(repository.long_subjects(beginning)), 1)

    def test_a_history_without_either_has_no_beginning(self):
        with Repository("A") as repository:
            self.assertEqual(check_subjects.first_commits(repository.root, "d2b898f9"), [])


if __name__ == "__main__":
    unittest.main()
