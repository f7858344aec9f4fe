// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/op_spec.h"

#include <charconv>

#include "core/base/error.h"

namespace lanescope::ops {
namespace {

using enum DataType;

struct TypeSet {
  std::string_view name;
  std::vector<DataType> types;
};

const std::vector<TypeSet>& TypeSets() {
  static const std::vector<TypeSet> sets = {
      {"floating", {kHalf, kBfloat16, kFloat, kDouble}},
      {"complex", {kComplex64, kComplex128}},
      {"index", {kInt32, kInt64}},
      {"integer", {kInt8, kInt16, kInt32, kInt64, kUint8, kUint16, kUint32, kUint64}},
      {"real",
       {kHalf, kBfloat16, kFloat, kDouble, kInt8, kInt16, kInt32, kInt64, kUint8, kUint16, kUint32, kUint64}},
      {"number",
       {kHalf, kBfloat16, kFloat, kDouble, kInt8, kInt16, kInt32, kInt64, kUint8, kUint16, kUint32, kUint64,
        kComplex64, kComplex128, kQint8, kQuint8, kQint32, kQint16, kQuint16}},
  };
  return sets;
}

// Reads a definition from left to right.
class Reader {
 public:
  Reader(std::string_view text, std::string_view whole) : text_(text), whole_(whole) {}

  bool AtEnd() {
    SkipSpace();
    return text_.empty();
  }
  bool Accept(std::string_view token) {
    SkipSpace();
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }
  void Expect(std::string_view token) {
    if (!Accept(token)) Fail(token);
  }
  bool AtName() {
    SkipSpace();
    return !text_.empty() && IsNameChar(text_.front());
  }
  std::string_view Name() {
    SkipSpace();
    size_t length = 0;
    while (length < text_.size() && IsNameChar(text_[length])) ++length;
    if (length == 0) Fail("a name");
    return Take(length);
  }
  std::string Quoted() {
    Expect("'");
    const size_t length = text_.find('\'');
    if (length == std::string_view::npos) Fail("'");
    std::string text(Take(length));
    Expect("'");
    return text;
  }
  template <typename T>
  T Number() {
    SkipSpace();
    T number{};
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
    if (error != std::errc()) Fail("a number");
    Take(static_cast<size_t>(end - text_.data()));
    return number;
  }
  [[noreturn]] void Fail(std::string_view wanted) const {
    Throw(Code::kInternal, "op definition '{}': expected {} before '{}'", whole_, wanted, text_);
  }

 private:
  static bool IsNameChar(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }
  void SkipSpace() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n')) text_.remove_prefix(1);
  }
  std::string_view Take(size_t length) {
    const std::string_view taken = text_.substr(0, length);
    text_.remove_prefix(length);
    return taken;
  }

