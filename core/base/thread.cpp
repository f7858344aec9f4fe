#include "core/base/thread.h"

#include <system_error>
#include <utility>

#include "core/base/error.h"

namespace lanescope {

std::thread StartThread(std::string_view purpose, std::function<void()> work) {
  try {
    return std::thread(std::move(work));
  } catch (const std::system_error& error) {
    Throw(Code::kResourceExhausted,
          "no thread could be started for {} ({}); use fewer workers, or raise the limits of processes and "
          "memory (ulimit -u, ulimit -v)",
          purpose, error.code().message());
  }
}

}  // namespace lanescope
