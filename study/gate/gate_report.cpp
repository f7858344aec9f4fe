// SPDX-License-Identifier: Apache-2.0
#include "study/gate/gate_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/base/markup.h"
#include "core/base/printable.h"
#include "core/base/units.h"

namespace lanescope::study {
namespace {

using Json = nlohmann::ordered_json;

std::string SignedShare(double share) {
  if (std::isinf(share)) return share > 0 ? "without end" : "-100%";
  return SignedPercentText(share);
}

// The quantity that decides: the worst of those with the gate's own verdict.
const QuantityChange* Deciding(const GateResult& result) {
  const QuantityChange* deciding = nullptr;
  for (const QuantityChange& change : result.quantities) {
    if (change.verdict != result.verdict) continue;
    if (deciding == nullptr || change.change.value > deciding->change.value) deciding = &change;
  }
  return deciding;
}

// The op that lengthens the step most, and surely; null: none does.
const OpChange* Culprit(const GateResult& result) {
  const OpChange* culprit = nullptr;
  for (const OpChange& op : result.ops) {
    if (op.is_certain && op.change_ns > 0 && (culprit == nullptr || op.change_ns > culprit->change_ns))
      culprit = &op;
  }
  if (culprit != nullptr) return culprit;
  for (const OpChange& op : result.ops) {
    if (op.low_ns > 0 && (culprit == nullptr || op.change_ns > culprit->change_ns)) culprit = &op;
  }
  return culprit;
}

std::string WantedText(const GateResult& result, const QuantityChange& change) {
  if (change.verdict != GateVerdict::kCannotTell || !change.unrecorded.empty()) return "";
  if (change.wanted_runs == 0) return "no number of runs tells it from the budget";
  return fmt::format("{} {} wanted", change.wanted_runs, result.in_turn ? "rounds are" : "runs of each are");
}

std::string DetailText(const GateResult& result, const QuantityChange& change) {
  std::string text =
      fmt::format("{} {}, budget {}", change.quantity.name(), ChangeText(change), PercentText(result.budget));
  if (const std::string wanted = WantedText(result, change); !wanted.empty()) text += "; " + wanted;
  return text;
}

Json NumberOrNull(double number) { return std::isfinite(number) ? Json(number) : Json(nullptr); }

// Null: the side does not record it.
Json AmountOrNull(const QuantityChange& change, double amount) {
  return !change.unrecorded.empty() && amount <= 0 ? Json(nullptr) : Json(amount);
}

// In a cell of a table: no mark of Markdown or HTML that a name brings along means anything.
std::string MarkdownText(std::string_view text) {
  std::string shown;
  for (const char c : MarkupText(Printable(text))) {
    if (std::string_view("\\`*_{}[]()#+-!|~").find(c) != std::string_view::npos) shown += '\\';
    shown += c;
  }
  return shown;
}

}  // namespace

std::string ChangeText(const QuantityChange& change) {
  if (!change.unrecorded.empty())
    return fmt::format("not recorded by {}", fmt::join(change.unrecorded, " and "));
  const ChangeInterval& by = change.change;
  if (by.low == by.high) return SignedShare(by.value);
  if (by.low <= -1 && std::isinf(by.high)) return SignedShare(by.value) + " (no bounds)";
  return fmt::format("{} ({} to {})", SignedShare(by.value), SignedShare(by.low), SignedShare(by.high));
}

std::string RunsText(int runs) { return fmt::format("{} {}", runs, runs == 1 ? "run" : "runs"); }

std::string AmountText(const QuantityChange& change, double amount) {
  if (!change.unrecorded.empty() && amount <= 0) return "not recorded";
  const Quantity& quantity = change.quantity;
  return quantity.is_bytes() ? FormatBytes(std::llround(amount)) : TimeText(amount);
}

std::string GateSentence(const GateResult& result) {
  std::string text(GateVerdictName(result.verdict));
  if (const QuantityChange* deciding = Deciding(result); deciding != nullptr)
    text += ": " + DetailText(result, *deciding);
  if (result.verdict != GateVerdict::kWorse) return text;
  if (const OpChange* culprit = Culprit(result); culprit != nullptr) {
    text += fmt::format("; {} on {} adds {} to the step", culprit->name, culprit->devices,
                        TimeText(culprit->change_ns));
  }
  return text;
}

std::string GateJson(const GateResult& result) {
  Json quantities = Json::array(), ops = Json::array();
  for (const QuantityChange& of : result.quantities) {
    quantities.push_back({{"name", of.quantity.name()},
                          {"verdict", GateVerdictName(of.verdict)},
                          {"unit", of.quantity.is_bytes() ? "bytes" : "ns"},
                          {"base", AmountOrNull(of, of.base)},
                          {"candidate", AmountOrNull(of, of.candidate)},
                          {"change", of.unrecorded.empty() ? NumberOrNull(of.change.value) : Json(nullptr)},
                          {"low", NumberOrNull(of.change.low)},
                          {"high", NumberOrNull(of.change.high)},
                          {"by", of.by},
                          {"wanted_runs", of.wanted_runs}});
  }
  for (const OpChange& op : result.ops) {
    ops.push_back({{"name", op.name},
                   {"devices", op.devices},
                   {"change_ns", std::llround(op.change_ns)},
                   {"low_ns", std::llround(op.low_ns)},
                   {"high_ns", std::llround(op.high_ns)},
                   {"certain", op.is_certain}});
  }
  const Json json = {{"verdict", GateVerdictName(result.verdict)},
                     {"base", result.base_name},
                     {"candidate", result.candidate_name},
                     {"budget", result.budget},
                     {"base_runs", result.base_runs},
                     {"candidate_runs", result.candidate_runs},
                     {"in_turn", result.in_turn},
                     {"quantities", quantities},
                     {"ops", ops},
                     {"notes", result.notes},
                     {"sentence", GateSentence(result)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string GateJUnit(const GateResult& result) {
  const auto count = [&](GateVerdict verdict) {
    return std::ranges::count_if(result.quantities, [&](const auto& of) { return of.verdict == verdict; });
  };
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  text += fmt::format(
      "<testsuites>\n  <testsuite name=\"lanescope gate\" tests=\"{}\" failures=\"{}\" "
      "skipped=\"{}\" errors=\"0\">\n",
      result.quantities.size(), count(GateVerdict::kWorse), count(GateVerdict::kCannotTell));
  for (const QuantityChange& of : result.quantities) {
    text += fmt::format("    <testcase classname=\"{}\" name=\"{}\"", MarkupText(result.candidate_name),
                        MarkupText(of.quantity.name()));
    const std::string detail = MarkupText(DetailText(result, of));
    switch (of.verdict) {
      case GateVerdict::kFine:
        text += fmt::format(">\n      <system-out>{}</system-out>\n", detail);
        break;
      case GateVerdict::kWorse:
        text += fmt::format(">\n      <failure type=\"worse\" message=\"{}\">{}</failure>\n", detail,
                            MarkupText(GateSentence(result)));
        break;
      case GateVerdict::kCannotTell:
        text += fmt::format(">\n      <skipped message=\"cannot tell: {}\"/>\n", detail);
        break;
    }
    text += "    </testcase>\n";
  }
  return text + "  </testsuite>\n</testsuites>\n";
}

std::string GateMarkdown(const GateResult& result) {
  std::string text = fmt::format("### Performance: {}\n\n{}\n\n", GateVerdictName(result.verdict),
                                 MarkdownText(GateSentence(result)));
  text += fmt::format("Base: {} ({}). Candidate: {} ({}){}.\n\n", MarkdownText(result.base_name),
                      RunsText(result.base_runs), MarkdownText(result.candidate_name),
                      RunsText(result.candidate_runs), result.in_turn ? ", run in turn" : "");
  text += "| | verdict | base | candidate | change | interval | by |\n|---|---|---:|---:|---:|---|---|\n";
  for (const QuantityChange& of : result.quantities) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} to {} | {} |\n", MarkdownText(of.quantity.name()),
                        GateVerdictName(of.verdict), AmountText(of, of.base), AmountText(of, of.candidate),
                        of.unrecorded.empty() ? SignedShare(of.change.value) : "", SignedShare(of.change.low),
                        SignedShare(of.change.high), of.by);
  }
  if (!result.ops.empty()) {
    text += "\n| op | device | adds to the step | interval |\n|---|---|---:|---|\n";
    for (const OpChange& op : result.ops) {
      text +=
          fmt::format("| {} | {} | {} | {} to {} |\n", MarkdownText(op.name), MarkdownText(op.devices),
                      SignedTimeText(op.change_ns), SignedTimeText(op.low_ns), SignedTimeText(op.high_ns));
    }
  }
  for (const std::string& note : result.notes) text += fmt::format("\n{}.\n", MarkdownText(note));
  return text;
}

}  // namespace lanescope::study