  std::string_view text_;
  std::string_view whole_;
};

// A type or the name of a set of types, appended to `types`.
void ReadTypes(Reader& reader, std::string_view name, std::vector<DataType>* types) {
  for (const TypeSet& set : TypeSets()) {
    if (set.name == name) {
      types->insert(types->end(), set.types.begin(), set.types.end());
      return;
    }
  }
  const DataType type = ParseDataType(name);
  if (type == kInvalid) reader.Fail("a type");
  types->push_back(type);
}

// {'A', 'B'} or {float, index} after the brace; fills the allowed values and returns the kind.
std::string ReadSet(Reader& reader, AttrDef* attr) {
  std::string kind = "type";
  do {
    if (reader.AtName()) {
      ReadTypes(reader, reader.Name(), &attr->allowed_types);
    } else {
      kind = "string";
      attr->allowed_strings.push_back(reader.Quoted());
    }
  } while (reader.Accept(","));
  reader.Expect("}");
  return kind;
}

std::string ReadKind(Reader& reader, AttrDef* attr) {
  if (reader.Accept("{")) return ReadSet(reader, attr);
  const std::string_view name = reader.Name();
  if (name == "list") {
    reader.Expect("(");
    std::string kind = "list(" + ReadKind(reader, attr) + ")";
    reader.Expect(")");
    return kind;
  }
  for (const std::string_view kind : {"int", "float", "bool", "string", "type", "shape", "tensor", "func"}) {
    if (name == kind) return std::string(name);
  }
  ReadTypes(reader, name, &attr->allowed_types);
  return "type";
}

bool ReadBool(Reader& reader) {
  if (reader.Accept("true")) return true;
  reader.Expect("false");
  return false;
}

DataType ReadType(Reader& reader) {
  const DataType type = ParseDataType(reader.Name());
  if (type == kInvalid) reader.Fail("a type");
  return type;
}

// [a, b, c], each element by `read`.
template <typename T, typename Read>
std::vector<T> ReadList(Reader& reader, Read read) {
  std::vector<T> list;
  reader.Expect("[");
  if (reader.Accept("]")) return list;
  do {
    list.push_back(read(reader));
  } while (reader.Accept(","));
  reader.Expect("]");
  return list;
}

AttrValue ReadDefault(Reader& reader, const std::string& kind) {
  if (kind == "int") return reader.Number<int64_t>();
  if (kind == "float") return reader.Number<float>();
  if (kind == "bool") return ReadBool(reader);
  if (kind == "string") return reader.Quoted();
  if (kind == "type") return ReadType(reader);
  if (kind == "shape") {
    if (reader.Accept("?")) return ShapeAttr{Shape::Unknown(), {}};
    return ShapeAttr{Shape(ReadList<Dim>(reader, [](Reader& r) { return r.Number<int64_t>(); })), {}};
  }
  if (kind == "list(int)") return ReadList<int64_t>(reader, [](Reader& r) { return r.Number<int64_t>(); });
  if (kind == "list(float)") return ReadList<float>(reader, [](Reader& r) { return r.Number<float>(); });
  if (kind == "list(bool)") return ReadList<bool>(reader, ReadBool);
  if (kind == "list(string)") return ReadList<std::string>(reader, [](Reader& r) { return r.Quoted(); });
  if (kind == "list(type)") return ReadList<DataType>(reader, ReadType);
  if (kind == "list(shape)") return ReadList<ShapeAttr>(reader, [](Reader&) { return ShapeAttr{}; });
  reader.Fail("a kind that may have a default");
}

std::vector<AttrDef> ReadAttrs(std::string_view text) {
  Reader reader(text, text);
  std::vector<AttrDef> attrs;
  while (!reader.AtEnd()) {
    AttrDef attr;
    attr.name = reader.Name();
    reader.Expect(":");
    attr.type = ReadKind(reader, &attr);
    if (reader.Accept(">=")) attr.minimum = reader.Number<int64_t>();
    if (reader.Accept("=")) attr.fallback = ReadDefault(reader, attr.type);
    attrs.push_back(std::move(attr));
    if (!reader.Accept(";") && !reader.AtEnd()) reader.Fail("';'");
  }
  return attrs;
}

void ReadArgType(Reader& reader, const OpDef& def, ArgDef* arg) {
  const std::string_view name = reader.Name();
  const AttrDef* attr = def.FindAttr(name);
  if (attr == nullptr) {
    arg->type = ParseDataType(name);
    if (arg->type == kInvalid) reader.Fail("a type or an attribute");
  } else if (attr->type == "list(type)") {
    arg->type_list_attr = name;
  } else {
    arg->type_attr = name;
  }
}

// TYPE or N * TYPE.
void ReadArgTypes(Reader& reader, const OpDef& def, ArgDef* arg) {
  ReadArgType(reader, def, arg);
  if (!reader.Accept("*")) return;
  arg->number_attr = std::move(arg->type_attr);
  arg->type_attr.clear();
  ReadArgType(reader, def, arg);
}

ArgDef ReadArg(Reader& reader, const OpDef& def) {
  ArgDef arg;
  arg.name = reader.Name();
  reader.Expect(":");
  arg.is_ref = reader.Accept("Ref(");
  ReadArgTypes(reader, def, &arg);
  if (arg.is_ref) reader.Expect(")");
  return arg;
}

std::vector<ArgDef> ReadArgs(Reader& reader, const OpDef& def) {
  std::vector<ArgDef> args;
  reader.Expect("(");
  if (reader.Accept(")")) return args;
  do {
    args.push_back(ReadArg(reader, def));
  } while (reader.Accept(","));
  reader.Expect(")");
  return args;
}

}  // namespace

OpDef ParseOpSpec(std::string_view signature, std::string_view attrs) {
  OpDef def;
  def.attrs = ReadAttrs(attrs);
  Reader reader(signature, signature);
  def.name = reader.Name();
  def.inputs = ReadArgs(reader, def);
  reader.Expect("->");
  def.outputs = ReadArgs(reader, def);
  if (!reader.AtEnd()) reader.Fail("the end");
  return def;
}

}  // namespace lanescope::ops
