# Install rules and the CMake package: find_package(lanescope) gives lanescope::core, ::graphs, ::exec, ::sims, ::traces and ::study.
include(CMakePackageConfigHelpers)

set(lanescope_libraries core graphs exec sims traces study)
set(lanescope_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lanescope)

# Public are the headers directly in a library's folder or in its rooms, less those that say "Internal to ..."; scripts/check_includes.py
# holds them to bringing in no dependency's own headers.
foreach(library IN LISTS lanescope_libraries)
  get_target_property(rooms lanescope_${library} LANESCOPE_ROOMS)
  list(TRANSFORM rooms PREPEND ${library}/)
  foreach(folder IN LISTS library rooms)
    file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/${folder}/*.h)
    foreach(header IN LISTS headers)
      file(STRINGS ${PROJECT_SOURCE_DIR}/${header} internal REGEX "^//.*Internal to " LIMIT_COUNT 1)
      if(NOT internal)
        install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lanescope/${folder})
      endif()
    endforeach()
  endforeach()
  set_target_properties(lanescope_${library} PROPERTIES EXPORT_NAME ${library})
  add_library(lanescope::${library} ALIAS lanescope_${library})
  install(TARGETS lanescope_${library} EXPORT lanescope ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()

# What study links to besides; without headers.
set_target_properties(lanescope_profiler PROPERTIES EXPORT_NAME profiler)
install(TARGETS lanescope_profiler EXPORT lanescope ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
# The op functions, which the build makes.
install(FILES $<TARGET_PROPERTY:lanescope_graphs,OP_FUNCTIONS> DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lanescope/graphs)

if(TARGET lanescope)
  install(TARGETS lanescope RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
# The timeline looks for graphs and sample traces here.
foreach(folder graphs machines traces)
  if(IS_DIRECTORY ${PROJECT_SOURCE_DIR}/samples/${folder})
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/samples/${folder} DESTINATION ${CMAKE_INSTALL_DATADIR}/lanescope/samples)
  endif()
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT lanescope NAMESPACE lanescope:: FILE lanescopeTargets.cmake DESTINATION ${lanescope_package_dir})
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/lanescopeConfig.cmake.in ${PROJECT_BINARY_DIR}/lanescopeConfig.cmake
  INSTALL_DESTINATION ${lanescope_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lanescopeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lanescopeConfig.cmake ${PROJECT_BINARY_DIR}/lanescopeConfigVersion.cmake
        DESTINATION ${lanescope_package_dir})
