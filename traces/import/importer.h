// SPDX-License-Identifier: Apache-2.0
// A reader of one format of other profilers. Internal to traces.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "traces/import/import.h"
#include "traces/import/import_trace.h"

namespace lanescope::traces {

// A file that some importer may know, by its name and its first bytes.
struct ForeignFile {
  explicit ForeignFile(const std::string& path_of_file);
  // As if it were called `name_of_file`.
  ForeignFile(const std::string& path_of_file, std::string name_of_file);
  const std::string path, name;  // name: without its folders
  const bool is_regular;
  // The first 4 KiB; empty: no such file, or none to read from. Not to be asked of databases: closing a file
  // gives up the locks that connections of this process hold on it.
  std::string Head() const;
};

// The input of a reader, and how it is ended and followed. The references must outlive it.
struct ImportSource {
  const std::string& path;
  const std::atomic<bool>* cancelled;  // null: never
  const ImportProgress& progress;
};

// A file that is no trace of the kind: in a folder it is left out, where a damaged trace of a rank is an
// error.
class NotATrace : public Error {
 public:
  using Error::Error;
};

// An importer is a file that defines these, and its line in importers.cpp.
struct Importer {
  std::string_view format;
  bool one_a_rank;  // profilers write such a file for every rank of a job
  bool (*knows)(const ForeignFile& file);
  // Throws NotATrace or InvalidArgument for what is no such trace, DataLoss for a damaged file, Cancelled.
  ImportTrace (*read)(const ImportSource& source);
  bool is_trace = false;  // a file alone is read as it is: an import joins several
};

// Null: the file is none that an import is of use for. JSON is known by its first bytes, too, compressed or
// not and whatever it is called.
const Importer* FindImporter(const std::string& path);
// Throws DataLoss for a file that is called like a database and is empty, cut off or none; does nothing for
// one that can be read, and for what is no file.
void RefuseDamaged(const std::string& path);
// By what importers go by alone: folders hold much JSON that is no trace and is not called so.
const Importer* FindImporterByName(const std::string& path);

}  // namespace lanescope::traces
