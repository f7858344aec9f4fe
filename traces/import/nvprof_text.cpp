// SPDX-License-Identifier: Apache-2.0
#include "traces/import/nvprof_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "core/base/error.h"
#include "core/base/file.h"
#include "traces/import/kineto_events.h"

namespace lanescope::traces {
namespace {

constexpr std::string_view kFirstColumns = "\"Start\",\"Duration\"";

// RFC 4180, without line breaks inside of quotes.
std::vector<std::string> CellsOf(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      if (quoted && i + 1 < line.size() && line[i + 1] == '"') {
        cells.back() += '"';
        ++i;
      } else {
        quoted = !quoted;
      }
    } else if (line[i] == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
    }
  }
  return cells;
}

std::string_view NextLine(std::string_view* text) {
  const size_t end = text->find('\n');
  std::string_view line = text->substr(0, end);
  *text = end == std::string_view::npos ? std::string_view() : text->substr(end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// One of the unit in ns or bytes; 0: no such unit.
double UnitOf(std::string_view unit) {
  constexpr std::pair<std::string_view, double> kUnits[] = {{"s", 1e9},      {"ms", 1e6},       {"us", 1e3},
                                                            {"ns", 1},       {"B", 1},          {"KB", 1024},
                                                            {"MB", 1048576}, {"GB", 1073741824}};
  for (const auto& [name, factor] : kUnits) {
    if (name == unit) return factor;
  }
  return 0;
}

class NvprofTextReader {
 public:
  NvprofTextReader(const std::string& path, const std::atomic<bool>* cancelled)
      : path_(path), cancelled_(cancelled), names_(&trace_) {
    trace_.format = "nvprof's print";
  }

  ImportTrace Read(std::string_view text) {
    bool inside = false;
    while (!text.empty()) {
      CheckImportGoesOn(cancelled_);
      const std::string_view line = NextLine(&text);
      if (line.starts_with(kFirstColumns)) {
        ReadHeading(line, NextLine(&text));
        inside = true;
      } else if (line.empty() || line.starts_with("==")) {
        inside = false;
      } else if (inside) {
        AddRow(CellsOf(line));
      }
    }
    if (trace_.events.empty() && trace_.skipped == 0) {
      Throw(Code::kInvalidArgument, "{} has no rows of nvprof --print-gpu-trace --csv", path_);
    }
    return std::move(trace_);
  }

 private:
  // Names in the first line, units in the second.
  void ReadHeading(std::string_view names, std::string_view units) {
    columns_.clear();
    const std::vector<std::string> columns = CellsOf(names), of = CellsOf(units);
    for (size_t i = 0; i < columns.size(); ++i) columns_[columns[i]] = i;
    const auto unit = [&](const char* column) {
      const auto found = columns_.find(column);
      return found == columns_.end() || found->second >= of.size() ? 0 : UnitOf(of[found->second]);
    };
    start_unit_ = unit("Start");
    length_unit_ = unit("Duration");
    size_unit_ = unit("Size");
    static_unit_ = unit("Static SMem");
    dynamic_unit_ = unit("Dynamic SMem");
    if (start_unit_ == 0 || length_unit_ == 0 || !columns_.contains("Name")) {
      Throw(Code::kDataLoss, "{}: the print of nvprof lacks its names or the units of its times", path_);
    }
  }

  const std::string& Cell(const std::vector<std::string>& row, const char* column) const {
    static const std::string none;
    const auto found = columns_.find(column);
    return found == columns_.end() || found->second >= row.size() ? none : row[found->second];
  }
  double Number(const std::vector<std::string>& row, const char* column) const {
    const std::string& text = Cell(row, column);
    double value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    return problem == std::errc() && std::isfinite(value) ? value : -1;
  }
  int64_t Count(const std::vector<std::string>& row, const char* column, double unit = 1) const {
    return static_cast<int64_t>(std::clamp(std::round(Number(row, column) * unit), 0.0, 1e15));
  }
  int32_t Small(const std::vector<std::string>& row, const char* column, double unit = 1) const {
    return static_cast<int32_t>(std::min<int64_t>(Count(row, column, unit), INT32_MAX));
  }

  // "Tesla K40c (0)": the number is the process', the name the card's.
  int64_t DeviceOf(const std::string& text) {
    const size_t open = text.rfind('(');
    int64_t number = 0;
    if (open != std::string::npos) std::from_chars(text.data() + open + 1, text.data() + text.size(), number);
    number = std::clamp<int64_t>(number, 0, 1 << 20);
    if (std::ranges::find(trace_.devices, number, &ImportDevice::id) == trace_.devices.end()) {
      std::string name = text.substr(0, open);
      while (name.ends_with(' ')) name.pop_back();
      trace_.devices.push_back({number, 0, 0, std::move(name)});
    }
    return number;
  }

  void AddRow(const std::vector<std::string>& row) {
    const double start = Number(row, "Start") * start_unit_, length = Number(row, "Duration") * length_unit_;
    const std::string& name = Cell(row, "Name");
    constexpr auto kMost = static_cast<double>(kMaxImportNs);
    if (!(start >= 0 && start < kMost && length >= 0 && length < kMost) || name.empty()) {
      ++trace_.skipped;
      return;
    }
    ImportEvent event;
    event.start_ns = std::llround(start);
    event.end_ns = std::llround(start + length);
    event.device = DeviceOf(Cell(row, "Device"));
    event.context = Count(row, "Context");
    event.stream = Count(row, "Stream") & 0x7fffffff;
    event.name = names_.Intern(name);
    event.kind = ImportEvent::Kind::kKernel;
    if (name.starts_with("[CUDA memcpy")) {
      event.kind = ImportEvent::Kind::kCopy;
      event.ends = ParseCopyName(name);
      event.bytes = Count(row, "Size", size_unit_);
    } else if (name.starts_with("[CUDA memset")) {
      event.kind = ImportEvent::Kind::kMemset;
      event.bytes = Count(row, "Size", size_unit_);
    } else {
      event.launch = static_cast<int>(trace_.launches.size());
      const int64_t shared =
          int64_t{Small(row, "Static SMem", static_unit_)} + Small(row, "Dynamic SMem", dynamic_unit_);
      trace_.launches.push_back({{Small(row, "Grid X"), Small(row, "Grid Y"), Small(row, "Grid Z")},
                                 {Small(row, "Block X"), Small(row, "Block Y"), Small(row, "Block Z")},
                                 Small(row, "Registers Per Thread"),
                                 static_cast<int32_t>(std::min<int64_t>(shared, INT32_MAX))});
    }
    trace_.events.push_back(event);
  }

  const std::string& path_;
  const std::atomic<bool>* cancelled_;
  ImportTrace trace_;
  ImportNames names_;
  std::map<std::string, size_t, std::less<>> columns_;
  double start_unit_ = 0, length_unit_ = 0, size_unit_ = 0, static_unit_ = 0, dynamic_unit_ = 0;
};

}  // namespace

// The names of its first columns stand in a line of their own, behind what nvprof says before.
bool IsNvprofText(const ForeignFile& file) {
  if (!file.name.ends_with(".csv")) return false;
  const std::string head = file.Head();
  const size_t at = head.find(kFirstColumns);
  return at != std::string::npos && (at == 0 || head[at - 1] == '\n');
}

ImportTrace ReadNvprofText(const ImportSource& source) {
  return NvprofTextReader(source.path, source.cancelled).Read(ReadFile(source.path));
}

}  // namespace lanescope::traces
