# SPDX-License-Identifier: Apache-2.0
"""Lists the cases of a list that no test is named after.

Usage: cases_without_test.py LIST [FAMILY...]

LIST is any text in which a line begins with the id of a case ("A01", also as the first cell of a table, "| A01 | ..."): a
family's letter, two digits, maybe a letter. Given families ("A F") limit it to theirs. A test is named after the cases
that its own name holds, "A01_A03_Parses" or "H01ToH03ListsAreRefused", or that a string at the beginning of a line of its
table of cases is ({"K01", ...). Ends with status 1 where a case has none.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

CASE = r"[A-Z]\d\d(?:[a-z](?![a-z]))?"
LISTED = re.compile(rf"^\|?\s*({CASE})\s*(?:\||\s|$)", re.MULTILINE)
NAMES = re.compile(r"\bTEST(?:_F|_P)?\(\s*\w+\s*,\s*(\w+)\s*\)")
ROWS = re.compile(rf'^\s*\{{"({CASE})"', re.MULTILINE)
IN_NAME = re.compile(rf"(?:^|(?<=_)|(?<=And)|(?<=To)|(?<=\d)|(?<=\d[a-z]))({CASE})(To(?=[A-Z]\d\d))?")


def listed_cases(text, families=()):
    """The cases of a list, in its order."""
    return [case for case in LISTED.findall(text) if not families or case[0] in families]


def cases_of_name(name):
    """The cases that a test's name holds; a range stands for all of them."""
    cases, begin = set(), None
    for case, to in IN_NAME.findall(name):
        cases.add(case)
        if begin is not None and begin[0] == case[0]:
            cases.update(f"{case[0]}{number:02d}" for number in range(int(begin[1:3]), int(case[1:3])))
        begin = case if to else None
    return cases


def tested_cases(folder):
    """The cases that tests of a folder are named after."""
    cases = set()
    for path in sorted(folder.rglob("*.cpp")):
        text = path.read_text()
        for name in NAMES.findall(text):
            cases |= cases_of_name(name)
        cases.update(ROWS.findall(text))
    return cases


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    families = {family for argument in sys.argv[2:] for family in argument.split()}
    cases = listed_cases(pathlib.Path(sys.argv[1]).read_text(), families)
    tested = tested_cases(ROOT / "tests")
    missing = [case for case in cases if case not in tested]
    print(f"{len(cases)} cases, {len(missing)} without a test" + (": " + " ".join(missing) if missing else ""))
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
