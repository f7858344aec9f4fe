// SPDX-License-Identifier: Apache-2.0
#include "core/base/text_table.h"

#include <algorithm>

#include "core/base/printable.h"

namespace lanescope {
namespace {

constexpr size_t kGap = 2;         // between columns
constexpr size_t kLeastName = 12;  // what a name keeps
constexpr std::string_view kCut = "...";

std::string Blanks(size_t wanted, size_t have) { return std::string(wanted - std::min(wanted, have), ' '); }

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// The first `count` characters, or the last.
std::string_view Head(std::string_view text, size_t count) {
  size_t end = 0;
  while (end < text.size() && (count > 0 || IsContinuation(text[end]))) {
    if (!IsContinuation(text[end])) --count;
    ++end;
  }
  return text.substr(0, end);
}
std::string_view Tail(std::string_view text, size_t count) {
  size_t begin = text.size();
  for (; begin > 0 && count > 0; --begin) {
    if (!IsContinuation(text[begin - 1])) --count;
  }
  return text.substr(begin);
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string Shortened(const std::string& text, size_t width) {
  if (ColumnsOf(text) <= width) return text;
  const size_t kept = std::max<size_t>(width, kCut.size() + 3) - kCut.size();
  return std::string(Head(text, kept - kept / 2)) + std::string(kCut) + std::string(Tail(text, kept / 2));
}

TextTable& TextTable::Text(std::string title) { return Add(std::move(title), Kind::kText); }
TextTable& TextTable::Name(std::string title) { return Add(std::move(title), Kind::kName); }
TextTable& TextTable::Number(std::string title) { return Add(std::move(title), Kind::kNumber); }

TextTable& TextTable::Ruled() {
  ruled_ = true;
  return *this;
}

TextTable& TextTable::Group(std::string title) {
  groups_.push_back(Printable(title));
  return *this;
}

TextTable& TextTable::Add(std::string title, Kind kind) {
  Column& column = columns_.emplace_back();
  column.title = Printable(title);
  column.kind = kind;
  column.group = groups_.size() - 1;
  return *this;
}

void TextTable::Row(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = Printable(cell);
  rows_.push_back(std::move(cells));
}

// A sign, digits with points and commas, perhaps an exponent; then the unit, a blank before it or not.
TextTable::Quantity TextTable::Split(std::string_view cell) {
  size_t end = cell.starts_with('+') || cell.starts_with('-') ? 1 : 0;
  if (cell == "-") return {cell, {}};
  const size_t digits = end;
  while (end < cell.size() && (IsDigit(cell[end]) || cell[end] == '.' || cell[end] == ',')) ++end;
  if (end == digits || !IsDigit(cell[digits])) return {{}, cell};
  if (end + 2 < cell.size() && cell[end] == 'e' && (cell[end + 1] == '-' || cell[end + 1] == '+') &&
      IsDigit(cell[end + 2])) {
    for (end += 2; end < cell.size() && IsDigit(cell[end]);) ++end;
  }
  std::string_view unit = cell.substr(end);
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  return {cell.substr(0, end), unit};
}

void TextTable::Measure() {
  for (size_t c = 0; c < columns_.size(); ++c) {
    Column& column = columns_[c];
    column.width = ColumnsOf(column.title);
    for (const std::vector<std::string>& row : rows_) {
      const Quantity quantity =
          column.kind == Kind::kNumber ? Split(row[c]) : Quantity{{}, std::string_view(row[c])};
      if (quantity.number.empty()) {
        column.width = std::max(column.width, ColumnsOf(row[c]));
        continue;
      }
      column.number = std::max(column.number, ColumnsOf(quantity.number));
      column.unit = std::max(column.unit, ColumnsOf(quantity.unit));
      // "12.5%" and "1.3x" are written together.
      const bool is_word = ColumnsOf(quantity.unit) > 1 || quantity.unit == "B" || quantity.unit == "s";
      column.spaced = column.spaced || (is_word && !quantity.unit.starts_with('%'));
    }
    const size_t quantity = column.number + column.unit + (column.spaced ? 1 : 0);
    column.width = std::max(column.width, quantity);
    const size_t least = std::max(column.kind == Kind::kNumber ? quantity : 0, kLeastName);
    column.least = column.kind == Kind::kText ? column.width : std::min(column.width, least);
  }
}

void TextTable::WidenForGroups() {
  for (size_t g = 1; g < groups_.size(); ++g) {
    size_t span = 0;
    Column* last = nullptr;
    for (Column& column : columns_) {
      if (column.group != g) continue;
      span += column.width + (last == nullptr ? 0 : kGap);
      last = &column;
    }
    const size_t title = ColumnsOf(groups_[g]);
    if (last == nullptr || title <= span) continue;
    last->width += title - span;
    last->least = last->width;
  }
}

size_t TextTable::WidthOfLine() const {
  size_t width = columns_.empty() ? 0 : kGap * (columns_.size() - 1);
  for (const Column& column : columns_) width += column.width;
  return width;
}

// The widest of those that can gives way first.
void TextTable::Fit(size_t width) {
  for (size_t line = WidthOfLine(); line > width; --line) {
    Column* widest = nullptr;
    for (Column& column : columns_) {
      if (column.width <= column.least) continue;
      if (widest == nullptr || column.width > widest->width) widest = &column;
    }
    if (widest == nullptr) return;
    --widest->width;
  }
}

std::string TextTable::Cell(const Column& column, const std::string& text) const {
  if (column.kind != Kind::kNumber) {
    const bool shortens = shortens_ && column.kind == Kind::kName;
    const std::string shown = shortens ? Shortened(text, column.width) : text;
    return shown + Blanks(column.width, ColumnsOf(shown));
  }
  const Quantity quantity = Split(text);
  std::string shown = shortens_ ? Shortened(text, column.width) : text;
  if (!quantity.number.empty()) {
    shown = std::string(quantity.number);
    if (column.spaced) shown += ' ';
    shown += std::string(quantity.unit) + Blanks(column.unit, ColumnsOf(quantity.unit));
  }
  return Blanks(column.width, ColumnsOf(shown)) + shown;
}

std::string TextTable::GroupLine() const {
  std::string line;
  for (size_t c = 0; c < columns_.size();) {
    size_t span = 0, next = c;
    for (; next < columns_.size() && columns_[next].group == columns_[c].group; ++next) {
      span += columns_[next].width + (next > c ? kGap : 0);
    }
    const std::string& title = groups_[columns_[c].group];
    line += Blanks(span, ColumnsOf(title)) + title + std::string(kGap, ' ');
    c = next;
  }
  return line;
}

std::string TextTable::Line(const std::vector<std::string>& cells) const {
  std::string line;
  for (size_t c = 0; c < columns_.size(); ++c) {
    line += (c == 0 ? "" : std::string(kGap, ' ')) + Cell(columns_[c], cells[c]);
  }
  return line;
}

std::string TextTable::Take(int width) {
  const auto ended = [](std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
  };
  std::string text;
  if (!begun_) {
    begun_ = true;
    shortens_ = width > 0;
    Measure();
    WidenForGroups();
    if (width > 0) Fit(static_cast<size_t>(width));
    if (groups_.size() > 1) text += ended(GroupLine());
    std::string line;
    for (size_t c = 0; c < columns_.size(); ++c) {
      const Column& column = columns_[c];
      const std::string title = Shortened(column.title, column.width);
      const std::string pad = Blanks(column.width, ColumnsOf(title));
      line += c == 0 ? "" : std::string(kGap, ' ');
      line += column.kind == Kind::kNumber ? pad + title : title + pad;
    }
    text += ended(line);
    std::vector<std::string> rules;
    for (const Column& column : columns_) rules.emplace_back(column.width, '-');
    if (ruled_) text += ended(Line(rules));
  }
  for (const std::vector<std::string>& row : rows_) text += ended(Line(row));
  rows_.clear();
  return text;
}

}  // namespace lanescope
