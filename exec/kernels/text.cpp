// SPDX-License-Identifier: Apache-2.0
// Pieces of strings, and files as strings, on host memory.
#include <glob.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "core/base/file.h"
#include "exec/kernels/broadcast.h"
#include "exec/kernels/host_tensors.h"
#include "exec/kernels/op_kernel.h"
#include "exec/kernels/queue_kernels.h"

namespace lanescope::exec {
namespace {

constexpr std::string_view kBlanks = " \t\n\v\f\r";

bool IsCharacterStart(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

int64_t CharactersIn(std::string_view text) {
  return std::count_if(text.begin(), text.end(), IsCharacterStart);
}

// Byte at which character `number` begins; the text's size for the one behind the last.
size_t ByteOfCharacter(std::string_view text, int64_t number) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (IsCharacterStart(text[i]) && number-- == 0) return i;
  }
  return text.size();
}

class SubstrKernel final : public Kernel {
 public:
  explicit SubstrKernel(const Node& node) : by_character_(node.StringAttr("unit", "BYTE") == "UTF8_CHAR") {}

  void Compute(KernelContext& context) override {
    const TensorRef& text = context.input(0);
    const TensorRef& position = context.input(1);
    if (!(position.shape == context.input(2).shape)) {
      Throw(Code::kInvalidArgument, "pos and len must have the same shape, not {} and {}",
            position.shape.ToString(), context.input(2).shape.ToString());
    }
    const Shape shape = BroadcastShapes(text.shape, position.shape);
    ShapeOutput(context, 0, shape);
    const std::vector<int64_t> from = ReadAll(position), length = ReadAll(context.input(2));
    std::string* out = context.output().as<std::string>();
    const int64_t count = shape.NumElements();
    for (int64_t i = 0; i < count; ++i) {
      const int64_t p = SourceOf(shape, position.shape, i);
      const std::string& whole = text.as<std::string>()[SourceOf(shape, text.shape, i)];
      out[i] = Piece(whole, from[static_cast<size_t>(p)], length[static_cast<size_t>(p)], i);
    }
  }

 private:
  static std::vector<int64_t> ReadAll(const TensorRef& numbers) {
    std::vector<int64_t> values(static_cast<size_t>(numbers.NumElements()));
    DispatchIndex("Substr", numbers.dtype, [&](auto tag) {
      using T = decltype(tag);
      std::copy_n(numbers.as<T>(), values.size(), values.begin());
    });
    return values;
  }

  // The element of a tensor of `shape` that stands at element `index` of the broadcast one.
  static int64_t SourceOf(const Shape& broadcast, const Shape& shape, int64_t index) {
    int64_t source = 0, stride = 1;
    for (int d = shape.rank() - 1, b = broadcast.rank() - 1; b >= 0; --b, --d) {
      const int64_t at = index % broadcast[b];
      index /= broadcast[b];
      if (d < 0) continue;
      if (shape[d] != 1) source += at * stride;
      stride *= shape[d];
    }
    return source;
  }

  // A position from the end is negative.
  std::string Piece(const std::string& text, int64_t from, int64_t length, int64_t index) const {
    const auto size = by_character_ ? CharactersIn(text) : static_cast<int64_t>(text.size());
    if (from > size || from < -size) {
      Throw(Code::kInvalidArgument, "pos {} out of range for string at index {}", from, index);
    }
    if (from < 0) from += size;
    // As in TensorFlow, a negative length goes to the end.
    const int64_t end = length < 0 || length > size - from ? size : from + length;
    const size_t first = by_character_ ? ByteOfCharacter(text, from) : static_cast<size_t>(from);
    const size_t last = by_character_ ? ByteOfCharacter(text, end) : static_cast<size_t>(end);
    return text.substr(first, last - first);
  }

