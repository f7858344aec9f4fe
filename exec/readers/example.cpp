// SPDX-License-Identifier: Apache-2.0
#include "exec/readers/example.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "core/base/error.h"
#include "exec/readers/example_wire.h"

namespace lanescope::exec {
namespace {

constexpr size_t kShownBytes = 64;

bool HasOpenLength(const DenseFeature& feature) {
  return feature.shape.rank() > 0 && !IsExact(feature.shape[0]);
}

// Elements of a value, or of one entry of a feature of unknown length.
int64_t StrideOf(const DenseFeature& feature) {
  int64_t stride = 1;
  for (int i = HasOpenLength(feature) ? 1 : 0; i < feature.shape.rank(); ++i) stride *= feature.shape[i];
  return stride;
}

// `fixed` before the feature's own dimensions, of which `length` replaces the first where it is open.
Shape ShapeOf(const DenseFeature& feature, std::optional<int64_t> rows, int64_t length) {
  Shape shape;
  if (rows) shape.Append(*rows);
  for (int i = 0; i < feature.shape.rank(); ++i)
    shape.Append(i == 0 && HasOpenLength(feature) ? length : feature.shape[i]);
  return shape;
}

// Applies one function to every value of a type.
template <typename Function>
void WithType(DataType dtype, Function function) {
  if (dtype == DataType::kFloat) return function(float());
  if (dtype == DataType::kInt64) return function(int64_t());
  function(std::string());
}

// All features of the examples that somebody wants, by feature and example.
class ExampleTable {
 public:
  ExampleTable(std::span<const std::string> serialized, const ExampleFeatures& features) {
    const auto add = [&](const std::string& key) { columns_.try_emplace(key, columns_.size()); };
    for (const auto& feature : features.sparse) add(feature.key);
    for (const auto& feature : features.dense) add(feature.key);
    for (const auto& feature : features.ragged) add(feature.key);
    rows_ = serialized.size();
    values_.resize(columns_.size() * rows_);
    std::vector<std::pair<std::string_view, FeatureValues>> found;
    for (size_t row = 0; row < rows_; ++row) {
      found.clear();
      if (!FindFeatures(serialized[row], &found)) {
        Throw(Code::kInvalidArgument, "Could not parse example input, value: '{}'",
              serialized[row].substr(0, kShownBytes));
      }
      for (const auto& [key, values] : found) {
        const auto column = columns_.find(key);
        if (column != columns_.end()) values_[column->second * rows_ + row] = values;
      }
    }
  }

  size_t rows() const { return rows_; }
  std::span<const FeatureValues> ColumnOf(const std::string& key) const {
    return std::span(values_).subspan(columns_.at(key) * rows_, rows_);
  }

 private:
  std::unordered_map<std::string_view, size_t> columns_;
  size_t rows_ = 0;
  std::vector<FeatureValues> values_;
};

class ExampleParser {
 public:
  // `single`: one example, whose columns have no rows.
  ExampleParser(std::span<const std::string> serialized, std::span<const std::string> names,
                const ExampleFeatures& features, bool single)
      : serialized_(serialized),
        names_(names),
        features_(features),
        table_(serialized, features),
        single_(single) {}

  ParsedExamples Parse() {
    ParsedExamples parsed;
    for (const ListFeature& feature : features_.sparse) parsed.sparse.push_back(Sparse(feature));
    for (const DenseFeature& feature : features_.dense) parsed.dense.push_back(Dense(feature));
    for (const RaggedFeature& feature : features_.ragged) parsed.ragged.push_back(Ragged(feature));
    return parsed;
  }

 private:
  std::string NameOf(size_t row) const { return row < names_.size() ? names_[row] : "<unknown>"; }
  // How a message begins that is about a key: "Name: a, Key: x, Index: 1.".
  std::string About(const std::string& key, size_t row) const {
    return single_ ? fmt::format("Key: {}.", key)
                   : fmt::format("Name: {}, Key: {}, Index: {}.", NameOf(row), key, row);
  }

  int64_t CountOf(const FeatureValues& values, size_t row) const {
    const int64_t count = values.Count();
    if (count >= 0) return count;
    Throw(Code::kInvalidArgument, "Could not parse example input, value: '{}'",
          serialized_[row].substr(0, kShownBytes));
  }

