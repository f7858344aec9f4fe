// SPDX-License-Identifier: Apache-2.0
#include "core/base/file.h"
#include "exec/readers/record_format.h"

namespace lanescope::exec {
namespace {

// One record a unit.
class OneRecordFormat : public RecordFormat {
 public:
  void Open(const std::string& work) override {
    record_ = {work, ValueOf(work)};
    is_there_ = true;
  }
  bool is_one_record() const override { return true; }
  bool Next(Record* record) override {
    if (!is_there_) return false;
    *record = std::move(record_);
    is_there_ = false;
    return true;
  }

 private:
  virtual std::string ValueOf(const std::string& work) const = 0;

  Record record_;
  bool is_there_ = false;
};

class WholeFileFormat final : public OneRecordFormat {
  std::string ValueOf(const std::string& work) const override { return ReadFile(work); }
};

class IdentityFormat final : public OneRecordFormat {
  std::string ValueOf(const std::string& work) const override { return work; }
};

}  // namespace

std::unique_ptr<RecordFormat> WholeFiles() { return std::make_unique<WholeFileFormat>(); }
std::unique_ptr<RecordFormat> Identity() { return std::make_unique<IdentityFormat>(); }

}  // namespace lanescope::exec
