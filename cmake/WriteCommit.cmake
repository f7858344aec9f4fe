# SPDX-License-Identifier: Apache-2.0
# Writes the commit that SOURCE is at into OUTPUT, where that changes something: a definition of lanescope::Commit(), empty where
# it is not known. A source archive has its commit in cmake/commit.txt, which git fills in.
file(STRINGS ${SOURCE}/cmake/commit.txt commit LIMIT_COUNT 1)
if(commit MATCHES "Format")
  set(commit "")
  execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
                  ERROR_QUIET RESULT_VARIABLE failed)
  if(failed)
    set(commit "")
  endif()
endif()
set(text "#include \"cli/commit.h\"\nstd::string_view lanescope::cli::Commit() { return \"${commit}\"; }\n")
set(before "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT before STREQUAL text)
  file(WRITE ${OUTPUT} "${text}")
endif()