  // By row; 0 where the feature is missing.
  std::vector<int64_t> CountsOf(const ListFeature& feature) const {
    std::vector<int64_t> counts(table_.rows(), 0);
    const auto column = table_.ColumnOf(feature.key);
    for (size_t row = 0; row < counts.size(); ++row) {
      const FeatureValues& values = column[row];
      if (values.dtype == DataType::kInvalid) continue;
      if (values.dtype != feature.dtype) {
        Throw(Code::kInvalidArgument, "{}  Data types don't match. Expected type: {}, Actual type: {}",
              About(feature.key, row), DataTypeName(feature.dtype), DataTypeName(values.dtype));
      }
      counts[row] = CountOf(values, row);
    }
    return counts;
  }

  Tensor ValuesOf(const ListFeature& feature, const std::vector<int64_t>& counts) const {
    int64_t total = 0;
    for (const int64_t count : counts) total += count;
    Tensor values(feature.dtype, Shape{total});
    const auto column = table_.ColumnOf(feature.key);
    WithType(feature.dtype, [&]<typename T>(T) {
      T* to = values.data<T>();
      for (size_t row = 0; row < counts.size(); ++row) {
        if (counts[row] > 0) column[row].CopyTo(to);
        to += counts[row];
      }
    });
    return values;
  }

  SparseColumn Sparse(const ListFeature& feature) const {
    const std::vector<int64_t> counts = CountsOf(feature);
    SparseColumn column;
    column.values = ValuesOf(feature, counts);
    const int64_t rank = single_ ? 1 : 2;
    column.indices = Tensor(DataType::kInt64, Shape{column.values.NumElements(), rank});
    int64_t* index = column.indices.data<int64_t>();
    int64_t longest = 0;
    for (size_t row = 0; row < counts.size(); ++row) {
      longest = std::max(longest, counts[row]);
      for (int64_t i = 0; i < counts[row]; ++i) {
        if (!single_) *index++ = static_cast<int64_t>(row);
        *index++ = i;
      }
    }
    column.shape = single_ ? Tensor::FromValues(Shape{1}, std::vector<int64_t>{longest})
                           : Tensor::FromValues(Shape{2}, std::vector<int64_t>{
                                                              static_cast<int64_t>(counts.size()), longest});
    return column;
  }

  RaggedColumn Ragged(const RaggedFeature& feature) const {
    const std::vector<int64_t> counts = CountsOf(feature);
    RaggedColumn column;
    column.values = ValuesOf(feature, counts);
    const auto splits = [&]<typename T>(T) {
      std::vector<T> ends;
      if (!single_) ends.push_back(0);
      int64_t end = 0;
      for (size_t row = 0; row < counts.size() && !single_; ++row) {
        end += counts[row];
        ends.push_back(static_cast<T>(end));
      }
      column.row_splits = Tensor::FromValues(Shape{static_cast<int64_t>(ends.size())}, ends);
    };
    feature.split_dtype == DataType::kInt32 ? splits(int32_t()) : splits(int64_t());
    return column;
  }

  // By row the values of a dense feature; -1: it is missing.
  std::vector<int64_t> CountsOf(const DenseFeature& feature) const {
    std::vector<int64_t> counts(table_.rows(), -1);
    const auto column = table_.ColumnOf(feature.key);
    const int64_t stride = StrideOf(feature);
    const DataType dtype = feature.default_value.dtype();
    for (size_t row = 0; row < counts.size(); ++row) {
      const FeatureValues& values = column[row];
      if (values.dtype == DataType::kInvalid) continue;
      if (values.dtype != dtype) {
        Throw(Code::kInvalidArgument, "{}  Data types don't match. Data type: {} but expected type: {}",
              About(feature.key, row), DataTypeName(values.dtype), DataTypeName(dtype));
      }
      counts[row] = CountOf(values, row);
      if (HasOpenLength(feature)) {
        if (stride == 0 ? counts[row] == 0 : counts[row] % stride == 0) continue;
        Throw(
            Code::kInvalidArgument,
            "{}  Number of {} values is not a multiple of stride length. Saw {} values but output shape: {}",
            About(feature.key, row), DataTypeName(dtype), counts[row], feature.shape.ToString());
      }
      if (counts[row] == stride) continue;
      if (single_)
        Throw(Code::kInvalidArgument, "{}  Can't parse serialized Example.", About(feature.key, row));
      Throw(Code::kInvalidArgument,
            "{}  Number of {} values != expected.  Values size: {} but output shape: {}",
            About(feature.key, row), DataTypeName(dtype), counts[row], feature.shape.ToString());
    }
    return counts;
  }