  const bool by_character_;
};

using Pieces = std::vector<std::string_view>;

// At blanks, without empty pieces; after `most` of them comes the rest, even if there is none.
Pieces SplitAtBlanks(std::string_view text, int64_t most) {
  if (most == 0) return {text};
  const auto skip_blanks = [&] {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  };
  Pieces pieces;
  for (skip_blanks(); !text.empty(); skip_blanks()) {
    const size_t end = std::min(text.find_first_of(kBlanks), text.size());
    pieces.push_back(text.substr(0, end));
    text.remove_prefix(end);
    if (most < 0 || static_cast<int64_t>(pieces.size()) < most) continue;
    skip_blanks();
    pieces.push_back(text);
    break;
  }
  return pieces;
}

// Cut before each of at most `most` separators; of any of the characters, or of the whole text.
Pieces SplitAt(std::string_view text, std::string_view separator, bool any_of, bool skip_empty,
               int64_t most) {
  Pieces pieces;
  const size_t width = any_of ? 1 : separator.size();
  for (int64_t cuts = 0;; ++cuts) {
    const size_t at = most >= 0 && cuts == most ? std::string_view::npos
                      : any_of                  ? text.find_first_of(separator)
                                                : text.find(separator);
    const std::string_view piece = text.substr(0, at);
    if (!piece.empty() || !skip_empty) pieces.push_back(piece);
    if (at == std::string_view::npos) return pieces;
    text.remove_prefix(at + width);
  }
}

// Gives the pieces of all strings as a sparse matrix, a row a string.
void WritePieces(KernelContext& context, const std::vector<Pieces>& rows) {
  int64_t count = 0, widest = 0;
  for (const Pieces& row : rows) {
    count += static_cast<int64_t>(row.size());
    widest = std::max(widest, static_cast<int64_t>(row.size()));
  }
  ShapeOutput(context, 0, Shape{count, 2});
  ShapeOutput(context, 1, Shape{count});
  ShapeOutput(context, 2, Shape{2});
  int64_t* index = context.output(0).as<int64_t>();
  std::string* value = context.output(1).as<std::string>();
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t c = 0; c < rows[r].size(); ++c) {
      *index++ = static_cast<int64_t>(r);
      *index++ = static_cast<int64_t>(c);
      *value++ = rows[r][c];
    }
  }
  context.output(2).as<int64_t>()[0] = static_cast<int64_t>(rows.size());
  context.output(2).as<int64_t>()[1] = widest;
}

void RequireVector(const TensorRef& input) {
  if (input.shape.rank() == 1) return;
  Throw(Code::kInvalidArgument, "input must be a vector, got shape: {}", input.shape.ToString());
}

// Each character of the delimiter separates; without one, every byte is a piece.
class SplitKernel final : public Kernel {
 public:
  explicit SplitKernel(const Node& node) : skip_empty_(node.BoolAttr("skip_empty", true)) {}

  void Compute(KernelContext& context) override {
    const TensorRef& input = context.input(0);
    RequireVector(input);
    const auto delimiter = ScalarOf<std::string>(context.input(1), "delimiter");
    std::vector<Pieces> rows;
    for (int64_t i = 0; i < input.NumElements(); ++i) {
      const std::string_view text = input.as<std::string>()[i];
      rows.push_back(text.empty()        ? Pieces{}
                     : delimiter.empty() ? Bytes(text)
                                         : SplitAt(text, delimiter, true, skip_empty_, -1));
    }
    WritePieces(context, rows);
  }

 private:
  static Pieces Bytes(std::string_view text) {
    Pieces pieces;
    for (size_t i = 0; i < text.size(); ++i) pieces.push_back(text.substr(i, 1));
    return pieces;
  }

  const bool skip_empty_;
};

class SplitV2Kernel final : public Kernel {
 public:
  explicit SplitV2Kernel(const Node& node) : most_(node.IntAttr("maxsplit", -1)) {}

  void Compute(KernelContext& context) override {
    const TensorRef& input = context.input(0);
    RequireVector(input);
    const auto separator = ScalarOf<std::string>(context.input(1), "sep");
    std::vector<Pieces> rows;
    for (int64_t i = 0; i < input.NumElements(); ++i) {
      const std::string_view text = input.as<std::string>()[i];
      rows.push_back(separator.empty() ? SplitAtBlanks(text, most_)
                     : text.empty()    ? Pieces{text}
                                       : SplitAt(text, separator, false, false, most_));
    }
    WritePieces(context, rows);
  }

