#!/usr/bin/env bash
# refused.sh FILE COMPILER FLAG…: wrong use of the library's C++ interface is an error of the compiler, in the words of the file's
# first line, and not in those of a second line "// Not said: …"; and the file compiles without the line that is wrong, its
# last one.
set -u
file=$1
shift
words=$(sed -n '1s|^// Refused: ||p' "$file")
said=$("$@" -fsyntax-only "$file" 2>&1) && echo "FAILED: it compiles" && exit 1
unwanted=$(sed -n '2s|^// Not said: ||p' "$file")
[ -z "$unwanted" ] || ! grep -qF "$unwanted" <<<"$said" || { echo "FAILED: it says '$unwanted': $said"; exit 1; }
grep -qF "$words" <<<"$said" || { echo "FAILED: it does not say '$words': $said"; exit 1; }
sed '$d' "$file" | "$@" -fsyntax-only -x c++ - || { echo "FAILED: the rest of it does not compile"; exit 1; }
