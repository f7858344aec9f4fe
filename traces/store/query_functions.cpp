// SPDX-License-Identifier: Apache-2.0
#include "traces/store/query_functions.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

namespace lanescope::traces {
namespace {

// By the pages of SQLite's documentation, until its version 3.50; every name between blanks.
constexpr std::string_view kScalar =
    " abs changes char coalesce concat concat_ws format glob hex if ifnull iif instr "
    "last_insert_rowid length like likelihood likely lower ltrim max min nullif octet_length "
    "printf quote random randomblob replace round rtrim sign soundex "
    "sqlite_compileoption_get sqlite_compileoption_used sqlite_offset sqlite_source_id "
    "sqlite_version substr substring subtype total_changes trim typeof unhex unicode unistr "
    "unistr_quote unlikely upper zeroblob ";
constexpr std::string_view kMath =
    " acos acosh asin asinh atan atan2 atanh ceil ceiling cos cosh degrees exp floor ln log "
    "log10 log2 mod pi pow power radians sin sinh sqrt tan tanh trunc ";
constexpr std::string_view kDate =
    " current_date current_time current_timestamp date datetime julianday strftime time "
    "timediff unixepoch ";
constexpr std::string_view kAggregate =
    " avg count group_concat median percentile percentile_cont percentile_disc string_agg sum "
    "total ";
constexpr std::string_view kWindow =
    " cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank "
    "row_number ";
constexpr std::string_view kJson =
    " -> ->> json json_array json_array_insert json_array_length json_error_position "
    "json_extract json_group_array json_group_object json_insert json_object json_patch "
    "json_pretty json_quote json_remove json_replace json_set json_type json_valid jsonb "
    "jsonb_array jsonb_array_insert jsonb_extract jsonb_group_array jsonb_group_object "
    "jsonb_insert jsonb_object jsonb_patch jsonb_remove jsonb_replace jsonb_set ";

constexpr std::string_view kFamilies[] = {kScalar, kMath, kDate, kAggregate, kWindow, kJson};

// Whether the name is a word of the list.
bool HasWord(std::string_view list, std::string_view name) {
  return list.find(fmt::format(" {} ", name)) != std::string_view::npos;
}

}  // namespace

bool IsQueryFunction(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lower.find(' ') == std::string::npos &&
         std::ranges::any_of(kFamilies, [&](std::string_view family) { return HasWord(family, lower); });
}

}  // namespace lanescope::traces
