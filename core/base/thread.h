// How every thread of the project starts.
#pragma once

#include <functional>
#include <string_view>
#include <thread>

namespace lanescope {

// Runs `work` on a new thread. Throws ResourceExhausted, naming the `purpose`, where the system has no thread
// left; nothing has run then. Thread-safe.
std::thread StartThread(std::string_view purpose, std::function<void()> work);

}  // namespace lanescope
