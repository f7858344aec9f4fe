#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks how documents and comments are written.

Usage: check_prose.py             the whole tree against scripts/prose_allowances.txt; exit status 1 if a count has risen
       check_prose.py PATH...     prints what is to be mended in these files
       check_prose.py --record    writes today's counts where they are lower, and drops those that have come to nothing

In documents, outside tables, code and lists of names in code: a sentence has at most 25 words, a line holds one whole sentence, and shows at most
200 characters. In C++, a comment does not open with a clause that stands for its subject ("Who has taken ..", "What is
read ..", "Of a device ..", "Those that ..", "The same for ..").
Documents are counted by file, comments by room, so that a file may move within its room.
"""

import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ALLOWANCES = pathlib.Path("scripts") / "prose_allowances.txt"
MOST_WORDS = 25
MOST_CHARACTERS = 200
# The program writes these.
DERIVED = frozenset({"docs/reference/options.md", "docs/reference/schema.md"})
SOURCES = (".h", ".cpp", ".cu", ".cuh")

FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
FENCE = re.compile(r"^\s*```")
SKIPPED = re.compile(r"^\s*(\||#|!\[|<|$)")
MARKER = re.compile(r"^\s*(?:[*-]|\d+\.)\s+")
LEAD = re.compile(r"^\*\*[^*]+[.:]\*\*\s+")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
CODE = re.compile(r"`[^`]*`")
SHORT_FORM = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|al)\.")
BETWEEN = re.compile(r"(?<=[.!?])[)\"*]*\s+(?=[\"(*]*[A-Z0-9x])")
WHOLE = re.compile(r"[.!?:;,][)\"*]*$")
OPENING = re.compile(r"//+\s*(Who|Whoever|Whom|What|Whatever|Of|Those|The same)\b")


def shown(line):
    """A line as a reader sees it: links by their text, code as one word each."""
    return LINK.sub(r"\1", line).strip()


def sentences(line):
    """The sentences of a line, each inline code as the one word "x". A title in bold before them is none."""
    plain = SHORT_FORM.sub(r"\1", LEAD.sub("", MARKER.sub("", CODE.sub("x", shown(line)))))
    return [sentence for sentence in BETWEEN.split(plain) if sentence]


def words(sentence):
    return sum(1 for word in sentence.split() if re.search(r"\w", word))


def document_problems(text):
    """(line number, what is wrong) of every offence of a Markdown text."""
    in_code = False
    text = FRONT_MATTER.sub(lambda front: "\n" * front.group().count("\n"), text)
    for number, line in enumerate(text.split("\n"), 1):
        if FENCE.match(line):
            in_code = not in_code
        elif not in_code and not SKIPPED.match(line) and CODE.sub("", line).strip():
            found = sentences(line)
            if len(found) > 1:
                yield number, f"{len(found)} sentences on one line"
            if not WHOLE.search(shown(line)) and not MARKER.match(line):
                yield number, "the sentence goes on in the next line"
            if len(shown(line)) > MOST_CHARACTERS:
                yield number, f"{len(shown(line))} characters"
            for sentence in found:
                if words(sentence) > MOST_WORDS:
                    yield number, f"a sentence of {words(sentence)} words"


def comment_problems(text):
    """The same of a C++ source: comments that open without a subject."""
    before = ""
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        whole_line = stripped.startswith("//")
        opens = OPENING.search(line)
        if opens and not (whole_line and before.startswith("//")):
            yield number, f'a comment opens with "{opens.group(1)}"'
        before = "" if stripped.startswith("// SPDX-") else stripped


def room_of(path):
    """Where a file's offences are counted: a document by itself, a source by its room."""
    return path if path.endswith(".md") else "/".join(path.split("/")[:-1][:2])


def problems_of(root, path):
    text = (root / path).read_text(encoding="utf-8")
    return list(document_problems(text) if path.endswith(".md") else comment_problems(text))


def tracked(root):
    listed = subprocess.run(["git", "ls-files", "-z", "--", "*.md", *(f"*{suffix}" for suffix in SOURCES)], cwd=root,
                            capture_output=True, text=True, check=True).stdout.split("\0")
    return [path for path in listed if path and path not in DERIVED and (root / path).is_file()]


def counts(root, paths):
    """By place, the offences: (path, line, what)."""
    found = collections.defaultdict(list)
    for path in paths:
        found[room_of(path)] += [(path, line, what) for line, what in problems_of(root, path)]
    return {place: problems for place, problems in found.items() if problems}


def read_allowances(root):
    file = root / ALLOWANCES
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return {place: int(count) for count, place in (line.split(maxsplit=1) for line in lines if not line.startswith("#"))}


def write_allowances(root, allowances):
    head = "# Offences that scripts/check_prose.py still finds, by document and by room. They may only fall.\n"
    rows = "".join(f"{count} {place}\n" for place, count in sorted(allowances.items()) if count)
    (root / ALLOWANCES).write_text(head + rows, encoding="utf-8")


def check(root):
    """Messages of the places with more offences than they may have."""
    allowances = read_allowances(root)
    for place, found in sorted(counts(root, tracked(root)).items()):
        allowed = allowances.get(place, 0)
        if len(found) > allowed:
            yield from (f"{path}:{line}: {what}" for path, line, what in found)
            yield f"{place}: {len(found)} offences, {allowed} are allowed"


def record(root):
    now = {place: len(found) for place, found in counts(root, tracked(root)).items()}
    before = read_allowances(root) if (root / ALLOWANCES).is_file() else now
    write_allowances(root, {place: min(count, before.get(place, 0)) for place, count in now.items()})


def main():
    arguments = sys.argv[1:]
    if arguments == ["--record"]:
        record(ROOT)
        return 0
    if arguments:
        messages = [f"{path}:{line}: {what}" for path in arguments for line, what in problems_of(pathlib.Path(), path)]
        print("\n".join(messages)) if messages else None
        return 1 if messages else 0
    if not (ROOT / ".git").exists():
        print("prose check SKIPPED: this is no git checkout")
        return 0
    messages = list(check(ROOT))
    print("\n".join(messages + [f"prose check: {len(tracked(ROOT))} files, {sum(m.endswith('allowed') for m in messages)} with more"
                                " offences than before"]))
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
