// SPDX-License-Identifier: Apache-2.0
// Where in a program its kernels come from: the operator that launched them, its shapes, who called it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lanescope::traces {

struct TraceRun;

struct LaunchOrigin {
  // The facts of the innermost range around the launching call, or, of those around it, of the first one
  // that is an operator with shapes or a call stack. Empty: not said.
  std::string op, shapes, types;
  std::vector<std::string> callers;  // the innermost first
  int64_t launches = 0;              // from there
  int64_t all = 0;                   // of the same name, from anywhere
};

// By name the origin that most of its time comes from. Names are those of a RunProfile's ops: kernels,
// "[CUDA memcpy HtoD] host -> GPU:0". Owns its texts. Value type.
class LaunchOrigins {
 public:
  LaunchOrigins() = default;
  explicit LaunchOrigins(const TraceRun& run);
  // Null: no range is around its launches.
  const LaunchOrigin* Find(const std::string& name) const;

 private:
  std::map<std::string, LaunchOrigin> origins_;
};

// "aten::mm of [[64,512],[512,512]] (float, float), 3 of 4 launches".
std::string OriginText(const LaunchOrigin& origin);
// "linear.py(96): forward < train.py(3): step"; empty: nobody is known.
std::string CallersText(const LaunchOrigin& origin);

}  // namespace lanescope::traces
