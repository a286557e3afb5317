#!/bin/sh
# sweep.sh STRAKE   compares the rows of `strake plan --sweep` with `strake plan` for one number of nodes.
strake=$1
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
common='--machine summit --radius 3 --quantities 4'
# shellcheck disable=SC2086
"$strake" plan --sweep 1:9 --grid 1536x1024x512 $common --json > sweep.json
# shellcheck disable=SC2086
"$strake" plan --sweep 4,1 --weak --grid 512x512x512 $common --json > weak.json
for nodes in 1 2 4 8; do
  for placement in default node-aware; do
    # shellcheck disable=SC2086
    "$strake" plan --nodes $nodes --grid 1536x1024x512 $common --placement $placement --json > $nodes-$placement.json
  done
done
# shellcheck disable=SC2086
"$strake" plan --nodes 4 --grid 1024x1024x512 $common --json > weak-4.json
python3 - <<'END'
import json

rows = json.load(open("sweep.json"))
assert [row["nodes"] for row in rows] == [1, 1, 2, 2, 4, 4, 8, 8], rows
own = ("nodes", "placement", "grid")
for row in rows:
    one = json.load(open(f"{row['nodes']}-{row['placement']}.json"))
    assert {key: row[key] for key in row if key not in own} == one, (row, one)
weak = json.load(open("weak.json"))
assert [row["grid"] for row in weak] == 2 * [[512, 512, 512]] + 2 * [[1024, 1024, 512]], weak
assert weak[2]["bound_us"] == json.load(open("weak-4.json"))["bound_us"]
END
# shellcheck disable=SC2086
"$strake" plan --sweep 1:9 --grid 1536x1024x512 $common | tee out
[ "$(wc -l < out)" = 9 ]
grep -q '^    8 node-aware  *4 x 6 x 2 .* - ' out
for wrong in '0 0 nodes, fewer than 1' '8:2 8:2: 8 comes after 2' '1: 1: is not of the form' '1,x 1,x is not of the form' '2,-4 -4 nodes, fewer than 1'; do
  if "$strake" plan --gpus-per-node 6 --grid 64x64x64 --sweep "${wrong%% *}" 2> out; then exit 1; fi
  grep -qF -e "${wrong#* }" out
done
for wrong in '--nodes 2 --sweep 1:2' '--placement node-aware --sweep 1:2' '--nodes 2 --weak'; do
  # shellcheck disable=SC2086
  if "$strake" plan --gpus-per-node 6 --grid 64x64x64 $wrong 2> out; then exit 1; fi
  grep -q '^strake plan: --' out
done
if "$strake" plan --gpus-per-node 6 --grid 64x64x64 --radius 9 --sweep 1:64 2> out; then exit 1; fi
grep -q 'with 32 nodes: a radius of 9' out
