// SPDX-License-Identifier: Apache-2.0
// Writes the op functions of graphs/ops.h from the op definitions: op_functions NOTES HEADER SOURCE...
// A function is called as its op, takes its inputs, its attributes without defaults, and a struct of those
// with.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/graph/op.h"

namespace lanescope {
namespace {

constexpr size_t kWidth = 110;

// A file that is written only where its text changes, so that nothing is compiled again for nothing.
void WriteFile(const std::string& path, const std::string& text) {
  std::ostringstream old;
  if (std::ifstream file(path); file) old << file.rdbuf();
  if (old.str() == text) return;
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) Throw(Code::kUnknown, "cannot write {}", path);
}

// '*' stands for any text.
bool Fits(std::string_view pattern, std::string_view name) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (size_t at = star; at <= name.size(); ++at) {
    if (Fits(rest, name.substr(at))) return true;
  }
  return false;
}

struct Note {
  std::vector<std::string> patterns;
  std::string shapes;
  std::string errors;
};

std::string Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

std::vector<Note> ReadNotes(const std::string& path) {
  std::ifstream file(path);
  if (!file) Throw(Code::kNotFound, "cannot read {}", path);
  std::vector<Note> notes;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    const size_t colon = line.find(": ");
    const size_t bar = line.find(" | ");
    if (colon == std::string::npos || bar == std::string::npos) {
      Throw(Code::kInvalidArgument, "{}: expected NAME...: shapes | errors in '{}'", path, line);
    }
    Note& note = notes.emplace_back();
    std::istringstream names(line.substr(0, colon));
    for (std::string name; names >> name;) note.patterns.push_back(name);
    note.shapes = Trim(std::string_view(line).substr(colon + 2, bar - colon - 2));
    note.errors = Trim(std::string_view(line).substr(bar + 3));
  }
  return notes;
}

const Note& NoteOf(const std::vector<Note>& notes, const std::string& op) {
  for (const Note& note : notes) {
    if (std::ranges::any_of(note.patterns, [&](const std::string& pattern) { return Fits(pattern, op); })) {
      return note;
    }
  }
  Throw(Code::kNotFound, "op {} has no line in the notes; write one", op);
}

// Text as a comment, in lines of at most kWidth characters.
std::string Comment(const std::string& text) {
  std::string comment;
  std::string line = "//";
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (line.size() + 1 + word.size() > kWidth) {
      comment += line + "\n";
      line = "//";
    }
    line += " " + word;
  }
  return comment + line + "\n";
}

std::string TypeText(DataType type) {
  std::string name = DataTypeName(type);
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return "DataType::k" + name;
}

std::string FloatText(float value) {
  const std::string text = fmt::format("{}", value);
  const bool whole = text.find_first_of(".en") == std::string::npos;
  return text + (whole ? ".0f" : "f");
}

template <typename T, typename Text>
std::string ListText(const std::vector<T>& list, Text text) {
  std::string all;
  for (const auto& element : list) all += (all.empty() ? "" : ", ") + text(element);
  return "{" + all + "}";
}

// The C++ side of an attribute's kind.
struct Kind {
  std::string type;       // in a struct
  std::string parameter;  // of a function
  std::string value;      // an AttrValue of {0}
};

Kind KindOf(const std::string& kind) {
  const auto plain = [](const std::string& type) { return Kind{type, type, "{0}"}; };
  const auto list = [](const std::string& of) {
    const std::string type = "std::vector<" + of + ">";
    return Kind{type, "const " + type + "&", "{0}"};
  };
  if (kind == "int") return plain("int64_t");
  if (kind == "float") return plain("float");
  if (kind == "bool") return plain("bool");
  if (kind == "type") return plain("DataType");
  if (kind == "string") return {"std::string", "const std::string&", "{0}"};
  if (kind == "shape") {
    return {"lanescope::Shape", "const lanescope::Shape&", "ShapeAttr{{{0}, {{}}}}"};
  }
  if (kind == "list(int)") return list("int64_t");
  if (kind == "list(float)") return list("float");
  if (kind == "list(bool)") return list("bool");
  if (kind == "list(type)") return list("DataType");
  if (kind == "list(string)") return list("std::string");
  if (kind == "list(shape)") {
    return {"std::vector<lanescope::Shape>", "const std::vector<lanescope::Shape>&", "ShapeList({0})"};
  }
  Throw(Code::kUnimplemented, "op functions with attributes that are {}", kind);
}

