#!/bin/sh
# wrong_graphs.sh COMMAND…   runs wrong_graphs.cpp's program, and reads what it is told of each fault.
set -e
output=$(timeout -k 3 50 "$@" 2>&1) || { echo "$output"; exit 1; }
echo "$output"
for sentence in 'rank 3 names an edge from 3 to 4, of 4 ranks' 'rank 3 names an edge from -7 to 3, of 4 ranks' \
  'rank 3 names an edge from 2 to 3 of weight -1' 'rank 0 names 0 edges to rank 3, which names 1 edges from there' \
  'rank 2 names 1 edges to rank 3, which names 2 edges from there' 'rank 3 names 1 neighbours without weights' 'rank 0 names an edge from 0 to 4, of 4 ranks' \
  'rank 0 names -1 edges from 0' 'rank 0 names an edge from 0 to 1 of weight -5'; do
  count=$(echo "$output" | grep -c -- "$sentence") || true
  [ "$count" = 1 ] || { echo "$count times: $sentence"; exit 1; }
done
