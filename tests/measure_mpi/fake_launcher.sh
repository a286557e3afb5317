#!/bin/sh
# A launcher that starts nothing. FAKE_LAUNCHER: what it prints. The shell's own commands alone: PATH has no others.
line="a line of many that say the same, again and again, and nothing that the one who reads it could use"
case $FAKE_LAUNCHER in
  says)
    printf '\n--------------\nThere are no slots for the 2 ranks\nthat were asked for by the application.\n---\n' >&2 ;;
  long | noisy)
    i=0
    while [ $i -lt 2000 ]; do
      echo "$line"
      i=$((i + 1))
    done ;;
esac
if [ "$FAKE_LAUNCHER" = noisy ]; then
  for word in begins right ends; do echo "strake-probe: $word"; done
fi
exit 3
