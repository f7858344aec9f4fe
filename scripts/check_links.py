#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the links of documents lead somewhere: to a file or folder of the tree, and to a heading of a document.

Usage: check_links.py [ROOT]. Prints one line a broken link; exit status 1 if there are any. Addresses are not asked.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BESIDE = frozenset({"build", ".git", "golden"})
FENCED = re.compile(r"^\s*```.*?^\s*```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#+\s+(.*)$", re.MULTILINE)
ADDRESS = re.compile(r"[a-z]+:")


def without_code(text):
    """Code becomes blank, with its lines kept."""
    text = FENCED.sub(lambda code: "\n" * code.group().count("\n"), text)
    return INLINE.sub("", text)


def anchors(text):
    """The names by which headings are linked, as GitHub makes them."""
    for heading in HEADING.findall(FENCED.sub("", text)):
        words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        yield re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def broken_links(root, path):
    """(line, target, why) of the links of one document that lead nowhere."""
    text = path.read_text(encoding="utf-8")
    for number, line in enumerate(without_code(text).split("\n"), 1):
        for target in LINK.findall(line):
            if ADDRESS.match(target):
                continue
            file, _, anchor = target.partition("#")
            there = (path.parent / file).resolve() if file else path
            if not there.exists() or not there.is_relative_to(root):
                yield number, target, "is not in the tree"
            elif anchor and anchor not in anchors(there.read_text(encoding="utf-8")):
                yield number, target, "is no heading there"


def check_tree(root):
    """All messages of a tree, and the number of documents read."""
    documents = [path for path in sorted(root.rglob("*.md")) if not BESIDE & set(path.relative_to(root).parts)]
    return [f"{path.relative_to(root)}:{line}: {target} {why}" for path in documents
            for line, target, why in broken_links(root, path)], len(documents)


def main():
    messages, documents = check_tree(pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT)
    print("\n".join(messages + [f"links: {documents} documents, {len(messages)} broken"]))
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
