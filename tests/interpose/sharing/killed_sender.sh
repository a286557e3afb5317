#!/usr/bin/env bash
# killed_sender.sh FLAVOR PROGRAM INTERPOSER DEVICE|- LAUNCHER FLAG…: a rank that is killed after its send, sooner and later.
set -u
flavor=$1 program=$2 interposer=$3 device=$4
shift 4
[ "$device" = - ] && device=
case "$device$interposer" in
  --device*/standin/*) ;;
  --device*) "$(dirname "$0")/../../support/has_gpu.sh" || exit 77 ;;
esac
# The other rank is to live on.
on=--enable-recovery
[ "$flavor" = mpich ] && on=-disable-auto-cleanup
launcher=$1
shift
export OMPI_MCA_osc="${OMPI_MCA_osc:-^ucx}"
heard=0
for lives_on in 1000 3000 20000; do  # by then the message has left
  # shellcheck disable=SC2086
  said=$(timeout -k 3 60 "$(dirname "$0")/../../support/launch.sh" "$launcher" $on "$@" env LD_PRELOAD="$interposer" STRAKE_JOB="killed-$$-$lives_on" \
    STRAKE_PROFILE=none STRAKE_SHARE_LIMIT=993 TEST_PRELOADED=1 "$program" "$lives_on" $device 2>&1)
  status=$?
  # 137: it had to be killed, since it did not end.
  if grep -q 'FAILED rank' <<<"$said" ||
    grep -qiE 'signal 11|signal 6|segmentation fault|core dumped' <<<"$said" || [ $status = 124 ] || [ $status = 137 ]; then
    echo "FAILED: killed after $lives_on us, exit status $status: $said"
    exit 1
  fi
  grep -x -e received -e told <<<"$said" && heard=$((heard + 1))
done
# MPICH's launcher may end the other rank all the same.
if [ $heard -lt 3 ] && [ "$flavor" = openmpi ]; then
  echo "FAILED: only $heard of 3 times the other rank said what it got"
  exit 1
fi
