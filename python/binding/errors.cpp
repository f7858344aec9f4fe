// SPDX-License-Identifier: Apache-2.0
// Error as an exception of Python with its code.
#include <exception>
#include <string>

#include "core/base/error.h"
#include "python/binding/binding.h"

namespace lanescope::python {
namespace {

void Translate(const std::exception_ptr& thrown, void* type) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    nb::object instance = nb::handle(static_cast<PyObject*>(type))(error.what());
    nb::setattr(instance, "code", nb::cast(std::string(CodeName(error.code())).c_str()));
    nb::setattr(instance, "message", nb::cast(error.message().c_str()));
    PyErr_SetObject(static_cast<PyObject*>(type), instance.ptr());
  }
}

}  // namespace

void AddErrors(nb::module_& module) {
  nb::object type = nb::steal(PyErr_NewExceptionWithDoc(
      "lanescope.Error",
      "What went wrong: `code` is one of the names that the command line prints (NotFound, InvalidArgument, "
      "ResourceExhausted, ...), `message` says what it is and what to do.",
      PyExc_RuntimeError, nullptr));
  module.attr("Error") = type;
  nb::register_exception_translator(Translate, type.release().ptr());  // which lives as long as the process
}

}  // namespace lanescope::python
