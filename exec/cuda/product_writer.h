// SPDX-License-Identifier: Apache-2.0
// Writes a kernel of a launch with products. Private to exec/cuda/fused_products.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/schedule/row_products.h"
#include "exec/cuda/fused_members.h"
#include "exec/cuda/fused_unit.h"
#include "exec/cuda/product_readers.h"

namespace lanescope::exec::cuda {

// A softmax whose probabilities may be computed with the largest score so far: what reads them is linear in
// them, so that its sums are scaled when a larger score comes (Dao et al. 2022).
struct OnlineSoftmax {
  size_t softmax;
  size_t matrices;              // what the products read
  std::vector<size_t> in_tile;  // between both, in order: factors and selections that a tile knows
  std::vector<size_t> at_end;   // those by row that are known at the end of the row
};

// A node whose scores are -infinity where a mask says so, whatever the products make: `operand` is the mask.
struct ScoreMask {
  enum class Hides : uint8_t { kTrue, kFalse, kMinusInfinity };  // the mask's elements that hide a score
  size_t node;
  size_t operand;
  Hides hides;
};

// Names in the text beside those of MemberText: of row i and column j of a thread's tile x<n>[i][j] is what
// product n makes, y<n>[i][j] what the products read; row numbers are arrays (v<n>[i], most<n>[i]);
// total<n>[i][w] are the sums of product n.
class ProductWriter : private MemberText {
 public:
  ProductWriter(const Graph& graph, const Schedule& schedule, const Command& command,
                std::span<const size_t> members);

  std::span<const ProductReader> readers() const { return readers_; }
  DataType dtype() const { return dtype_; }
  int row_arrays() const { return static_cast<int>(kept_.size()); }
  int64_t row_bytes() const;
  // Whether a kernel that goes over rows has anything to do beside products.
  bool HasRowResults() const;

  // One of both is called, once. `first`: writes whatever is no product's, too.
  UnitText WriteRows(std::span<const ProductReader> readers, bool first);
  UnitText WriteColumns(std::span<const ProductReader> readers);

 private:
  // Members: products that make X or read it, others with an element for each of X or for each row of it.
  bool IsProduct(size_t i) const { return RoleOf(i) == FusionRole::kProduct; }
  bool Makes(size_t i) const;
  bool Reads(size_t i) const { return IsProduct(i) && !Makes(i); }
  bool OneARow(size_t i) const override { return !Reads(i) && ElementsOf(i) < elements_; }
  bool IsStored(size_t i) const { return !Reads(i) && !OneARow(i) && nodes_[i].output >= 0; }
  void FindKept();
  std::optional<OnlineSoftmax> FindOnline(std::span<const ProductReader> readers) const;
  bool FindChain(OnlineSoftmax* found) const;
  bool DependsOn(size_t i, size_t on) const;
  bool IsNumber(int input, double number) const;
  bool IsOfProducts(int input) const;
  std::optional<ScoreMask> FindMask(const OnlineSoftmax& online, std::span<const size_t> folding) const;
  void SkipHiddenTile(const ScoreMask& mask);

  std::string ValueOf(size_t i) const override;
  std::string RowNumber(const std::string& name) const override { return name + "[i]"; }
  std::string IndexIn(const Shape& input, const Shape& output, const std::string& index) const override;

  void Begin(int64_t size, const char* first);
  UnitText End(int64_t size);
  void OpenRows();  // a loop over the rows of a thread
  void OpenColumnTiles();
  void OpenColumns(const char* beyond);  // a loop over the columns of a thread
  void OpenElements(const std::set<size_t>& needed);
  void NameMade(const std::set<size_t>& needed);
  void CloseElements();
  std::string FactorFrom(int input, int64_t matrix, const char* first, int64_t step);
  void MakeTiles(const std::set<size_t>& needed);

  void DeclareRowNumber(const std::string& name, DataType dtype, const std::string& start);
  void DeclareRowNumbers();
  void ComputeOnesARow(int level);
  std::string Kept(const std::string& name, DataType dtype);
  void StoreRowNumbers();
  void LoadRowNumbers();

  void WritePass(int pass);
  std::vector<size_t> FoldedIn(int pass, std::set<size_t>* needed) const;
  void FoldElement(size_t i, Names* known);
  void JoinRows(std::span<const size_t> folding);
  void ComputeFull(const std::set<size_t>& needed, Names* known);

  void DeclareSums(std::span<const ProductReader> readers);
  void WriteResults(std::span<const ProductReader> readers, bool first);
  void WriteTile(std::span<const ProductReader> readers, bool stores);
  void AddProducts(const std::set<size_t>& read, std::span<const ProductReader> readers);
  void StoreSum(const ProductReader& reader);

  void WriteOnline(const OnlineSoftmax& online, std::span<const ProductReader> readers);
  void TakeLargest(const OnlineSoftmax& online, std::span<const ProductReader> readers);
  void WeighTile(const OnlineSoftmax& online);
  void FinishSums(const OnlineSoftmax& online, std::span<const ProductReader> readers);
  // The chain's next result, where `value` is the one before.
  std::string NextOf(size_t i, size_t before, const std::string& value, const std::string& index,
                     Names* known);

  const MatrixBatch matrices_;
  DataType dtype_ = DataType::kFloat;
  std::vector<ProductReader> readers_;
  std::map<std::string, DataType> kept_;  // in scratch memory in this order
};

}  // namespace lanescope::exec::cuda
