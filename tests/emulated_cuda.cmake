# SPDX-License-Identifier: Apache-2.0
# The CUDA kernels themselves on a computer without a GPU: their sources with the launches rewritten, compiled as C++ against
# an emulator, run by the tests of tests/exec/cuda/gpu and some whole steps. Sanitizers do not follow its threads.
find_program(LANESCOPE_PYTHON python3)
mark_as_advanced(LANESCOPE_PYTHON)
if(LANESCOPE_SANITIZE OR NOT LANESCOPE_PYTHON)
  return()
endif()

set(emulator ${CMAKE_CURRENT_SOURCE_DIR}/exec/cuda/emulated)
set(translated ${CMAKE_CURRENT_BINARY_DIR}/emulated)
set(translated_include ${translated}/include/exec/cuda/kernels)
file(MAKE_DIRECTORY ${translated_include})

function(lanescope_translate source result)
  add_custom_command(OUTPUT ${result} COMMAND ${LANESCOPE_PYTHON} ${emulator}/translate_launches.py ${source} ${result}
                     DEPENDS ${source} ${emulator}/translate_launches.py)
endfunction()

lanescope_test(cuda_emulated_tests exec/cuda/emulated SEPARATE ${emulator}/emulator.cpp LINK lanescope_exec lanescope_core nlohmann_json::nlohmann_json)
file(GLOB cuda_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/exec/cuda/kernels/*.cu)
foreach(source IN LISTS cuda_sources ITEMS ${PROJECT_SOURCE_DIR}/exec/cuda/module/launch.cu ${PROJECT_SOURCE_DIR}/exec/cuda/module/checks.cu)
  get_filename_component(name ${source} NAME_WE)
  lanescope_translate(${source} ${translated}/${name}.cpp)
  list(APPEND translated_sources ${translated}/${name}.cpp)
endforeach()
lanescope_translate(${PROJECT_SOURCE_DIR}/exec/cuda/kernels/element_wise.cuh ${translated_include}/element_wise.cuh)
# nvcc has shown its warnings; what a C++ compiler says of the rest is of no use.
set_source_files_properties(${translated_sources} PROPERTIES COMPILE_OPTIONS "-w")
# A fortified longjmp takes another stack for a mistake.
set_source_files_properties(${emulator}/emulator.cpp PROPERTIES COMPILE_OPTIONS "-U_FORTIFY_SOURCE")
file(GLOB op_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/exec/cuda/kernels/*.cpp)
file(GLOB stub_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/exec/cuda/stub_*.cpp)
file(GLOB op_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/exec/cuda/gpu/ops_*_gpu_test.cpp)
# cuDNN is always there, as a header that computes.
list(FILTER op_sources EXCLUDE REGEX "/convolution_no_cudnn\\.cpp$")
lanescope_batches(batches cuda_emulated_more ${op_sources} ${stub_sources} ${op_tests})
target_sources(cuda_emulated_tests PRIVATE ${translated_sources} ${translated_include}/element_wise.cuh ${batches})
target_include_directories(cuda_emulated_tests BEFORE PRIVATE ${translated}/include ${emulator}/include)
