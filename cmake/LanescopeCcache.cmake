# SPDX-License-Identifier: Apache-2.0
# Compiles through ccache where it is installed, unless another launcher was chosen.
find_program(LANESCOPE_CCACHE ccache DOC "Compiler cache; empty: none")
mark_as_advanced(LANESCOPE_CCACHE)
if(LANESCOPE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Precompiled headers are cached under these conditions only. Paths within the sources are relative, so that a second
  # checkout has what the first one compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros,locale,include_file_mtime,include_file_ctime ${LANESCOPE_CCACHE})
endif()
