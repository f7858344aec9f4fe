# SPDX-License-Identifier: Apache-2.0
"""A link that leads nowhere is found, one that leads somewhere is not."""

import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import check_links  # noqa: E402


def messages(files):
    """Messages of a temporary tree that holds `files` (path to text)."""
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory).resolve()
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        return check_links.check_tree(root)[0]


class Links(unittest.TestCase):
    def test_a_file_must_be_there(self):
        self.assertEqual(messages({"a.md": "[b](docs/b.md)", "docs/b.md": "[up](../a.md) [folder](../docs)"}), [])
        self.assertEqual(messages({"a.md": "One.\n[b](b.md)"}), ["a.md:2: b.md is not in the tree"])

    def test_a_link_stays_in_the_tree(self):
        self.assertEqual(messages({"a.md": "[up](..)"}), ["a.md:1: .. is not in the tree"])

    def test_a_heading_must_be_there_by_the_name_that_github_gives_it(self):
        page = "# The page\n## What `run` prints, and when\n"
        self.assertEqual(messages({"a.md": "[x](b.md#what-run-prints-and-when)", "b.md": page}), [])
        self.assertEqual(messages({"a.md": "# Here\n[x](#here) [y](#there)"}), ["a.md:2: #there is no heading there"])

    def test_a_heading_in_code_is_none(self):
        self.assertEqual(len(messages({"a.md": "```\n# code\n```\n[x](#code)"})), 1)

    def test_code_and_addresses_are_not_asked(self):
        self.assertEqual(messages({"a.md": "`[a](b)`\n```\n[c](d)\n```\n[e](https://example.org/f)"}), [])

    def test_the_documents_have_no_broken_link(self):
        self.assertEqual(check_links.check_tree(ROOT)[0], [])


if __name__ == "__main__":
    unittest.main()
