"""Prints the lines of bench_halo_device as a table: a row for each way, a column for each number of ranks.

table.py FILE… reads all the files as one set of lines.
"""

import json
import sys


def main(files):
    lines = []
    for file in files:
        with open(file, encoding="utf-8") as text:
            lines += [json.loads(line) for line in text if line.startswith("{")]
    ranks = sorted({line["ranks"] for line in lines})
    rows = {}
    for line in lines:
        rows.setdefault(line["name"], {})[line["ranks"]] = line["median"]
        if "predicted_us" in line:
            # Of one exchange, started and waited for.
            name = line["name"].rsplit("_", 1)[0] + "_predicted"
            rows.setdefault(name, {})[line["ranks"]] = line["predicted_us"]
    print(f"{'us an exchange':48}" + "".join(f"{count:>6} GPUs" for count in ranks))
    for name, medians in rows.items():
        cells = "".join(f"{medians[count]:11.1f}" if count in medians else " " * 11 for count in ranks)
        print(f"{name:48}{cells}")


main(sys.argv[1:])
