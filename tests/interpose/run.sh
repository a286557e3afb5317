#!/bin/sh
# run.sh SECONDS OUTPUT EXPECTED command…
# Runs the command, keeps what it prints in OUTPUT, and fails if it fails or (EXPECTED not "-") prints
# something else than the file EXPECTED. A command that hangs is ended by SIGTERM, which both launchers pass
# on to the ranks.
seconds=$1 output=$2 expected=$3
shift 3
case "$*" in
  */standin/* | *_arena\ *) ;;
  *--device*) ls /dev/nvidia[0-9]* >/dev/null 2>&1 || [ -e /dev/dxg ] || exit 77 ;;  # no GPU: skipped
esac
# Open MPI's UCX windows fail on machines without a network that UCX knows, with or without the interposer.
export OMPI_MCA_osc="${OMPI_MCA_osc:-^ucx}"
timeout -k 3 "$seconds" "$@" >"$output"
status=$?
cat "$output"
[ $status -eq 0 ] || exit $status
[ "$expected" = - ] || diff -u "$expected" "$output"
