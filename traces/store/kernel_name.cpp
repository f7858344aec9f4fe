// SPDX-License-Identifier: Apache-2.0
#include "traces/store/kernel_name.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace lanescope::traces {
namespace {

// Substitutions can make a short mangled name a huge one; real ones are far below this.
constexpr size_t kMaxMangled = 16384;
constexpr std::string_view kAnonymous = "(anonymous namespace)";

bool IsIdentifier(char c) {
  return c == '_' || c == '$' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

// Where the parameter list begins: the first parenthesis outside template arguments that is not part of
// "(anonymous namespace)".
size_t EndOfName(std::string_view name) {
  int depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>' && depth > 0) --depth;
    if (name[i] != '(' || depth > 0) continue;
    if (name.substr(i, kAnonymous.size()) != kAnonymous) return i;
    i += kAnonymous.size() - 1;
  }
  return name.size();
}

// `name` without the template arguments that end it.
std::string_view WithoutTemplateArguments(std::string_view name) {
  if (name.empty() || name.back() != '>') return name;
  int depth = 0;
  for (size_t i = name.size(); i-- > 0;) {
    if (name[i] == '>') ++depth;
    if (name[i] == '<' && --depth == 0) return name.substr(0, i);
  }
  return name;
}

}  // namespace

std::string DemangledKernelName(const std::string& mangled) {
  if (mangled.size() > kMaxMangled || !mangled.starts_with("_Z")) return mangled;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : mangled;
}

std::string_view ShortKernelName(std::string_view demangled) {
  const std::string_view name = WithoutTemplateArguments(demangled.substr(0, EndOfName(demangled)));
  size_t begin = name.size();
  while (begin > 0 && IsIdentifier(name[begin - 1])) --begin;
  return begin < name.size() ? name.substr(begin) : demangled;
}

}  // namespace lanescope::traces
