// SPDX-License-Identifier: Apache-2.0
#include "traces/export/report_page.h"

#include "core/base/markup.h"
#include "traces/export/page_style.h"

namespace lanescope::traces {
namespace {

// JSON inside of a script element: nothing there may end it.
std::string InScript(std::string_view json) {
  std::string safe;
  for (const char c : json) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

// A column whose cells begin with digits is one of numbers.
bool IsNumber(const PageTable& table, size_t column) {
  for (const auto& row : table.rows) {
    const std::string& cell = row[column];
    if (cell.empty() || (cell[0] >= '0' && cell[0] <= '9') || cell[0] == '+' || cell[0] == '-') continue;
    return false;
  }
  return true;
}

void WriteTable(const PageTable& table, const ExportOutput& output) {
  if (table.rows.empty()) return;
  std::vector<bool> number;
  for (size_t i = 0; i < table.columns.size(); ++i) number.push_back(IsNumber(table, i));
  const auto line = [&](const std::vector<std::string>& cells, const char* element) {
    output("<tr>");
    for (size_t i = 0; i < cells.size(); ++i) {
      output(std::string("<") + element + (number[i] ? " class=\"number\">" : ">") + MarkupText(cells[i]) +
             "</" + element + ">");
    }
    output("</tr>\n");
  };
  output("<table><caption>" + MarkupText(table.title) + "</caption>\n");
  line(table.columns, "th");
  for (const auto& row : table.rows) line(row, "td");
  output("</table>\n");
}

void WriteSection(const PageSection& section, const ExportOutput& output) {
  output("<h2>" + MarkupText(section.heading) + "</h2>\n");
  if (!section.verdict.empty()) output("<p class=\"verdict\">" + MarkupText(section.verdict) + "</p>\n");
  for (const std::string& note : section.notes) output("<p class=\"note\">" + MarkupText(note) + "</p>\n");
  if (!section.advice.empty()) {
    output("<h3>What to do next</h3>\n<ul>\n");
    for (const std::string& advice : section.advice) output("<li>" + MarkupText(advice) + "</li>\n");
    output("</ul>\n");
  }
  if (!section.timeline.empty()) {
    output(
        "<p class=\"note\">Turn the wheel to zoom, drag to move, double-click for all.</p>\n"
        "<div class=\"timeline\"><canvas></canvas><div class=\"tip\"></div>"
        "<script type=\"application/json\">");
    output(InScript(section.timeline));
    output("</script></div>\n");
  }
  output(section.svg);
  for (const PageTable& table : section.tables) WriteTable(table, output);
}

}  // namespace

void WritePage(const std::string& title, const std::vector<PageSection>& sections,
               const ExportOutput& output) {
  output(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'\">\n");
  output("<title>" + MarkupText(title) + "</title>\n<style>");
  output(kPageStyle);
  output("</style></head><body>\n<h1>" + MarkupText(title) + "</h1>\n");
  for (const PageSection& section : sections) WriteSection(section, output);
  output("<script>");
  output(kPageScript);
  output("</script>\n</body></html>\n");
}

}  // namespace lanescope::traces
