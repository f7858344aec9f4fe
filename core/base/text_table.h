// SPDX-License-Identifier: Apache-2.0
// Tables for people: on a terminal, in a document.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lanescope {

// Columns first, then rows, then text. Cells are made printable (core/base/printable.h). Not thread-safe.
class TextTable {
 public:
  // Left-aligned, always whole.
  TextTable& Text(std::string title);
  // Left-aligned; its middle gives way where the lines would be too long.
  TextTable& Name(std::string title);
  // "12.43 ms", "4.3GiB", "-5%": numbers end at one column and their units begin at the next, and stay whole.
  // The title and cells that begin with no number are right-aligned, and give way like names.
  TextTable& Number(std::string title);
  // The columns from here on stand below this title, up to the next group.
  TextTable& Group(std::string title);

  // A line of dashes below the titles.
  TextTable& Ruled();

  // Cells from the left; those that are missing are empty.
  void Row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }

  // The titles and the rows so far, each line ended by a line break; called again, the rows since, in the
  // same columns, which a wider name of theirs gives way for. `width`: the columns of a line; 0: nothing
  // gives way.
  std::string Take(int width);

 private:
  enum class Kind { kText, kName, kNumber };
  struct Column {
    std::string title;
    Kind kind = Kind::kText;
    size_t group = 0;
    size_t width = 0, least = 0;  // least: what is left when it gives way
    size_t number = 0, unit = 0;  // widths of the parts of a number's cell
    bool spaced = false;          // a blank between them
  };
  // A cell of a number column, in its parts.
  struct Quantity {
    std::string_view number, unit;
  };

  static Quantity Split(std::string_view cell);
  TextTable& Add(std::string title, Kind kind);
  void Measure();
  void WidenForGroups();
  void Fit(size_t width);
  size_t WidthOfLine() const;
  std::string Cell(const Column& column, const std::string& text) const;
  std::string GroupLine() const;
  std::string Line(const std::vector<std::string>& cells) const;

  std::vector<Column> columns_;
  std::vector<std::string> groups_{""};
  std::vector<std::vector<std::string>> rows_;
  bool begun_ = false;
  bool ruled_ = false;
  bool shortens_ = false;
};

// `text` in at most `width` characters: "..." for its middle. At least three characters stay.
std::string Shortened(const std::string& text, size_t width);

}  // namespace lanescope
