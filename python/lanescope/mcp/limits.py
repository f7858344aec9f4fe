# SPDX-License-Identifier: Apache-2.0
"""How long an answer may be, and what is said of the rest."""

from __future__ import annotations

import json
from typing import Any

from lanescope.mcp.program import Refusal

_MOST_BYTES = 48 << 10  # of an answer as JSON
_MOST_TEXT = 600  # characters of one text
_EVIDENCE_A_ROW = 4  # a row of two lists may be of two runs


def bounded(content: dict[str, Any], rows: int) -> dict[str, Any]:
    """The content with at most so many elements of each list of objects or rows, and with fewer where it is still too long.

    `left_out` says how many elements each list has lost, by its place ("answer.steps[].devices" for the lists within another's
    elements, together). Raises Refusal where one element of each is too long.
    """
    while True:
        left_out: dict[str, int] = {}
        cut = {key: _cut(value, rows * _EVIDENCE_A_ROW if key == "evidence" else rows, key, left_out)
               for key, value in content.items()}
        cut["left_out"] = left_out
        if len(json.dumps(cut)) <= _MOST_BYTES:
            return cut
        if rows <= 1:
            raise Refusal("ResourceExhausted",
                          f"even a single row makes the answer longer than {_MOST_BYTES >> 10} KiB; ask for less")
        rows //= 2


def _cut(value: Any, rows: int, place: str, left_out: dict[str, int]) -> Any:
    if isinstance(value, str):
        more = len(value) - _MOST_TEXT
        return value if more <= 0 else f"{value[:_MOST_TEXT]}... ({more} more characters)"
    if isinstance(value, dict):
        return {key: _cut(each, rows, f"{place}.{key}" if place else key, left_out) for key, each in value.items()}
    if isinstance(value, list):
        if len(value) > rows and isinstance(value[0], (dict, list)):
            left_out[place] = left_out.get(place, 0) + len(value) - rows
            value = value[:rows]
        return [_cut(each, rows, f"{place}[]", left_out) for each in value]
    return value
