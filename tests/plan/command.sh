#!/bin/sh
# command.sh STRAKE CASE   runs `strake plan`, and compares what it prints.
strake=$1
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
case $2 in
flat)
  "$strake" plan --nodes 2 --gpus-per-node 6 --grid 1536x512x256 --radius 3 | tee out
  grep -q '^6 x 2 x 1 parts, 6 consecutive ones on each of 2 nodes; the largest has 256 x 256 x 256 cells$' out
  grep -q '^Bytes:    32.6 % stay in a part, 33.3 % in its node, 34.1 % leave it$' out
  grep -q '^Exchange: not predicted without --profile$' out
  ;;
node_aware)
  "$strake" plan --nodes 512 --gpus-per-node 6 --grid 6144x4096x2048 --radius 3 --quantities 8 --placement node-aware --json | tee out
  python3 - <<'END'
import json

found = json.load(open("out"))
assert found["node_grid"] == [16, 8, 4] and found["gpu_grid"] == [1, 3, 2], found
assert found["largest_subgrid"] == [384, 171, 256], found
assert abs(found["share_percent"]["network"] - 53.4) < 0.15, found
assert found["predicted_us"] is None and found["messages_per_gpu"] == 26, found
END
  ;;
bandwidth)
  printf '0 50 50 32 32 32\n50 0 50 32 32 32\n50 50 0 32 32 32\n32 32 32 0 50 50\n32 32 32 50 0 50\n32 32 32 50 50 0\n' > matrix
  "$strake" plan --nodes 512 --gpus-per-node 6 --grid 6144x4096x2048 --radius 3 --placement node-aware --bandwidth matrix --json | tee out
  python3 - <<'END'
import json

found = json.load(open("out"))
assert sorted(found["mapping"]) == [0, 1, 2, 3, 4, 5], found
assert abs(found["mean_over_optimum"] - 1.123) < 0.0005 and abs(found["worst_over_optimum"] - 1.309) < 0.0005, found
END
  printf '0 1 2' > matrix
  if "$strake" plan --nodes 8 --gpus-per-node 6 --grid 512x512x512 --bandwidth matrix 2> out; then exit 1; fi
  grep -q 'matrix: 3 numbers are no square matrix' out
  printf '0 1 1 0' > matrix
  if "$strake" plan --nodes 8 --gpus-per-node 6 --grid 512x512x512 --bandwidth matrix 2> out; then exit 1; fi
  grep -q 'flows of 6 parts and bandwidths of 2 places' out
  yes 1 | head -n 1050625 > matrix
  if "$strake" plan --nodes 8 --gpus-per-node 6 --grid 512x512x512 --bandwidth matrix 2> out; then exit 1; fi
  grep -q 'matrix: a matrix of more than 1024 places' out
  if "$strake" plan --nodes 8 --gpus-per-node 6 --grid 512x512x512 --bandwidth . 2> out; then exit 1; fi
  grep -qF -e ". can't be read" out
  ;;
graph)
  # Two rings of four ranks that take turns, a light edge between them, and one rank that sends to itself alone.
  {
    echo '# from to weight'
    for ring in 0 1; do
      for i in 0 2 4 6; do echo "$((i + ring)) $(((i + 2) % 8 + ring)) 100"; done
    done
    printf '\n0 1 8 # light\n8 8 5000\n'
  } > edges
  "$strake" plan --nodes 4 --gpus-per-node 4 --graph edges | tee out
  grep -q '^9 vertices on 4 nodes; edges between vertices weigh 808 in all$' out
  grep -q '^Leaves:   49.5 % in the given order, 1.0 % after mapping$' out
  grep -q '^Node 2: 8$' out
  grep -q '^Empty:    1 nodes$' out
  "$strake" plan --nodes 4 --gpus-per-node 4 --graph edges --json > out
  python3 - <<'END'
import json

found = json.load(open("out"))
node_of = found["node_of"]
assert found["vertices"] == 9 and found["weight"] == 808, found
assert abs(found["across_percent"]["mapped"] - 100 * 8 / 808) < 1e-9, found
assert len(set(node_of[0:8:2])) == 1 and len(set(node_of[1:8:2])) == 1 and node_of[8] == 2, found
END
  if "$strake" plan --nodes 2 --gpus-per-node 4 --graph edges 2> out; then exit 1; fi
  grep -q 'a graph of 9 vertices for 2 nodes of 4 places' out
  for wrong in '--grid 8' '--radius 2' '--host'; do
    # shellcheck disable=SC2086
    if "$strake" plan --nodes 4 --gpus-per-node 4 --graph edges $wrong 2> out; then exit 1; fi
    grep -q '^strake plan: .*excludes' out
  done
  if "$strake" plan --nodes 4 --gpus-per-node 4 2> out; then exit 1; fi
  grep -q -e '--grid is required' out
  printf '0 1 2\n1 2\n' > edges
  if "$strake" plan --nodes 4 --gpus-per-node 4 --graph edges 2> out; then exit 1; fi
  grep -q 'edges:2: "1 2" is not "from to weight"' out
  ;;
usage)
  for wrong in '--grid 12x' '--grid 4x4x4x4' '--grid 0x4' '--grid 64x64x64 --radius 65' '--grid 8 --placement near'; do
    # shellcheck disable=SC2086
    if "$strake" plan --nodes 1 --gpus-per-node 1 $wrong 2> out; then exit 1; fi
    grep -q '^strake plan: ' out
  done
  ;;
esac
