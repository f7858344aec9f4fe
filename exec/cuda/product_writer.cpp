// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/product_writer.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/graph/ops/shape_rules.h"
#include "exec/cuda/fused_expression.h"
#include "exec/cuda/product_tiles.h"

namespace lanescope::exec::cuda {
namespace {

constexpr int64_t kMostBytes = 8;  // of an element

int64_t TilesOf(int64_t size, DataType dtype) { return (size + TileSize(dtype) - 1) / TileSize(dtype); }

}  // namespace

ProductWriter::ProductWriter(const Graph& graph, const Schedule& schedule, const Command& command,
                             std::span<const size_t> members)
    : MemberText(graph, schedule, command, members, 1), matrices_(*MatricesOfLaunch(graph, nodes_)) {
  elements_ = matrices_.elements();
  for (const size_t i : members_) {
    if (!IsProduct(i)) continue;
    dtype_ = nodes_[i].dtype;
    if (Makes(i)) continue;
    const Shape& other = ShapeOfInput(OtherFactor(node(i), nodes_[i]));
    readers_.push_back(ReaderOf(node(i), nodes_[i], i, matrices_, other));
  }
  FindLevels();
  FindKept();
}

int64_t ProductWriter::row_bytes() const { return matrices_.count * matrices_.rows * kMostBytes; }

bool ProductWriter::HasRowResults() const {
  return !kept_.empty() ||
         std::ranges::any_of(members_, [&](size_t i) { return !Reads(i) && nodes_[i].output >= 0; });
}

bool ProductWriter::Makes(size_t i) const {
  return IsProduct(i) && RowProductIn(node(i), nodes_[i])->part == ProductPart::kMakes;
}

UnitText ProductWriter::WriteRows(std::span<const ProductReader> readers, bool first) {
  Begin(matrices_.rows, "row0");
  Line(fmt::format("const int rows = {} - row0;", matrices_.rows));
  DeclareRowNumbers();
  ComputeOnesARow(0);
  if (const auto online = FindOnline(readers)) {
    WriteOnline(*online, readers);
  } else {
    for (int pass = 0; pass < passes_; ++pass) {
      WritePass(pass);
      ComputeOnesARow(pass + 1);
    }
    WriteResults(readers, first);
  }
  if (first) StoreRowNumbers();
  return End(matrices_.rows);
}

UnitText ProductWriter::WriteColumns(std::span<const ProductReader> readers) {
  Begin(matrices_.columns, "column0");
  Line(fmt::format("const int columns = {} - column0;", matrices_.columns));
  DeclareSums(readers);
  Open(fmt::format("for (int row0 = 0; row0 < {}; row0 += kTile) {{", matrices_.rows));
  Line(fmt::format("const int rows = {} - row0;", matrices_.rows));
  LoadRowNumbers();
  WriteTile(readers, false);
  Close();
  for (const ProductReader& reader : readers) StoreSum(reader);
  return End(matrices_.columns);
}

void ProductWriter::FindKept() {
  std::set<size_t> read;
  for (const ProductReader& reader : readers_) {
    if (reader.over_rows) read.insert(reader.matrices);
  }
  for (const size_t i : NeededFor(read)) {
    if (RoleOf(i) == FusionRole::kRowWise) {
      kept_.emplace(fmt::format("most{}", i), nodes_[i].dtype);
      kept_.emplace(fmt::format("sum{}", i), nodes_[i].dtype);
    }
    for (const int input : nodes_[i].inputs) {
      const auto maker = static_cast<size_t>(-1 - input);
      if (input < 0 && OneARow(maker)) kept_.emplace(MemberText::ValueOf(maker), nodes_[maker].dtype);
    }
  }
}

std::string ProductWriter::ValueOf(size_t i) const {
  return OneARow(i) ? RowNumber(MemberText::ValueOf(i)) : MemberText::ValueOf(i);
}

std::string ProductWriter::IndexIn(const Shape& input, const Shape& output, const std::string& index) const {
  if (index != "e") return BroadcastIndex(input, output, index);
  const int64_t matrix = matrices_.rows * matrices_.columns;
  return BroadcastIndex(input, output, index, [&](int64_t inner, int64_t size, bool outermost) {
    if (inner == 1 && size == matrices_.columns) return std::string("column");
    if (inner == 1 && size == matrix)
      return fmt::format("(static_cast<long long>(row) * {} + column)", matrices_.columns);
    if (inner == matrices_.columns && size == matrices_.rows) return std::string("row");
    if (inner == matrices_.columns && outermost) return std::string("r");
    if (inner % matrix == 0) return BroadcastTerm("matrix", inner / matrix, size, outermost);
    return BroadcastTerm("e", inner, size, outermost);
  });
}

void ProductWriter::Begin(int64_t size, const char* first) {
  const int64_t tiles = TilesOf(size, dtype_);
  Line(fmt::format("const long long matrix = block / {};", tiles));
  Line(fmt::format("const int {} = static_cast<int>(block % {}) * kTile;", first, tiles));
}

UnitText ProductWriter::End(int64_t size) {
  UnitText text;
  text.body = std::move(body_);
  text.count = elements_;
  text.blocks = matrices_.count * TilesOf(size, dtype_);
  text.pointers = std::move(pointers_);
  return text;
}

void ProductWriter::OpenRows() {
  Line("#pragma unroll");
  Open("for (int i = 0; i < kMicro; ++i) {");
  Line("const int row = row0 + Row() + i;");
  Line(fmt::format("if (row >= {}) continue;", matrices_.rows));
  Line(fmt::format("[[maybe_unused]] const long long r = matrix * {} + row;", matrices_.rows));
}

void ProductWriter::OpenColumnTiles() {
  Open(fmt::format("for (int column0 = 0; column0 < {}; column0 += kTile) {{", matrices_.columns));
  Line(fmt::format("const int columns = {} - column0;", matrices_.columns));
}

void ProductWriter::OpenColumns(const char* beyond) {
  Line("#pragma unroll");
  Open("for (int j = 0; j < kMicro; ++j) {");
  Line("const int column = column0 + Lane() + j * kLanes;");
  Open(fmt::format("if (column >= {}) {{", matrices_.columns));
  Line(beyond);
  Close();
  Line(fmt::format("[[maybe_unused]] const long long e = r * {} + column;", matrices_.columns));
}
// A loop over the elements of a thread that the matrix has.
void ProductWriter::OpenElements(const std::set<size_t>& needed) {
  OpenRows();
  OpenColumns("continue;");
  NameMade(needed);
}
void ProductWriter::NameMade(const std::set<size_t>& needed) {
  for (const size_t i : needed) {
    if (Makes(i)) Line(fmt::format("const T v{} = x{}[i][j];", i, i));
  }
}
void ProductWriter::CloseElements() {
  Close();
  Close();
}

std::string ProductWriter::FactorFrom(int input, int64_t matrix, const char* first, int64_t step) {
  return fmt::format("{} + matrix * {} + {} * {}LL", Pointer(FusedPointer::Of::kInput, input, dtype_), matrix,
                     first, step);
}

void ProductWriter::MakeTiles(const std::set<size_t>& needed) {
  for (const size_t i : needed) {
    if (!Makes(i)) continue;
    const ops::MatMulRule rule(node(i));
    const int a = nodes_[i].inputs[0], b = nodes_[i].inputs[1];
    const int64_t of_a = ShapeOfInput(a).NumElements() / matrices_.count;
    const int64_t of_b = ShapeOfInput(b).NumElements() / matrices_.count;
    const int64_t inner = of_a / matrices_.rows;
    const int64_t a_row = rule.turn_a ? 1 : inner, a_k = rule.turn_a ? matrices_.rows : 1;
    const int64_t b_column = rule.turn_b ? inner : 1, b_k = rule.turn_b ? 1 : matrices_.columns;
    Line(fmt::format("T x{}[kMicro][kMicro];", i));
    const std::string left = FactorFrom(a, of_a, "row0", a_row);
    Line(fmt::format("MakeTile<{}, {}, {}, {}, {}>(x{}, {}, {}, rows, columns);", inner, a_row, a_k, b_column,
                     b_k, i, left, FactorFrom(b, of_b, "column0", b_column)));
  }
}

void ProductWriter::DeclareRowNumber(const std::string& name, DataType dtype, const std::string& start) {
  Line(fmt::format("{} {}[kMicro];", CTypeOf(dtype), name));
  Line("#pragma unroll");
  Line(fmt::format("for (int i = 0; i < kMicro; ++i) {}[i] = {};", name, start));
}

void ProductWriter::DeclareRowNumbers() {
  for (const size_t i : members_) {
    const DataType dtype = nodes_[i].dtype;
    const std::string_view type = CTypeOf(dtype);
    if (RoleOf(i) == FusionRole::kRowWise) {
      DeclareRowNumber(fmt::format("most{}", i), dtype, fmt::format("-{}(INFINITY)", type));
      DeclareRowNumber(fmt::format("sum{}", i), dtype, fmt::format("{}(0)", type));
    } else if (OneARow(i)) {
      const bool folds = RoleOf(i) == FusionRole::kReduction;
      DeclareRowNumber(fmt::format("v{}", i), dtype,
                       folds ? FoldOf(node(i).op, dtype).start : fmt::format("{}(0)", type));
    }
  }
}

void ProductWriter::ComputeOnesARow(int level) {
  std::vector<size_t> known_now;
  for (const size_t i : members_) {
    if (OneARow(i) && level_[i] == level && RoleOf(i) == FusionRole::kElementWise) known_now.push_back(i);
  }
  if (known_now.empty()) return;
  OpenRows();
  Names known;
  for (const size_t i : known_now) {
    const std::string value = ResultText(i, "r", &known);
    Line(fmt::format("{} = {};", ValueOf(i), value));
  }
  Close();
}

std::string ProductWriter::Kept(const std::string& name, DataType dtype) {
  const auto place = std::distance(kept_.begin(), kept_.find(name));
  return Pointer(FusedPointer::Of::kRows, static_cast<int>(place), dtype) + "[r]";
}

void ProductWriter::StoreRowNumbers() {
  const bool any = !kept_.empty() || std::ranges::any_of(members_, [&](size_t i) {
    return OneARow(i) && nodes_[i].output >= 0;
  });
  if (!any) return;
  Open("if (Lane() == 0) {");
  OpenRows();
  for (const size_t i : members_) {
    if (OneARow(i)) Store(i, "r");
  }
  for (const auto& [name, dtype] : kept_) Line(fmt::format("{} = {}[i];", Kept(name, dtype), name));
  Close();
  Close();
}

void ProductWriter::LoadRowNumbers() {
  if (kept_.empty()) return;
  for (const auto& [name, dtype] : kept_) Line(fmt::format("{} {}[kMicro] = {{}};", CTypeOf(dtype), name));
  OpenRows();
  for (const auto& [name, dtype] : kept_) Line(fmt::format("{}[i] = {};", name, Kept(name, dtype)));
  Close();
}

void ProductWriter::ComputeFull(const std::set<size_t>& needed, Names* known) {
  for (const size_t i : members_) {
    if (needed.contains(i) && !Makes(i)) Compute(i, "e", known);
  }
}

// Folds that a pass is for; `needed`: whose elements it takes.
std::vector<size_t> ProductWriter::FoldedIn(int pass, std::set<size_t>* needed) const {
  std::vector<size_t> folding;
  for (const size_t i : members_) {
    if (!IsFolded(i, pass)) continue;
    folding.push_back(i);
    if (nodes_[i].inputs[0] < 0) needed->insert(static_cast<size_t>(-1 - nodes_[i].inputs[0]));
  }
  *needed = NeededFor(*needed);
  return folding;
}

void ProductWriter::FoldElement(size_t i, Names* known) {
  const std::string value = Operand(i, 0, "e", known);
  if (RoleOf(i) == FusionRole::kRowWise) {
    Line(fmt::format("TakeScore({}, most{}[i], sum{}[i]);", value, i, i));
  } else {
    const std::string functor = FoldOf(node(i).op, nodes_[i].dtype).functor;
    Line(fmt::format("v{}[i] = {}()(v{}[i], {});", i, functor, i, value));
  }
}

void ProductWriter::JoinRows(std::span<const size_t> folding) {
  Line("#pragma unroll");
  Open("for (int i = 0; i < kMicro; ++i) {");
  for (const size_t i : folding) {
    if (RoleOf(i) == FusionRole::kRowWise) {
      Line(fmt::format("JoinScores(most{}[i], sum{}[i]);", i, i));
      continue;
    }
    const std::string mean = node(i).op == "Mean" ? fmt::format(" / {}", matrices_.columns) : "";
    const std::string functor = FoldOf(node(i).op, nodes_[i].dtype).functor;
    Line(fmt::format("v{}[i] = AcrossRow<{}>(v{}[i]){};", i, functor, i, mean));
  }
  Close();
}

void ProductWriter::WritePass(int pass) {
  std::set<size_t> needed;
  const std::vector<size_t> folding = FoldedIn(pass, &needed);
  OpenColumnTiles();
  MakeTiles(needed);
  OpenElements(needed);
  Names known;
  ComputeFull(needed, &known);
  for (const size_t i : folding) FoldElement(i, &known);
  CloseElements();
  Close();
  JoinRows(folding);
}

}  // namespace lanescope::exec::cuda
