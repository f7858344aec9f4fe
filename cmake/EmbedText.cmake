# SPDX-License-Identifier: Apache-2.0
# Turns a text file into raw string literals, in pieces that every compiler accepts: #include it as an initialiser.
file(READ ${INPUT} text)
string(LENGTH "${text}" length)
set(out "")
set(position 0)
while(position LESS length)
  string(SUBSTRING "${text}" ${position} 8000 piece)
  string(APPEND out "R\"~~(${piece})~~\"\n")
  math(EXPR position "${position} + 8000")
endwhile()
file(WRITE ${OUTPUT} "${out}")