  [[noreturn]] void Missing(const DenseFeature& feature, size_t row) const {
    const std::string name = single_ ? "" : fmt::format("Name: {}, ", NameOf(row));
    Throw(Code::kInvalidArgument, "{}Feature: {} (data type: {}) is required but could not be found.", name,
          feature.key, DataTypeName(feature.default_value.dtype()));
  }

  Tensor Dense(const DenseFeature& feature) const {
    const std::vector<int64_t> counts = CountsOf(feature);
    const bool open = HasOpenLength(feature);
    int64_t row_size = StrideOf(feature);
    const int64_t stride = row_size;
    if (open) row_size = counts.empty() ? 0 : std::max<int64_t>(0, *std::ranges::max_element(counts));
    const int64_t length = stride > 0 ? row_size / stride : 0;
    const auto rows = static_cast<int64_t>(counts.size());
    Tensor dense(feature.default_value.dtype(),
                 ShapeOf(feature, single_ ? std::nullopt : std::optional(rows), length));
    const auto column = table_.ColumnOf(feature.key);
    WithType(dense.dtype(), [&]<typename T>(T) {
      T* to = dense.data<T>();
      const T* fill = feature.default_value.data<T>();
      const int64_t fills = feature.default_value.NumElements();
      for (size_t row = 0; row < counts.size(); ++row, to += row_size) {
        int64_t filled = 0;
        if (counts[row] >= 0) {
          column[row].CopyTo(to);
          filled = counts[row];
        } else if (!open) {
          if (fills == 0) Missing(feature, row);
          std::copy_n(fill, fills, to);
          continue;
        }
        if (filled < row_size) std::fill(to + filled, to + row_size, *fill);
      }
    });
    return dense;
  }

  const std::span<const std::string> serialized_, names_;
  const ExampleFeatures& features_;
  const ExampleTable table_;
  const bool single_;
};

bool IsExampleType(DataType dtype) {
  return dtype == DataType::kFloat || dtype == DataType::kInt64 || dtype == DataType::kString;
}

void CheckDense(const DenseFeature& feature, size_t i) {
  if (!IsExampleType(feature.default_value.dtype())) {
    Throw(Code::kInvalidArgument, "values of examples are float, int64 or string, not {}",
          DataTypeName(feature.default_value.dtype()));
  }
  if (!feature.shape.known_rank()) Throw(Code::kInvalidArgument, "dense_shapes[{}] has unknown rank", i);
  for (int d = 1; d < feature.shape.rank(); ++d) {
    if (IsExact(feature.shape[d])) continue;
    Throw(Code::kInvalidArgument, "dense_shapes[{}] must be known but for its first dimension, not {}", i,
          feature.shape.ToString());
  }
  const Shape& given = feature.default_value.shape();
  if (HasOpenLength(feature) || feature.default_value.NumElements() == 0 || given == feature.shape) return;
  Throw(Code::kInvalidArgument, "def_value[{}].shape() == {} is not compatible with dense_shapes_[{}] == {}",
        i, given.ToString(), i, feature.shape.ToString());
}

}  // namespace

void CheckFeatures(const ExampleFeatures& features) {
  for (size_t i = 0; i < features.dense.size(); ++i) CheckDense(features.dense[i], i);
  const auto check = [](const ListFeature& feature) {
    if (IsExampleType(feature.dtype)) return;
    Throw(Code::kInvalidArgument, "values of examples are float, int64 or string, not {}",
          DataTypeName(feature.dtype));
  };
  for (const ListFeature& feature : features.sparse) check(feature);
  for (const RaggedFeature& feature : features.ragged) check(feature);
}

ParsedExamples ParseExamples(std::span<const std::string> serialized, std::span<const std::string> names,
                             const ExampleFeatures& features) {
  for (size_t i = 0; i < features.dense.size(); ++i) {
    const DenseFeature& feature = features.dense[i];
    if (!HasOpenLength(feature) || feature.default_value.NumElements() == 1) continue;
    Throw(Code::kInvalidArgument,
          "dense_shape[{}] is a variable length shape: {}, therefore def_value[{}] must contain a single "
          "element "
          "(the padding element).  But its shape is: {}",
          i, feature.shape.ToString(), i, feature.default_value.shape().ToString());
  }
  return ExampleParser(serialized, names, features, false).Parse();
}

ParsedExamples ParseExample(const std::string& serialized, const ExampleFeatures& features) {
  return ExampleParser(std::span(&serialized, 1), {}, features, true).Parse();
}

}  // namespace lanescope::exec
