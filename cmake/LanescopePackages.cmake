# SPDX-License-Identifier: Apache-2.0
# Packages by `cpack`: Debian packages by component, and a tarball with all that the program needs beside the C and C++
# libraries. docs/guides/packages.md says what is in which, and where they run.
set(CPACK_PACKAGE_NAME lanescope)
set(CPACK_PACKAGE_VENDOR "Lanescope")
set(CPACK_PACKAGE_CONTACT "Lanescope developers <lanescope@lanescope.invalid>")  # no address takes letters
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION
    "Where should each operator of a graph run, and what would any other placement cost? Lanescope runs graphs on CUDA GPUs and on virtual devices, records traces in SQLite, simulates placements with a calibrated cost model, and shows both on one timeline.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/PackageByGenerator.cmake)

set(CPACK_COMPONENTS_ALL program development)
if(LANESCOPE_HAS_CUDA)
  list(APPEND CPACK_COMPONENTS_ALL cuda)
endif()

# Debian: one package for all releases whose libraries have the same names; OpenBLAS is loaded when the first product
# comes, so that no tool sees that it is needed. Pictures and windows want OpenGL and a font, which servers do without.
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME lanescope)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS libopenblas0)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "libegl1, libgl1, fonts-dejavu-core")
# The static libraries are of the fmt and protobuf that they were built with.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME liblanescope-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
string(REGEX REPLACE "\\..*" "" fmt_major "${fmt_VERSION}")
math(EXPR fmt_next "${fmt_major} + 1")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libfmt-dev (>= ${fmt_major}), libfmt-dev (<< ${fmt_next}), libprotobuf-dev (>= ${Protobuf_VERSION}), nlohmann-json3-dev, libsqlite3-dev, zlib1g-dev, libsimdjson-dev, libpng-dev, libjpeg-dev, libfarmhash-dev")
# What Debian wants to find in each package: its licence, whose text each Debian has, and its changes.
# They are of the day that NEWS.md names for the version, or of today where it is not released.
file(STRINGS ${PROJECT_SOURCE_DIR}/NEWS.md released REGEX "^## ${PROJECT_VERSION}, [0-9]" LIMIT_COUNT 1)
string(REGEX REPLACE "^## [^,]*, " "" released "${released}")
execute_process(COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C date --utc --rfc-email "--date=${released} 12:00"
                OUTPUT_VARIABLE released OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
file(WRITE ${PROJECT_BINARY_DIR}/changelog "lanescope (${PROJECT_VERSION}) unstable; urgency=medium

  * Version ${PROJECT_VERSION}.

 -- ${CPACK_PACKAGE_CONTACT}  ${released}
")
execute_process(COMMAND gzip -9 --no-name --force ${PROJECT_BINARY_DIR}/changelog)
foreach(pair program:lanescope development:liblanescope-dev cuda:lanescope-cuda)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 component)
  list(GET pair 1 package)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/copyright ${PROJECT_BINARY_DIR}/changelog.gz
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
endforeach()
# simdjson's library has another name in each release: the program carries it, where its RPATH looks. A package does not
# depend on what is in it.
get_target_property(simdjson_file simdjson::simdjson LOCATION)
get_filename_component(simdjson_file ${simdjson_file} REALPATH)
get_filename_component(simdjson_name ${simdjson_file} NAME)
if(simdjson_name MATCHES "^([^.]+\\.so\\.[0-9]+)")
  install(FILES ${simdjson_file} RENAME ${CMAKE_MATCH_1} DESTINATION ${CMAKE_INSTALL_LIBDIR}/lanescope COMPONENT program)
endif()
# NVIDIA's libraries come from NVIDIA's own packages, or none.
set(CPACK_DEBIAN_CUDA_PACKAGE_NAME lanescope-cuda)
set(CPACK_DEBIAN_CUDA_PACKAGE_DEPENDS "lanescope (= ${PROJECT_VERSION}), libc6, libstdc++6, libgcc-s1")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "Placement of computation graphs, measured and simulated: the program")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Placement of computation graphs, measured and simulated: headers and libraries")
set(CPACK_COMPONENT_CUDA_DESCRIPTION "Placement of computation graphs, measured and simulated: CUDA GPUs")

# The tarball, which can be unpacked anywhere.
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_ARCHIVE_FILE_NAME lanescope-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
find_library(LANESCOPE_OPENBLAS NAMES libopenblas.so.0 openblas)
mark_as_advanced(LANESCOPE_OPENBLAS)
# lanescope_bundle_libraries(FOLDER COMPONENT MODULES [EXCLUDE_FROM_ALL]): installs what the program and modules need where
# their RPATHs look.
function(lanescope_bundle_libraries folder component modules)
  install(CODE "set(program $<TARGET_FILE:lanescope>)
set(loaded_later \"${LANESCOPE_OPENBLAS}\")
set(modules \"${modules}\")
set(folder \"${folder}\")
set(patchelf \"${LANESCOPE_PATCHELF}\")
include(\"${PROJECT_SOURCE_DIR}/cmake/BundleLibraries.cmake\")" COMPONENT ${component} ${ARGN})
endfunction()
lanescope_bundle_libraries("\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/lanescope" bundle "" EXCLUDE_FROM_ALL)
# The wheel, which pip unpacks into an environment.
if(SKBUILD)
  find_program(LANESCOPE_PATCHELF patchelf REQUIRED)
  mark_as_advanced(LANESCOPE_PATCHELF)
  lanescope_bundle_libraries("${SKBUILD_DATA_DIR}/${CMAKE_INSTALL_LIBDIR}/lanescope" python $<TARGET_FILE:lanescope_python>)
endif()

include(CPack)
