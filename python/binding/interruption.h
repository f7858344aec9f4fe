// SPDX-License-Identifier: Apache-2.0
// Long work without the interpreter's lock, which Ctrl-C ends.
#pragma once

#include <functional>

#include "python/binding/binding.h"
#include "study/base/cancellation.h"

namespace lanescope::python {

// Runs `work` on another thread. Meanwhile this one looks for signals; one that Python makes an exception of
// cancels the work, and is thrown. So does the end of the program (calls.h), as Cancelled. With the lock,
// which `work` has not: what it calls of Python takes it.
void RunInterruptibly(const std::function<void(study::Cancellation&)>& work);
// Runs with a cancellation that lives longer: once cancelled it stays so.
void RunInterruptibly(study::Cancellation* cancellation, const std::function<void()>& work);

}  // namespace lanescope::python
