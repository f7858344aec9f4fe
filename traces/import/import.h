// SPDX-License-Identifier: Apache-2.0
// Traces of other profilers as SQLite.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lanescope::traces {

struct ImportCounts {
  int64_t kernels = 0, copies = 0, memsets = 0, api_calls = 0, ranges = 0, synchronizations = 0, memory = 0;
  int64_t collectives = 0;                  // of which the file says what they move
  int64_t device_ranges = 0;                // annotations on streams
  int64_t overheads = 0;                    // of the profiler
  int64_t operators = 0;                    // ranges with shapes or a call stack
  int64_t clocks = 0;                       // of files, that were put right by the first file's
  int64_t skipped = 0;                      // events that lack what their kind needs
  int64_t mended = 0;                       // texts, words and commas that were no JSON
  int64_t cut_short = 0;                    // files that end before their list of events does
  int64_t laid_out = 0;                     // files without times, which are made of orders and lengths
  int64_t spans = 1;                        // when a profiler recorded that did so now and then
  int64_t unrecorded_ns = 0;                // between those, which times leave out
  std::map<std::string, int64_t> left_out;  // events of kinds that have no place here, by category
  std::vector<std::string> other_files;     // of folders, that are no such traces: names
};

// By name and first bytes, as importers.cpp lists them: "JSON" (PyTorch's profiler, TensorFlow's timeline,
// ONNX Runtime's), "execution trace" (PyTorch's), "XPlane", "Perfetto", "rocprofv3". Throws nothing for files
// that are not there: empty, unless their name says more, as for what no import is of use for: a trace in
// SQLite, a graph, something else.
std::string_view FormatOf(const std::string& path);

// The files behind a path where an import is of use: the file itself, or of a folder those of a job's ranks,
// exports of Nsight Systems too, by name. Empty: none is. Throws NotFound for a folder without any.
std::vector<std::string> FilesToImport(const std::string& path);

// "4010 kernels, 36 copies, ...; left out: 12 arrows (fwdbwd)".
std::string ImportText(const ImportCounts& counts);
// A reader of the trace should know these of it, a sentence each.
std::vector<std::string> ImportNotes(const ImportCounts& counts);

// Called now and then with how much is done, 0 to 1.
using ImportProgress = std::function<void(double)>;

// Writes an export in the layout of Nsight Systems: kernels, copies, memory sets, API calls,
// synchronisations, and operators and annotations as NVTX ranges, and memory over time. Ops of devices that
// are no GPU are kernels on devices of their own (LANESCOPE_DEVICE). Several files (the ranks of one
// job) go into one export, in which file n is the nth virtual machine; a folder stands for the files in it,
// of which those that are no traces are left out. Files of one process that was recorded now and then are one
// machine, and the time between them is left out (LANESCOPE_SPAN). The devices of each are GPUs of
// their own: they keep their numbers where no other file has those, and are called after their ranks ("rank 3
// GPU:0"). Where what ranks have in common shows that their clocks differ, times are those of the first
// file's clock (LANESCOPE_RANK). Of JSON, memory holds names and the like alone, however large the file is:
// what happened waits in a file without a name in $TMPDIR or /var/tmp. Time zero is the first event. Throws
// AlreadyExists when `out` is there, InvalidArgument for what is no such trace and for two files of one rank
// (a file that is named twice, too), DataLoss for damaged files, Cancelled soon after `*cancelled` became
// true (null: never), and leaves no file behind.
// `captures`: traces of the same program while it recorded its CUDA graphs, of one rank each. Their calls and
// ranges stand before the first event of the file of that rank, or of the only process, and say where the
// nodes of its graphs come from. Throws InvalidArgument for one without a graph, or of a rank that no file is
// of.
ImportCounts ImportTraces(const std::vector<std::string>& files, const std::string& out,
                          const std::atomic<bool>* cancelled = nullptr, const ImportProgress& progress = {},
                          const std::vector<std::string>& captures = {});

}  // namespace lanescope::traces
