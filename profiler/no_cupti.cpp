// In builds without CUPTI.
#include "profiler/capture_session.h"

namespace lanescope {

std::unique_ptr<CaptureSession> CaptureSession::Start(const CaptureOptions&, ActivitySink*,
                                                      std::string* reason) {
  *reason = "this build has no CUPTI (configure it where the CUDA toolkit is installed)";
  return nullptr;
}

bool CaptureSession::IsBuilt() { return false; }

}  // namespace lanescope