std::string DefaultText(const AttrValue& value) {
  struct Text {
    std::string operator()(const std::string& v) const { return fmt::format("\"{}\"", v); }
    std::string operator()(int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(float v) const { return FloatText(v); }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(DataType v) const { return TypeText(v); }
    std::string operator()(const ShapeAttr& v) const {
      if (!v.shape.known_rank()) return "lanescope::Shape::Unknown()";
      return "lanescope::Shape" + ListText(std::vector<Dim>(v.shape.dims().begin(), v.shape.dims().end()),
                                           [](Dim dim) { return std::to_string(dim); });
    }
    std::string operator()(const std::vector<int64_t>& v) const {
      return ListText(v, [](int64_t x) { return std::to_string(x); });
    }
    std::string operator()(const std::vector<float>& v) const { return ListText(v, FloatText); }
    std::string operator()(const std::vector<bool>& v) const {
      return ListText(v, [](bool x) { return std::string(x ? "true" : "false"); });
    }
    std::string operator()(const std::vector<DataType>& v) const { return ListText(v, TypeText); }
    std::string operator()(const std::vector<std::string>& v) const {
      return ListText(v, [](const std::string& x) { return fmt::format("\"{}\"", x); });
    }
    std::string operator()(const std::shared_ptr<const TensorAttr>&) const { return Fail(); }
    std::string operator()(const std::vector<ShapeAttr>& v) const { return v.empty() ? "{}" : Fail(); }
    std::string operator()(const RawAttr&) const { return Fail(); }
    static std::string Fail() { Throw(Code::kUnimplemented, "op functions with such a default"); }
  };
  return std::visit(Text(), value);
}

bool IsList(const ArgDef& arg) { return !arg.number_attr.empty() || !arg.type_list_attr.empty(); }

// One op as a function.
class OpFunction {
 public:
  OpFunction(const OpDef& def, const Note& note) : def_(def), note_(note) {
    std::set<std::string> inferred;
    for (const ArgDef& input : def.inputs) {
      inferred.insert({input.type_attr, input.type_list_attr, input.number_attr});
    }
    for (const AttrDef& attr : def.attrs) {
      if (inferred.contains(attr.name)) continue;
      (attr.fallback ? optional_ : required_).push_back(&attr);
    }
  }

  std::string Declaration() const { return Comments() + Structs() + Head(true) + ";\n\n"; }

  std::string Definition() const {
    std::string arguments, attrs;
    for (const ArgDef& input : def_.inputs) arguments += (arguments.empty() ? "" : ", ") + input.name;
    const auto add = [&attrs](const AttrDef& attr, const std::string& value) {
      attrs +=
          (attrs.empty() ? "" : ", ") +
          fmt::format("{{\"{}\", {}}}", attr.name, fmt::format(fmt::runtime(KindOf(attr.type).value), value));
    };
    for (const AttrDef* attr : required_) add(*attr, attr->name);
    for (const AttrDef* attr : optional_) add(*attr, "attrs." + attr->name);
    const std::string call =
        fmt::format("scope.Add(\"{}\", attrs.name, {{{}}}, {{{}}})", def_.name, arguments, attrs);
    return Head(false) + fmt::format(" {{\n{}}}\n\n", Body(call));
  }

 private:
  std::string ArgText(const ArgDef& arg) const {
    std::string text = "`" + arg.name + "`: ";
    if (!arg.number_attr.empty()) text += arg.number_attr + " of ";
    if (!arg.type_list_attr.empty()) return text + "tensors of any types";
    if (arg.is_ref) text += "a variable of ";
    return text + (arg.type_attr.empty() ? DataTypeName(arg.type) : arg.type_attr);
  }

  std::string Comments() const {
    std::string types, inputs, outputs;
    for (const AttrDef& attr : def_.attrs) {
      if (attr.type != "type") continue;
      std::string allowed;
      for (const DataType type : attr.allowed_types) {
        allowed += (allowed.empty() ? "" : ", ") + DataTypeName(type);
      }
      types += fmt::format(" {} is {}.", attr.name, allowed.empty() ? "any type" : "one of " + allowed);
    }
    for (const ArgDef& input : def_.inputs) inputs += (inputs.empty() ? "" : "; ") + ArgText(input);
    for (const ArgDef& output : def_.outputs) outputs += (outputs.empty() ? "" : "; ") + ArgText(output);
    std::string strings;
    for (const AttrDef& attr : def_.attrs) {
      if (attr.allowed_strings.empty()) continue;
      std::string allowed;
      for (const std::string& value : attr.allowed_strings) {
        allowed += (allowed.empty() ? "'" : ", '") + value + "'";
      }
      strings += fmt::format(" {} is one of {}.", attr.name, allowed);
    }
    return Comment(fmt::format("Takes {}. Gives {}.{}{}", inputs.empty() ? "nothing" : inputs,
                               outputs.empty() ? "nothing but its completion" : outputs, types, strings)) +
           Comment(note_.shapes) +
           (note_.errors == "None of its own." ? "" : Comment("Throws " + note_.errors));
  }

  std::string AttrsType() const { return optional_.empty() ? "OpName" : def_.name + "Attrs"; }
  bool has_several() const { return def_.outputs.size() > 1; }
  std::string ResultType() const {
    if (has_several()) return def_.name + "Outputs";
    return !def_.outputs.empty() && IsList(def_.outputs[0]) ? "std::vector<Endpoint>" : "Endpoint";
  }

  std::string Structs() const {
    std::string text;
    if (!optional_.empty()) {
      text += fmt::format("struct {} {{\n  std::string_view name = {{}};\n", AttrsType());
      for (const AttrDef* attr : optional_) {
        text +=
            fmt::format("  {} {} = {};\n", KindOf(attr->type).type, attr->name, DefaultText(*attr->fallback));
      }
      text += "};\n";
    }
    if (has_several()) {
      text += fmt::format("struct {} {{\n", ResultType());
      for (const ArgDef& output : def_.outputs) {
        text += fmt::format("  {} {};\n", IsList(output) ? "std::vector<Endpoint>" : "Endpoint", output.name);
      }
      text += "};\n";
    }
    return text;
  }

  std::string Head(bool with_default) const {
    std::string text = fmt::format("{} {}(Scope& scope", ResultType(), def_.name);
    for (const ArgDef& input : def_.inputs) {
      text += fmt::format(", const {}& {}", IsList(input) ? "InputList" : "Input", input.name);
    }
    for (const AttrDef* attr : required_) {
      text += fmt::format(", {} {}", KindOf(attr->type).parameter, attr->name);
    }
    return text + fmt::format(", const {}& attrs{})", AttrsType(), with_default ? " = {}" : "");
  }

  std::string Body(const std::string& call) const {
    if (has_several()) {
      const bool lists = std::any_of(def_.outputs.begin(), def_.outputs.end(), IsList);
      std::string outputs;
      for (size_t i = 0; i < def_.outputs.size(); ++i) {
        if (i > 0) outputs += ", ";
        outputs += !lists ? fmt::format("{{node, {}}}", i)
                          : fmt::format("lists[{}]{}", i, IsList(def_.outputs[i]) ? "" : "[0]");
      }
      if (lists) {
        return fmt::format("  const auto lists = scope.OutputLists({});\n  return {{{}}};\n", call, outputs);
      }
      return fmt::format("  const NodeId node = {}.node;\n  return {{{}}};\n", call, outputs);
    }
    const bool is_list = !def_.outputs.empty() && IsList(def_.outputs[0]);
    return is_list ? fmt::format("  return scope.Outputs({});\n", call) : fmt::format("  return {};\n", call);
  }

  const OpDef& def_;
  const Note& note_;
  std::vector<const AttrDef*> required_;
  std::vector<const AttrDef*> optional_;
};

constexpr std::string_view kHeader = R"(// Made from the op definitions by graphs/generator; do not edit.
// One function for every op, called as it is: it adds a node to the scope and returns its output, a struct of its
// outputs, a list of them, or (of an op without outputs) the node for ControlDependencies.
// Attributes with defaults come last, by name: MatMul(scope, a, b, {.name = "product", .transpose_b = true}).
// Every function throws InvalidArgument for element types other than those named here and for shapes that do not
// fit, naming the node; nothing is added then.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graphs/input.h"
#include "graphs/scope.h"

namespace lanescope::graphs::op {

// The name alone, for an op without attributes that have defaults.
struct OpName {
  std::string_view name = {};
};

// A constant. Plain numbers become int32 or float.
Endpoint Const(Scope& scope, const Input& value, const OpName& attrs = {});

)";

constexpr std::string_view kConst = R"(Endpoint Const(Scope& scope, const Input& value, const OpName& attrs) {
  if (value.endpoint() != nullptr) return *value.endpoint();
  const DataType type = value.typed() ? value.value().dtype() : NaturalType(value.value());
  return scope.Constant(NumbersAs(value.value(), type), attrs.name.empty() ? "Const" : attrs.name);
}

)";

