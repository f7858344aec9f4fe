# SPDX-License-Identifier: Apache-2.0
# Compile options that every target of the project shares, and helpers that make a library or a test program of a folder.

add_library(lanescope_options INTERFACE)
target_compile_options(lanescope_options INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC collects its garbage from 1 GB on, not again and again from 128 MB: 7% less time, and no job takes more than 1 GB.
  target_compile_options(lanescope_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=1000000>)
endif()
if(LANESCOPE_WERROR)
  target_compile_options(lanescope_options INTERFACE -Werror)
  # GCC 12 warns of overlapping and out-of-bounds copies in its own std::string (GCC bugs 105651, 105329).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(lanescope_options INTERFACE -Wno-error=restrict -Wno-error=array-bounds)
  endif()
endif()
if(LANESCOPE_SANITIZE)
  target_compile_options(lanescope_options INTERFACE -fsanitize=${LANESCOPE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g1)
  target_link_options(lanescope_options INTERFACE -fsanitize=${LANESCOPE_SANITIZE})
  if(LANESCOPE_SANITIZE MATCHES "undefined" AND LANESCOPE_SANITIZE MATCHES "address")
    # AddressSanitizer reports these by itself, and each costs a tenth of the compile time.
    target_compile_options(lanescope_options INTERFACE -fno-sanitize=null,object-size)
  endif()
  # ThreadSanitizer ignores fences; what they order here is atomic anyway.
  if(LANESCOPE_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(lanescope_options INTERFACE -Wno-tsan)
  endif()
endif()
if(LANESCOPE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "LANESCOPE_FUZZ wants Clang, for libFuzzer; configure with -DCMAKE_CXX_COMPILER=clang++")
  endif()
  target_compile_options(lanescope_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# lanescope_batches(VARIABLE NAME FILE...): FILEs with their .cpp files in batches of up to LANESCOPE_BATCH (twelve),
# which share what their headers cost: a build from nothing takes a third of the time. CMake's own batches name their files by
# absolute paths, so that no compiler cache could serve a second checkout.
function(lanescope_batches variable name)
  if(NOT LANESCOPE_UNITY)
    set(${variable} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(most 12)
  if(LANESCOPE_BATCH)
    set(most ${LANESCOPE_BATCH})
  endif()
  set(result)
  set(number 0)
  set(size 0)
  set(text "")
  set(last_folder "")
  foreach(file IN LISTS ARGN ITEMS end)
    get_filename_component(folder ${file} DIRECTORY)
    if(text AND (file STREQUAL "end" OR size EQUAL ${most}))
      set(batch ${CMAKE_CURRENT_BINARY_DIR}/batches/${name}_${number}.cpp)
      file(CONFIGURE OUTPUT ${batch} CONTENT "${text}" @ONLY)
      list(APPEND result ${batch})
      math(EXPR number "${number} + 1")
      set(text "")
      set(size 0)
    endif()
    if(file MATCHES "\\.cpp$")
      file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${file})
      string(APPEND text "#include \"${path}\"\n")
      math(EXPR size "${size} + 1")
      set(last_folder "${folder}")
    elseif(NOT file STREQUAL "end")
      list(APPEND result ${file})
    endif()
  endforeach()
  set(${variable} ${result} PARENT_SCOPE)
endfunction()
if(LANESCOPE_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A class of one .cpp file may have members of that file's own types; in a batch the file looks like a header.
  target_compile_options(lanescope_options INTERFACE -Wno-subobject-linkage)
endif()

# lanescope_library(NAME): a static library of all .cpp files of the current folder and of its FOLDERS. SEPARATE: files with
# compile options of their own. HOT: the compiler may take its time.
function(lanescope_library name)
  cmake_parse_arguments(arg "HOT" "" "FOLDERS;SEPARATE;LINK;PRIVATE_LINK" ${ARGN})
  set(patterns ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  foreach(dir IN LISTS arg_FOLDERS)
    list(APPEND patterns ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/*.cpp)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  foreach(file IN LISTS arg_SEPARATE)
    list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  endforeach()
  lanescope_batches(batches ${name} ${sources})
  add_library(${name} STATIC ${batches} ${arg_SEPARATE})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/lanescope>)
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_link_libraries(${name} PUBLIC ${arg_LINK} PRIVATE $<BUILD_INTERFACE:lanescope_options> ${arg_PRIVATE_LINK})
  # What -O3 adds is only worth its compile time (a fifth) in loops over numbers and tasks.
  if(NOT arg_HOT)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O2>)
  endif()
endfunction()

# lanescope_module_of_copies(NAME): a module that is loaded into a program made of the same libraries. It carries its own copies
# of what it shares with the program, and shows its entry point alone.
function(lanescope_module_of_copies name)
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/exec/cuda/module/no_descriptors.cpp)
  target_link_options(${name} PRIVATE -Wl,--as-needed -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -Wl,--no-undefined -Wl,--gc-sections
                      -Wl,--wrap=_ZN6google8protobuf8internal20AddDescriptorsRunnerC1EPKNS1_15DescriptorTableE)
endfunction()

# Where tests find the sources and the program; one file, so that no other one depends on where the checkout is.
function(lanescope_test_paths)
  add_library(lanescope_test_paths OBJECT ${PROJECT_SOURCE_DIR}/tests/support/paths.cpp)
  target_include_directories(lanescope_test_paths PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(lanescope_test_paths PRIVATE LANESCOPE_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                                          LANESCOPE_PROGRAM="$<TARGET_FILE:lanescope>"
                                                          LANESCOPE_PYTHON="${LANESCOPE_PYTHON}"
                                                          LANESCOPE_FAULT_SHIM="$<TARGET_FILE:lanescope_fault_shim>")
endfunction()

# lanescope_test(NAME FOLDER): a GoogleTest program of all .cpp files of tests/FOLDER and of its ROOMS. LABELS: of its tests,
# for ctest -L. SEPARATE: files with compile options of their own.
function(lanescope_test name folder)
  cmake_parse_arguments(arg "" "LABELS" "ROOMS;SEPARATE;LINK" ${ARGN})
  set(patterns ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
  foreach(dir IN LISTS arg_ROOMS)
    list(APPEND patterns ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/${dir}/*.cpp)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  foreach(file IN LISTS arg_SEPARATE)
    list(REMOVE_ITEM sources ${file})
  endforeach()
  if(NOT sources)
    return()
  endif()
  lanescope_batches(batches ${name} ${sources})
  add_executable(${name} ${batches} ${arg_SEPARATE} $<TARGET_OBJECTS:lanescope_test_paths>)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE lanescope_options ${arg_LINK} GTest::gtest GTest::gmock GTest::gtest_main)
  # Tests are compiled more often than run: this takes a third off their compile time.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  # GoogleTest's headers are compiled once for all programs, which have the same options.
  get_property(owner GLOBAL PROPERTY LANESCOPE_TEST_HEADERS)
  if(owner)
    target_precompile_headers(${name} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${name} PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
    set_property(GLOBAL PROPERTY LANESCOPE_TEST_HEADERS ${name})
  endif()
  gtest_discover_tests(${name} TEST_PREFIX "${folder}." DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 300 LABELS "${arg_LABELS}")
endfunction()
