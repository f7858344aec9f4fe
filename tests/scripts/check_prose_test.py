# SPDX-License-Identifier: Apache-2.0
"""Offences in documents and comments are found, and their counts may only fall."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import check_prose  # noqa: E402

LONG = " ".join(["word"] * 26) + ".\n"


def of_document(text):
    return [what for _, what in check_prose.document_problems(text)]


def of_source(text):
    return [what for _, what in check_prose.comment_problems(text)]


class Documents(unittest.TestCase):
    def test_a_sentence_has_at_most_25_words(self):
        self.assertEqual(of_document(" ".join(["word"] * 25) + ".\n"), [])
        self.assertEqual(of_document(LONG), ["a sentence of 26 words"])

    def test_code_and_a_link_are_what_a_reader_sees_of_them(self):
        self.assertEqual(of_document("`a b c d` " + " ".join(["word"] * 24) + ".\n"), [])
        self.assertEqual(of_document("[one word](" + "long/" * 50 + "x.md) is enough.\n"), [])

    def test_a_line_holds_one_whole_sentence(self):
        self.assertEqual(of_document("One. Two.\n"), ["2 sentences on one line"])
        self.assertEqual(of_document("1. **A title.** One.\n"), [])
        self.assertEqual(of_document("One goes\non here.\n"), ["the sentence goes on in the next line"])
        self.assertEqual(of_document("Numbers like 1.5 ms, e.g. in a.cpp, end none.\n"), [])

    def test_a_line_shows_at_most_200_characters(self):
        self.assertEqual(of_document("a" * 199 + ".\n"), [])
        self.assertEqual(of_document("a" * 200 + ".\n"), ["201 characters"])

    def test_tables_headings_code_and_front_matter_are_free(self):
        self.assertEqual(of_document(f"# {LONG}| {LONG}```\n{LONG}```\n"), [])
        self.assertEqual(of_document(f"---\nname: {LONG}---\n"), [])
        self.assertEqual(of_document("* An item of a list needs no full stop\n"), [])


class Comments(unittest.TestCase):
    def test_a_comment_opens_with_its_subject(self):
        for opening in ("Who", "Whoever", "What", "Of", "Those", "The same"):
            self.assertEqual(of_source(f"// {opening} has taken it.\n"), [f'a comment opens with "{opening}"'])
            self.assertEqual(of_source(f"int a;  // {opening} has taken it.\n"), [f'a comment opens with "{opening}"'])
        self.assertEqual(of_source("// A caller has taken it.\n// What follows is its second line.\n"), [])
        self.assertEqual(of_source("// Whole words alone count.\n// Often.\n"), [])


class Counts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "scripts").mkdir()
        (self.root / "core" / "base").mkdir(parents=True)
        subprocess.run(["git", "init", "--quiet"], cwd=self.root, check=True)
        self.write("a.md", LONG)
        self.write("core/base/a.h", "// What is read.\n")
        check_prose.record(self.root)

    def write(self, path, text):
        (self.root / path).write_text(text)
        subprocess.run(["git", "add", path], cwd=self.root, check=True)

    def allowances(self):
        return check_prose.read_allowances(self.root)

    def test_documents_count_by_file_and_sources_by_room(self):
        self.assertEqual(self.allowances(), {"a.md": 1, "core/base": 1})
        self.assertEqual(list(check_prose.check(self.root)), [])

    def test_a_count_that_rises_is_an_error_with_every_place(self):
        self.write("core/base/b.h", "// Of a device.\n")
        self.assertEqual(list(check_prose.check(self.root)),
                         ['core/base/a.h:1: a comment opens with "What"', 'core/base/b.h:1: a comment opens with "Of"',
                          "core/base: 2 offences, 1 are allowed"])
        self.write("b.md", LONG)
        self.assertIn("b.md: 1 offences, 0 are allowed", list(check_prose.check(self.root)))

    def test_recording_lowers_counts_and_never_raises_one(self):
        self.write("a.md", LONG + LONG)
        self.write("b.md", LONG)
        self.write("core/base/a.h", "// A file is read.\n")
        check_prose.record(self.root)
        self.assertEqual(self.allowances(), {"a.md": 1})

    def test_the_tree_holds_its_allowances(self):
        self.assertEqual(list(check_prose.check(ROOT)) if (ROOT / ".git").exists() else [], [])


if __name__ == "__main__":
    unittest.main()
