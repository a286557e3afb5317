"""Prints the lines of bench_halo_device as a table: a row for each way, a column for each number of ranks.

table.py FILE… reads all the files as one set of lines.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
sys.dont_write_bytecode = True

import text_table  # noqa: E402  (found through the path above)

def main(files):
    lines = text_table.read(files)
    ranks = sorted({line["ranks"] for line in lines})
    medians = {}
    for line in lines:
        medians.setdefault(line["name"], {})[line["ranks"]] = line["median"]
        if "predicted_us" in line:
            # A prediction is of one exchange, started and waited for.
            name = line["name"].rsplit("_", 1)[0] + "_predicted"
            medians.setdefault(name, {})[line["ranks"]] = line["predicted_us"]
    rows = [[name, *(f"{of[count]:.1f}" if count in of else "" for count in ranks)] for name, of in medians.items()]
    print(text_table.text(["us an exchange", *(f"{count} GPUs" for count in ranks)], rows))


main(sys.argv[1:])
