# Compiles through ccache where it is installed, unless another launcher was chosen.
find_program(LANESCOPE_CCACHE ccache DOC "Compiler cache; empty: none")
mark_as_advanced(LANESCOPE_CCACHE)
if(LANESCOPE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${LANESCOPE_CCACHE})
endif()