void Run(const std::string& notes_path, const std::string& header, const std::vector<std::string>& sources) {
  const std::vector<Note> notes = ReadNotes(notes_path);
  std::string declarations(kHeader);
  std::vector<std::string> definitions(sources.size(),
                                       "#include \"graphs/ops.h\"\n\nnamespace lanescope::graphs::op {\n\n");
  definitions[0] += kConst;
  size_t number = 0;
  for (const std::string_view name : OpRegistry::Global().Names()) {
    if (name == "Const" || name.front() == '_') continue;  // those are of graphs that were partitioned
    const OpDef& def = *OpRegistry::Global().Find(name);
    const OpFunction function(def, NoteOf(notes, def.name));
    declarations += function.Declaration();
    definitions[number++ % sources.size()] += function.Definition();
  }
  WriteFile(header, declarations + "}  // namespace lanescope::graphs::op\n");
  for (size_t i = 0; i < sources.size(); ++i) {
    WriteFile(sources[i], definitions[i] + "}  // namespace lanescope::graphs::op\n");
  }
}

}  // namespace
}  // namespace lanescope

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: op_functions NOTES HEADER SOURCE...\n");
    return 2;
  }
  try {
    lanescope::Run(argv[1], argv[2], {argv + 3, argv + argc});
    return 0;
  } catch (const lanescope::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
