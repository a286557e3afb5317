#!/usr/bin/env bash
# killed_member.sh FORM PROGRAM INTERPOSER LAUNCHER…: a rank is killed in a collective call. The launcher ends the others, and the job.
set -u
form=$1 program=$2 interposer=$3
shift 3
export OMPI_MCA_osc="${OMPI_MCA_osc:-^ucx}"
said=$(timeout -k 3 60 "$(dirname "$0")/../../support/launch.sh" "$@" env LD_PRELOAD="$interposer" STRAKE_JOB="killed-$$" \
  STRAKE_PROFILE=none STRAKE_COLLECTIVES=pairs TEST_PRELOADED=1 "$program" "$form" 2>&1)
status=$?
# 137: the launcher's, which then says which signal ended the rank, or of a job that had to be killed.
if [ $status = 0 ] || [ $status = 124 ] || { [ $status = 137 ] && ! grep -qi 'signal 9\|killed' <<<"$said"; } ||
  grep -qE 'FAILED rank|signal 11|signal 6|egmentation fault' <<<"$said" || ! grep -q '^a rank ends' <<<"$said"; then
  echo "FAILED: exit status $status: $said"
  exit 1
fi
if pgrep -f "^$program $form" >/dev/null; then
  echo "FAILED: a rank lives on"
  exit 1
fi
