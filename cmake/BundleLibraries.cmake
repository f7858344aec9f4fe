# SPDX-License-Identifier: Apache-2.0
# Copies the libraries in `loaded_later`, and what those, `program` and `modules` need, into `folder`, under the names by which
# they are loaded. The C and C++ libraries are the system's: its graphics drivers need newer ones than any package brings.
# `patchelf`, if set, makes each look for others in its own folder: the RPATH of a module counts for what it opens later, but
# not for what that needs, as a program's does.
file(GET_RUNTIME_DEPENDENCIES
  EXECUTABLES ${program} LIBRARIES ${loaded_later} MODULES ${modules}
  RESOLVED_DEPENDENCIES_VAR libraries UNRESOLVED_DEPENDENCIES_VAR missing
  PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|stdc\\+\\+|gcc_s)\\.so")
if(missing)
  message(FATAL_ERROR "libraries of the package were not found: ${missing}")
endif()
foreach(library IN LISTS libraries loaded_later)
  get_filename_component(name ${library} NAME)
  get_filename_component(file ${library} REALPATH)
  file(INSTALL ${file} DESTINATION ${folder} TYPE FILE RENAME ${name})
  if(patchelf)
    execute_process(COMMAND ${patchelf} --force-rpath --set-rpath $ORIGIN ${folder}/${name} COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()
