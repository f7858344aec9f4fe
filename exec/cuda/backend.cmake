# SPDX-License-Identifier: Apache-2.0
# Where an installation keeps the module.
set_source_files_properties(cuda/cuda_module.cpp PROPERTIES COMPILE_DEFINITIONS "LANESCOPE_LIBDIR=\"${CMAKE_INSTALL_LIBDIR}\"")
list(APPEND separate cuda/cuda_module.cpp)
