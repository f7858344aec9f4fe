// SQL on a trace, for reading only.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace lanescope {

// A blob is shown in hexadecimal, "x'00ff'".
using QueryValue = std::variant<std::monostate, int64_t, double, std::string>;

struct QueryResult {
  std::vector<std::string> columns;
  std::vector<std::vector<QueryValue>> rows;
};

// Runs one statement. The file is opened read-only, and an authorizer admits nothing but reading: no writing,
// no attaching, no loading, no pragma that changes something. Throws InvalidArgument for bad SQL, for several
// statements, and for what is not allowed; Cancelled soon after `*cancelled` became true (null: never).
QueryResult RunQuery(const std::string& path, const std::string& sql,
                     const std::atomic<bool>* cancelled = nullptr);

std::string QueryText(const QueryResult& result);
// {"columns": [..], "rows": [[..]]}; infinities become null.
std::string QueryJson(const QueryResult& result);

}  // namespace lanescope
