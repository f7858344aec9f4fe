// SPDX-License-Identifier: Apache-2.0
// A report as one HTML page that needs nothing else: no network, no other file.
#pragma once

#include <string>
#include <vector>

#include "traces/export/export.h"
#include "traces/read/trace_reader.h"

namespace lanescope::traces {

struct PageTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

struct PageSection {
  std::string heading;
  std::string verdict;             // empty: none
  std::vector<std::string> notes;  // small print above the tables
  std::vector<std::string> advice;
  std::vector<PageTable> tables;
  std::string svg;       // a picture of ours, as it is; empty: none
  std::string timeline;  // of TimelineData; empty: none
};

// Gives what a page draws of a run, in at most so many slices: where there are more, neighbours in a row that
// are short for the whole become one with their number.
std::string TimelineData(const TraceRun& run, size_t max_slices);
// Draws a run that is read on the way.
std::string TimelineData(TraceReader& reader, int number, size_t max_slices);

// Texts are escaped; svg and timelines are taken as they are.
void WritePage(const std::string& title, const std::vector<PageSection>& sections,
               const ExportOutput& output);

}  // namespace lanescope::traces
