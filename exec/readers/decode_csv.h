// SPDX-License-Identifier: Apache-2.0
// Lines of comma-separated values as columns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/tensor.h"
#include "exec/readers/csv_fields.h"

namespace lanescope::exec {

struct CsvColumns {
  CsvSyntax syntax;
  std::string na_value;  // stands for an empty field
  // A column's type, and what an empty field of it is: one element, or none where there must be a field.
  std::vector<Tensor> defaults;
  std::vector<int64_t> select;  // numbers of the columns to take, ascending; empty: all
};

// Throws InvalidArgument for a text of any other length than 1.
char ParseDelimiter(const std::string& text);

// One tensor a column, of the shape of `lines`. Throws InvalidArgument, naming field and record.
std::vector<Tensor> DecodeCsv(const Tensor& lines, const CsvColumns& columns);

}  // namespace lanescope::exec
