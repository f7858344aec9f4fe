# SPDX-License-Identifier: Apache-2.0
"""Records TensorFlow's results for every op family into tests/golden/ops.

Usage: record_goldens.py [FAMILY...]
"""

import sys

import golden
from op_cases import array_cases
from op_cases import control_flow_cases
from op_cases import corner_cases
from op_cases import corner_row_cases
from op_cases import error_cases
from op_cases import function_cases
from op_cases import image_cases
from op_cases import math_cases
from op_cases import network_cases
from op_cases import old_loop_cases
from op_cases import optimizer_cases
from op_cases import pipeline_cases
from op_cases import random_cases
from op_cases import reduction_cases
from op_cases import row_optimizer_cases
from op_cases import sampling_cases
from op_cases import selection_cases
from op_cases import small_float_cases
from op_cases import state_cases
from op_cases import string_cases
from op_cases import training_cases

_MODULES = (math_cases, reduction_cases, network_cases, array_cases, selection_cases, state_cases,
            optimizer_cases, string_cases, random_cases, error_cases, corner_cases, corner_row_cases,
            row_optimizer_cases, training_cases, function_cases, control_flow_cases,
            image_cases, sampling_cases, old_loop_cases, small_float_cases, pipeline_cases)


def main():
  families = {name: record for module in _MODULES for name, record in module.FAMILIES.items()}
  for name in sys.argv[1:] or families:
    family = golden.Family(name)
    families[name](family)
    family.write()


if __name__ == '__main__':
  main()
