# SPDX-License-Identifier: Apache-2.0
# Where an installation keeps the module.
set_source_files_properties(cuda/cuda_module.cpp PROPERTIES COMPILE_DEFINITIONS "LANESCOPE_LIBDIR=\"${CMAKE_INSTALL_LIBDIR}\"")
list(APPEND separate cuda/cuda_module.cpp)
# Kernels made at run time include the functors: the program carries their text.
set(functors isa float_math unary binary gradient optimizer cast)
set(functor_texts "")
foreach(functor IN LISTS functors)
  set(embedded ${CMAKE_CURRENT_BINARY_DIR}/functors/functors_${functor}.inc)
  add_custom_command(
    OUTPUT ${embedded}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${CMAKE_CURRENT_SOURCE_DIR}/functors/${functor}.h -DOUTPUT=${embedded} -P ${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/functors/${functor}.h ${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake)
  list(APPEND functor_texts ${embedded})
endforeach()
set_source_files_properties(cuda/functor_headers.cpp PROPERTIES
  INCLUDE_DIRECTORIES ${CMAKE_CURRENT_BINARY_DIR}/functors OBJECT_DEPENDS "${functor_texts}")
list(APPEND separate cuda/functor_headers.cpp ${functor_texts})
