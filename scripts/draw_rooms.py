#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the folders and their rooms from the include rules: docs/internals/rooms.svg.

Usage: draw_rooms.py [OUTPUT.svg]
A folder stands above all that it may include. Arrows that follow from others are left out.
"""

import pathlib
import sys

import check_includes

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "internals" / "rooms.svg"
# Folders that hold no part of the program.
BESIDE = ("tests", "bench", "samples")
ROOM_WIDTH, ROOM_HEIGHT, GAP, MARGIN = 82, 22, 6, 24
TITLE_HEIGHT, ROW_GAP = 24, 34
STYLE = "font-family='sans-serif' font-size='12'"


def folders():
    """What each folder of the program may include, beside itself."""
    beside = set(BESIDE)
    rules = {folder: set(others) - beside - {folder} for folder, others in check_includes.MAY_INCLUDE.items()
             if folder not in beside}
    rules["gui"] |= check_includes.GUI_DOCUMENT_EXTRA
    rules["cli"] -= {"python"}  # may, as it may include anything, and has no reason to
    return rules


def levels(rules):
    """The floor of each name: one above the highest of those that it may include."""
    known = {}

    def level(name):
        if name not in known:
            known[name] = 1 + max((level(other) for other in rules[name]), default=-1)
        return known[name]

    return {name: level(name) for name in rules}


def direct(rules):
    """The rules without those that follow from others: what a reads by way of b needs no arrow from a."""
    return {name: {other for other in others if not any(other in rules[via] for via in others)}
            for name, others in rules.items()}


def by_level(rules):
    """Rows of names, the highest first."""
    floors = levels(rules)
    return [[name for name in rules if floors[name] == floor] for floor in range(max(floors.values()), -1, -1)]


def rooms_of(folder):
    """The rows of rooms in a folder's box."""
    rooms = check_includes.ROOMS.get(folder)
    if rooms is None:
        return []
    backends = [f"exec/{file.parent.name}/" for file in sorted(ROOT.glob(f"exec/*/{check_includes.BACKEND_MARK}"))]
    return by_level(dict(check_includes.rooms_of(folder, backends)))


def size(rows):
    width = max((len(row) for row in rows), default=1) * (ROOM_WIDTH + GAP) + GAP
    return width, TITLE_HEIGHT + len(rows) * (ROOM_HEIGHT + GAP) + (GAP if rows else 0)


def box(x, y, width, height, fill):
    return (f"<rect x='{x:g}' y='{y:g}' width='{width:g}' height='{height:g}' rx='4' fill='{fill}' "
            "stroke='#556'/>")


def text(x, y, words, weight="normal"):
    return f"<text x='{x:g}' y='{y:g}' text-anchor='middle' font-weight='{weight}'>{words}</text>"


def draw():
    rules = folders()
    rows = by_level(rules)
    sizes = {folder: size(rooms_of(folder)) for folder in rules}
    width = max(sum(sizes[folder][0] + MARGIN for folder in row) for row in rows) + MARGIN
    places, parts, y = {}, [], MARGIN
    for row in rows:
        x = (width - sum(sizes[folder][0] for folder in row) - MARGIN * (len(row) - 1)) / 2
        for folder in row:
            places[folder] = (x, y, *sizes[folder])
            x += sizes[folder][0] + MARGIN
        y += max(sizes[folder][1] for folder in row) + ROW_GAP
    for folder, others in direct(rules).items():
        for other in sorted(others):
            (x1, y1, w1, h1), (x2, y2, w2, _) = places[folder], places[other]
            parts.append(f"<path d='M{x1 + w1 / 2:g} {y1 + h1:g} L{x2 + w2 / 2:g} {y2:g}' stroke='#889' "
                         "marker-end='url(#tip)'/>")
    for folder, (x, top, w, h) in places.items():
        parts += [box(x, top, w, h, "#eef2f7"), text(x + w / 2, top + 16, f"{folder}/", "bold")]
        for i, row in enumerate(rooms_of(folder)):
            left = x + (w - len(row) * (ROOM_WIDTH + GAP) + GAP) / 2
            for j, room in enumerate(row):
                at, down = left + j * (ROOM_WIDTH + GAP), top + TITLE_HEIGHT + i * (ROOM_HEIGHT + GAP)
                parts += [box(at, down, ROOM_WIDTH, ROOM_HEIGHT, "#fff"), text(at + ROOM_WIDTH / 2, down + 15, room)]
    head = (f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:g} {y:g}' {STYLE}>\n"
            "<rect width='100%' height='100%' fill='#fff'/>\n"
            "<marker id='tip' markerWidth='8' markerHeight='8' refX='7' refY='4' orient='auto'>"
            "<path d='M0 0 L8 4 L0 8 z' fill='#889'/></marker>\n")
    return head + "\n".join(parts) + "\n</svg>\n"


def main():
    output = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
