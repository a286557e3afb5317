#!/bin/sh
# run.sh SECONDS OUTPUT EXPECTED CASE command…
# Runs the command, a job's, by launch.sh, keeps what it prints in OUTPUT, and fails if it fails or (EXPECTED not "-") prints
# something else than the file EXPECTED. A command that hangs is ended by SIGTERM, which both launchers pass on to the ranks.
# CASE not "-", a path: if together.py has run this case in this run of CTest, its results (CASE.out, CASE.code) are taken.
seconds=$1 output=$2 expected=$3 case=$4
shift 4

# of_this_run FOLDER   whether together.py wrote the folder in this run of CTest, which is the parent of both.
of_this_run() {
  read -r made_by <"$1/run" && read -r stat <"/proc/$PPID/stat" || return 1
  # shellcheck disable=SC2086
  set -- ${stat##*) }
  [ "$made_by" = "$PPID ${20}" ]
}

if [ "$case" != - ] && [ -f "$case.code" ] && of_this_run "${case%/*}" 2>/dev/null; then
  cp "$case.out" "$output"
  read -r status <"$case.code"
  rm "$case.code"  # a repetition of this test launches its program
  cat "$case.err" >&2
  [ "$status" -eq 0 ] || [ "$status" -eq 77 ] ||
    echo "This case ran together with others. By itself: ctest --test-dir $PWD -R '^$(basename "$output" .txt)\$'" >&2
else
  "${0%/*}/has_gpu.sh" "$@" || exit 77
  # Open MPI's UCX windows fail on machines without a network that UCX knows, with or without the interposer.
  export OMPI_MCA_osc="${OMPI_MCA_osc:-^ucx}"
  timeout -k 3 "$seconds" "${0%/*}/launch.sh" "$@" >"$output"
  status=$?
fi
cat "$output"
[ "$status" -eq 0 ] || exit "$status"
[ "$expected" = - ] || diff -u "$expected" "$output"
