# SPDX-License-Identifier: Apache-2.0
"""Two readers of PyTorch's profiles, one in Python and one in C++, take the same categories for the same."""

import ast
import pathlib
import re
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def _sets_of(path):
    """The sets of texts that a module has at its top, by name."""
    sets = {}
    for line in ast.parse(path.read_text()).body:
        if isinstance(line, ast.Assign) and isinstance(line.value, ast.Set):
            sets[line.targets[0].id] = ast.literal_eval(line.value)
    return sets


class KinetoNames(unittest.TestCase):
    def test_categories_mean_the_same(self):
        kinds = dict(re.findall(r'\{"([a-z_0-9]+)", Kind::k(\w+)\}',
                                (SOURCE / "traces/import/kineto_events.cpp").read_text()))
        sets = _sets_of(SOURCE / "python/lanescope/torch/kineto.py")
        self.assertEqual(sets["_GPU_WORK"], {name for name in kinds if kinds[name] in ("Kernel", "Copy", "Memset")})
        self.assertEqual(sets["_RUNTIME"], {name for name in kinds if kinds[name] == "ApiCall"})
        # Of functions of Python those alone count that are modules.
        self.assertEqual(sets["_NODES"], {name for name in kinds if kinds[name] == "Range"} - {"python_function"})


if __name__ == "__main__":
    unittest.main()
