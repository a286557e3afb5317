#!/usr/bin/env bash
# On two nodes ranks share memory with those of their node, and with no others.
#   two_nodes.sh openmpi|mpich INTERPOSER PROGRAM
# 77: this process may make no namespaces.
set -u
flavor=$1 interposer=$2 program=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$(dirname "$0")/../../support/nodes.sh" 2 "$flavor" 110 env LD_PRELOAD="$interposer" STRAKE_JOB="two-nodes-$$" \
  STRAKE_SHARE_LIMIT=993 STRAKE_METHOD=pack STRAKE_PROFILE=none STRAKE_SUMMARY_JSON="$folder/json" \
  "$program" >"$folder/out" 2>&1
code=$?
cat "$folder/out"
[ $code = 77 ] && exit 77
[ $code = 0 ] || exit 1
grep -qx ok "$folder/out" || exit 1
pairs=$(python3 -c "import json, sys; print(json.load(open(sys.argv[1]))['shared_memory']['pairs'])" "$folder/json")
echo "$pairs pairs share"
[ "$pairs" = 4 ]  # on each node, each way
