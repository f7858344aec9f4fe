# SPDX-License-Identifier: Apache-2.0
# Install rules and the CMake package: find_package(lanescope) gives lanescope::core, ::graphs, ::exec, ::sims, ::traces and ::study.
# Components, which packages are made of (LanescopePackages.cmake): `program`, `development`, `cuda`.
include(CMakePackageConfigHelpers)

set(lanescope_libraries core graphs exec sims traces study)
set(lanescope_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lanescope)

foreach(library IN LISTS lanescope_libraries)
  add_library(lanescope::${library} ALIAS lanescope_${library})
endforeach()
# Those, and what they link.
foreach(library IN LISTS lanescope_libraries ITEMS resources readers profiler)
  set_target_properties(lanescope_${library} PROPERTIES EXPORT_NAME ${library})
  install(TARGETS lanescope_${library} EXPORT lanescope ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
endforeach()

file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/public_headers.txt headers REGEX "\\.h$")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/public_headers.txt)
list(REMOVE_ITEM headers graphs/ops.h)
foreach(header IN LISTS headers)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lanescope/${folder} COMPONENT development)
endforeach()
# The op functions, which the build makes.
install(FILES $<TARGET_PROPERTY:lanescope_graphs,OP_FUNCTIONS> DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lanescope/graphs
        COMPONENT development)

# The program with its manual and completions, under the names by which shells look for them.
set(LANESCOPE_ZSH_COMPLETIONS ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING
    "Folder of zsh's completions; distributions have one of their own (Debian: share/zsh/vendor-completions)")
set(pages ${PROJECT_BINARY_DIR}/manual)
install(TARGETS lanescope RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
install(DIRECTORY ${pages}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT program)
install(FILES ${pages}/bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME lanescope COMPONENT program)
install(FILES ${pages}/zsh DESTINATION ${LANESCOPE_ZSH_COMPLETIONS} RENAME _lanescope COMPONENT program)
install(FILES ${pages}/fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d RENAME lanescope.fish COMPONENT program)
# The timeline looks for graphs and sample traces here.
foreach(folder graphs machines torch traces)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/samples/${folder} DESTINATION ${CMAKE_INSTALL_DATADIR}/lanescope/samples
          COMPONENT program)
endforeach()
# The text of the licence for everybody but Debian, which has it.
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT bundle)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)

install(EXPORT lanescope NAMESPACE lanescope:: FILE lanescopeTargets.cmake DESTINATION ${lanescope_package_dir}
        COMPONENT development)
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/lanescopeConfig.cmake.in ${PROJECT_BINARY_DIR}/lanescopeConfig.cmake
  INSTALL_DESTINATION ${lanescope_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lanescopeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lanescopeConfig.cmake ${PROJECT_BINARY_DIR}/lanescopeConfigVersion.cmake
        DESTINATION ${lanescope_package_dir} COMPONENT development)

# The same for builds without CMake: pkg-config --cflags --libs lanescope.
file(RELATIVE_PATH LANESCOPE_PREFIX_FROM_PC /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${PROJECT_SOURCE_DIR}/cmake/lanescope.pc.in ${PROJECT_BINARY_DIR}/lanescope.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/lanescope.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
