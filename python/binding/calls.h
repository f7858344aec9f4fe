// SPDX-License-Identifier: Apache-2.0
// Calls of the library that are in progress, without the interpreter's lock. The end of the program ends
// them: a thread that wants the lock of an interpreter that is gone takes the process along.
#pragma once

#include "python/binding/binding.h"
#include "study/base/cancellation.h"

namespace lanescope::python {

struct Calls;

// While one lives, its thread has let go of the interpreter's lock. Made and destroyed by one thread.
class Unlocked {
 public:
  // With the lock. `ends`: cancelled where the program ends meanwhile; null: such work is waited for. Throws
  // FailedPrecondition once the program ends.
  explicit Unlocked(study::Cancellation* ends = nullptr);
  // Takes the lock again; never comes back where the interpreter is gone.
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

  // Takes the lock for as long as `look` lasts, by the thread that made this.
  template <typename Look>
  void WithLock(Look look) {
    Lock();
    look();
    Unlock();
  }

 private:
  void Lock();
  void Unlock();

  study::Cancellation* const ends_;
  Calls* const calls_;
  PyThreadState* thread_ = nullptr;
};

// Whether no other call begins.
bool ProgramEnds();
// From now on no call begins; those in progress are cancelled, and waited for, but not for ever. With the
// lock.
void EndCalls();

}  // namespace lanescope::python
