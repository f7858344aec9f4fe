# SPDX-License-Identifier: Apache-2.0
"""The picture of the rooms is that of today's include rules."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import draw_rooms  # noqa: E402


class Rooms(unittest.TestCase):
    def test_a_name_stands_one_floor_above_all_that_it_may_include(self):
        rules = {"a": set(), "b": {"a"}, "c": {"a", "b"}, "d": {"a"}}
        self.assertEqual(draw_rooms.by_level(rules), [["c"], ["b", "d"], ["a"]])

    def test_an_arrow_that_follows_from_others_is_left_out(self):
        rules = {"a": set(), "b": {"a"}, "c": {"a", "b"}}
        self.assertEqual(draw_rooms.direct(rules), {"a": set(), "b": {"a"}, "c": {"b"}})

    def test_the_picture_in_the_documents_is_todays(self):
        self.assertEqual(draw_rooms.PICTURE.read_text(encoding="utf-8"), draw_rooms.draw(), "run scripts/draw_rooms.py")


if __name__ == "__main__":
    unittest.main()