 private:
  const int64_t most_;
};

class LengthKernel final : public Kernel {
 public:
  explicit LengthKernel(const Node& node) : by_character_(node.StringAttr("unit", "BYTE") == "UTF8_CHAR") {}

  void Compute(KernelContext& context) override {
    const TensorRef& input = context.input(0);
    ShapeOutput(context, 0, input.shape);
    int32_t* out = context.output().as<int32_t>();
    for (int64_t i = 0; i < input.NumElements(); ++i) {
      const std::string_view text = input.as<std::string>()[i];
      out[i] = static_cast<int32_t>(by_character_ ? CharactersIn(text) : static_cast<int64_t>(text.size()));
    }
  }

 private:
  const bool by_character_;
};

// Changes the letters of ASCII.
template <bool upper>
class CaseKernel final : public Kernel {
 public:
  explicit CaseKernel(const Node& node) {
    const std::string encoding = node.StringAttr("encoding", "");
    if (!encoding.empty()) Throw(Code::kUnimplemented, "letters of encoding '{}'", encoding);
  }

  void Compute(KernelContext& context) override {
    const TensorRef& input = context.input(0);
    ShapeOutput(context, 0, input.shape);
    for (int64_t i = 0; i < input.NumElements(); ++i) {
      std::string& out = context.output().as<std::string>()[i];
      out = input.as<std::string>()[i];
      for (char& c : out) {
        if (upper ? c >= 'a' && c <= 'z' : c >= 'A' && c <= 'Z') c = static_cast<char>(c ^ 0x20);
      }
    }
  }
};

void ComputeStrip(KernelContext& context) {
  const TensorRef& input = context.input(0);
  ShapeOutput(context, 0, input.shape);
  for (int64_t i = 0; i < input.NumElements(); ++i) {
    const std::string_view text = input.as<std::string>()[i];
    const size_t first = std::min(text.find_first_not_of(kBlanks), text.size());
    const size_t last = text.find_last_not_of(kBlanks);
    context.output().as<std::string>()[i] =
        last == std::string_view::npos ? std::string() : std::string(text.substr(first, last - first + 1));
  }
}

void ComputeReadFile(KernelContext& context) {
  const auto path = ScalarOf<std::string>(context.input(0), "filename");
  ShapeOutput(context, 0, Shape{});
  *context.output().as<std::string>() = ReadFile(path);
}

// Names of files that fit any of the patterns, sorted, each once.
void ComputeMatchingFiles(KernelContext& context) {
  const TensorRef& patterns = context.input(0);
  if (patterns.shape.rank() > 1) {
    Throw(Code::kInvalidArgument, "Input patterns tensor must be scalar or vector, but had shape: {}",
          patterns.shape.ToString());
  }
  std::vector<std::string> names;
  for (int64_t i = 0; i < patterns.NumElements(); ++i) {
    glob_t found{};
    if (glob(patterns.as<std::string>()[i].c_str(), 0, nullptr, &found) == 0) {
      names.insert(names.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
    }
    globfree(&found);
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  WriteOutput(context, 0, Tensor::FromValues<std::string>(Shape{static_cast<int64_t>(names.size())}, names));
}

}  // namespace

void RegisterPieceKernels(KernelRegistry& registry) {
  registry.Register("Substr", MakeKernel<SubstrKernel>);
  registry.Register("StringSplit", MakeKernel<SplitKernel>);
  registry.Register("StringSplitV2", MakeKernel<SplitV2Kernel>);
  registry.Register("StringLength", MakeKernel<LengthKernel>);
  registry.Register("StringLower", MakeKernel<CaseKernel<false>>);
  registry.Register("StringUpper", MakeKernel<CaseKernel<true>>);
  registry.Register("StringStrip", MakeFunctionKernel<ComputeStrip>);
  registry.Register("ReadFile", MakeFunctionKernel<ComputeReadFile>);
  registry.Register("MatchingFiles", MakeFunctionKernel<ComputeMatchingFiles>);
}

}  // namespace lanescope::exec
