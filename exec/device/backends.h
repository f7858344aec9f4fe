// SPDX-License-Identifier: Apache-2.0
// Where devices come from. Devices of host memory are always there; every other kind is a backend: a folder
// of exec/ with a backend.cpp that defines
//   namespace lanescope::exec::FOLDER { Backend& TheBackend(); }
// The build finds it, and nothing outside the folder includes it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/machine/machine.h"
#include "exec/device/device.h"
#include "exec/device/device_options.h"
#include "exec/device/gpu_memory.h"

namespace lanescope::exec {

// Lives as long as the process. Thread-safe.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual bool Serves(const DeviceSpec& spec) const = 0;
  // Null for those of others. Throws FailedPrecondition when the machine has one that this
  // process cannot use, saying why.
  virtual IdVector<DeviceId, std::unique_ptr<Device>> MakeDevices(const Machine& machine,
                                                                  const DeviceOptions& options) = 0;

  // The GPUs of this computer that the backend could use. How many, without loading anything large; 0 with
  // the reason in one line.
  virtual int CountGpus(std::string* reason) = 0;
  // Loads what using them takes. False with the reason in one line.
  virtual bool Load(std::string* reason) = 0;
  // Whether its GPUs have what joint launches take (exec/device/joint_driver.h). False with the reason in one
  // line.
  virtual bool LaunchesTogether(std::string* reason) {
    *reason = "its devices do not launch together";
    return false;
  }
  // UsableGpus, GpuId, DescribeGpus and CompleteGpus of exec/measure/gpu_machine.h, as this backend answers
  // them. All but IdOf are called after Load.
  virtual std::vector<int> UsableGpus(std::vector<std::string>* notes) = 0;
  virtual std::string IdOf(int ordinal) = 0;
  virtual Machine Describe(const std::vector<int>& ordinals, const GpuMemoryOptions& options) = 0;
  virtual void Complete(Machine*) {}
  // The library by which its GPUs send to other processes' (exec/device/peer_channel.h), where these say the
  // same: "NCCL 2.28.9". Empty with the reason in one line.
  virtual std::string PeerLibrary(std::string* reason) {
    *reason = "its devices do not send to those of other processes";
    return "";
  }
};

// The backends that the build has found (exec/CMakeLists.txt).
std::vector<Backend*> BuiltInBackends();
// The backends of this program, the one registered last first.
std::vector<Backend*> Backends();

// A backend beside the built-in ones, asked before them, while this lives; no device of it may live longer.
class BackendRegistration {
 public:
  explicit BackendRegistration(Backend* backend);
  ~BackendRegistration();
  BackendRegistration(const BackendRegistration&) = delete;
  BackendRegistration& operator=(const BackendRegistration&) = delete;

 private:
  Backend* backend_;
};

// Whether collectives of the machine's GPUs can be joint launches here: those of hardware have what it takes.
bool HasJointLaunches(const Machine& machine);
// The backend that serves the device; null: it is made of host memory, or of nothing.
Backend* BackendOf(const DeviceSpec& spec);
// Every device of the machine; null for modelled ones, which may stand there unused. Throws
// InvalidArgument when GPUs of several sorts are among them, and what the backend throws.
IdVector<DeviceId, std::unique_ptr<Device>> MakeDevices(const Machine& machine, const DeviceOptions& options);

}  // namespace lanescope::exec
