# Compile options that every target of the project shares, and helpers that make a library or a test program of a folder.

add_library(lanescope_options INTERFACE)
target_compile_options(lanescope_options INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor)
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
  # ThreadSanitizer ignores fences; what they order here is atomic anyway.
  if(LANESCOPE_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(lanescope_options INTERFACE -Wno-tsan)
  endif()
endif()

# Files of a batch share what their headers cost. A batch stays below 1 GiB and 20 seconds.
set(CMAKE_UNITY_BUILD ${LANESCOPE_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 6)
if(LANESCOPE_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A class of one .cpp file may have members of that file's own types; in a batch the file looks like a header.
  target_compile_options(lanescope_options INTERFACE -Wno-subobject-linkage)
endif()

# lanescope_library(NAME): a static library of all .cpp files of the current folder and the given SUBDIRS.
function(lanescope_library name)
  cmake_parse_arguments(arg "" "" "SUBDIRS;LINK;PRIVATE_LINK" ${ARGN})
  set(patterns ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  foreach(dir IN LISTS arg_SUBDIRS)
    list(APPEND patterns ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/*.cpp)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/lanescope>)
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_link_libraries(${name} PUBLIC ${arg_LINK} PRIVATE $<BUILD_INTERFACE:lanescope_options> ${arg_PRIVATE_LINK})
endfunction()

# lanescope_test(NAME FOLDER): a GoogleTest program of all .cpp files of tests/FOLDER. LABELS: of its tests, for ctest -L.
function(lanescope_test name folder)
  cmake_parse_arguments(arg "" "LABELS" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE LANESCOPE_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                             LANESCOPE_BINARY_DIR="${PROJECT_BINARY_DIR}")
  target_link_libraries(${name} PRIVATE lanescope_options ${arg_LINK} GTest::gtest GTest::gmock GTest::gtest_main)
  # Tests are compiled more often than run: this takes a third off their compile time.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  target_precompile_headers(${name} PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
  gtest_discover_tests(${name} TEST_PREFIX "${folder}." DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 300 LABELS "${arg_LABELS}")
endfunction()
