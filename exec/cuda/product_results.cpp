// SPDX-License-Identifier: Apache-2.0
// The last pass of a kernel of a launch with products: elements that have memory, and products that read X.
#include <fmt/core.h>

#include <algorithm>

#include "exec/cuda/product_writer.h"

namespace lanescope::exec::cuda {

void ProductWriter::DeclareSums(std::span<const ProductReader> readers) {
  for (const ProductReader& reader : readers)
    Line(fmt::format("T total{}[kMicro][kSums<{}>] = {{}};", reader.member, reader.width));
}

void ProductWriter::WriteResults(std::span<const ProductReader> readers, bool first) {
  const bool stores = first && std::ranges::any_of(members_, [&](size_t i) { return IsStored(i); });
  if (readers.empty() && !stores) return;
  DeclareSums(readers);
  OpenColumnTiles();
  WriteTile(readers, first);
  Close();
  for (const ProductReader& reader : readers) StoreSum(reader);
}

void ProductWriter::WriteTile(std::span<const ProductReader> readers, bool stores) {
  std::set<size_t> read, needed;
  for (const ProductReader& reader : readers) read.insert(reader.matrices);
  needed = read;
  for (const size_t i : members_) {
    if (stores && IsStored(i)) needed.insert(i);
  }
  needed = NeededFor(needed);
  MakeTiles(needed);
  for (const size_t i : read) Line(fmt::format("T y{}[kMicro][kMicro] = {{}};", i));
  OpenElements(needed);
  Names known;
  ComputeFull(needed, &known);
  for (const size_t i : needed) {
    if (stores) Store(i, "e");
    if (read.contains(i)) Line(fmt::format("y{}[i][j] = {};", i, ValueOf(i)));
  }
  CloseElements();
  AddProducts(read, readers);
}

void ProductWriter::AddProducts(const std::set<size_t>& read, std::span<const ProductReader> readers) {
  for (const size_t i : read) {
    Line(fmt::format("PutTile<{}>(y{});", readers[0].over_rows, i));
    for (const ProductReader& reader : readers) {
      if (reader.matrices != i) continue;
      const int64_t matrix = ShapeOfInput(reader.other).NumElements() / matrices_.count;
      const char* first = reader.over_rows ? "row0" : "column0";
      Line(fmt::format("AddProduct<{}, {}, {}>(total{}, {}, {});", reader.width, reader.other_k,
                       reader.other_w, reader.member, FactorFrom(reader.other, matrix, first, reader.other_k),
                       reader.over_rows ? "rows" : "columns"));
    }
  }
}

void ProductWriter::StoreSum(const ProductReader& reader) {
  const int64_t matrix = nodes_[reader.member].shape.NumElements() / matrices_.count;
  const std::string to = fmt::format("{} + matrix * {} + {} * {}LL",
                                     Pointer(FusedPointer::Of::kOutput, nodes_[reader.member].output, dtype_),
                                     matrix, reader.over_rows ? "column0" : "row0", reader.result_i);
  Line(fmt::format("StoreSum<{}, {}, {}, {}>(total{}, {}, {});", reader.over_rows, reader.width,
                   reader.result_i, reader.result_w, reader.member, to,
                   reader.over_rows ? "columns" : "rows"));
}

}  // namespace lanescope::exec::cuda
