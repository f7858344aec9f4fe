#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the subjects of commits have at most 72 characters.

Usage: check_subjects.py

Looks at the commits since the last release (the newest tag v*.*.*), and where that is older or there is none, since the one
with which the rule began: older subjects are longer.
"""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_CHARACTERS = 72
BEGINNING = "47df85f0"


def git(root, *arguments):
    """What git prints; None where it fails."""
    run = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True)
    return run.stdout if run.returncode == 0 else None


def first_commits(root, beginning):
    """The commits that the check begins after; none: this history has neither."""
    release = git(root, "describe", "--tags", "--abbrev=0", "--match", "v*.*.*")
    known = [beginning] if git(root, "merge-base", "--is-ancestor", beginning, "HEAD") is not None else []
    return known + ([release.strip()] if release else [])


def long_subjects(root, after):
    """Messages of the commits with too long a subject that none of `after` has."""
    listed = git(root, "log", "--format=%h %s", "HEAD", "--not", *after)
    for line in listed.splitlines():
        commit, subject = line.split(" ", 1)
        if len(subject) > MOST_CHARACTERS:
            yield f"{commit}: a subject of {len(subject)} characters, at most {MOST_CHARACTERS}: {subject}"


def main():
    if not (ROOT / ".git").exists():
        print("subject check SKIPPED: this is no git checkout")
        return 0
    after = first_commits(ROOT, BEGINNING)
    if not after:
        print(f"subject check SKIPPED: this history goes back neither to a release nor to {BEGINNING}")
        return 0
    found = list(long_subjects(ROOT, after))
    count = git(ROOT, "rev-list", "--count", "HEAD", "--not", *after).strip()
    print("\n".join(found + [f"subject check: {count} commits, {len(found)} with too long a subject"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
