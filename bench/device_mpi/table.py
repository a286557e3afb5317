"""Prints the lines of the device_mpi benchmarks as short tables, each number beside its bar.

table.py FILE… reads all the files as one set of lines.
"""

import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
sys.dont_write_bytecode = True

import text_table  # noqa: E402  (found through the path above)

SMALL_BAR = 1.2  # times the sum of its parts, or the launch of an empty kernel
LATENCY_BAR_NS = 300


def verdict(value, bar):
    return "ok" if value <= bar else "OVER"


def packs(lines):
    rows = []
    for line in lines:
        bar = ""
        if line["name"].startswith("2d_1KiB"):
            bar = f"bar {SMALL_BAR}: {verdict(line['of_empty_kernel'], SMALL_BAR)}, by hand {line['by_hand_us']:.2f} us"
        numbers = [f"{line[key]:.2f}" for key in
                   ("empty_kernel_us", "of_empty_kernel", "alone_us", "empty_kernel_alone_us", "device_copy_us")]
        rows.append([line["name"], line["op"], f"{line['median']:.2f}", text_table.spread(line), *numbers, bar])
    header = ["MPI_Pack, MPI_Unpack", "op", "us", "p10..p90", "empty us", "ratio", "alone us", "empty alone", "copy us"]
    print(text_table.text([*header, ""], rows, names=2))


def pingpongs(lines):
    rows = []
    for line in lines:
        bar = ""
        if "of_sum" in line:
            bar = f"{line['of_sum']:.2f} x sum (bar {SMALL_BAR}): {verdict(line['of_sum'], SMALL_BAR)}"
        elif "of_bound" in line:
            bar = f"{line['of_bound']:.2f} of 1.3 x slowest + 1 KiB: {verdict(line['of_bound'], 1)}"
        parts = [f"{line[key]:.1f}" for key in ("pack_us", "copy_down_us", "wire_us", "copy_up_us", "unpack_us")]
        rows.append([line["name"], line["method"], str(line["devices"]), str(line["chunk"]), f"{line['median']:.1f}",
                     text_table.spread(line), *parts, bar])
    header = ["half round trip", "method", "GPUs", "chunk", "us", "p10..p90", "pack", "down", "wire", "up", "unpack", ""]
    print(text_table.text(header, rows, names=2))


def latencies(lines):
    print("8 bytes of host memory, processes with a device: half round trip, median of the runs")
    for name in dict.fromkeys(line["name"] for line in lines):
        runs = {False: [], True: []}
        for line in lines:
            if line["name"] == name:
                runs[line["interposer"] != ""].append(1e3 * line["median"])
        if not runs[False] or not runs[True]:
            continue
        plain, ours = (statistics.median(runs[key]) for key in (False, True))
        print(f"{name:24} plain {plain:.0f} ns, with the interposer {ours:.0f} ns, {ours - plain:+.0f} ns "
              f"(bar {LATENCY_BAR_NS}): {verdict(ours - plain, LATENCY_BAR_NS)}")


def collectives(lines):
    def median(op, way, strake):
        found = [line["median"] for line in lines if (line["op"], line["way"], line["interposer"] != "") == (op, way, strake)]
        return f"{statistics.median(found):.1f}" if found else "-"

    rows = [[op, median(op, "host", False), median(op, "host", True), median(op, "by_hand", True), median(op, "device", True)]
            for op in dict.fromkeys(line["op"] for line in lines)]
    print(text_table.text(["collectives of 256 KiB a rank, us", "host alone", "host", "by hand", "device"], rows))


def transposes(lines):
    rows = []
    for line in lines:
        others = line["bytes_per_rank"] * (line["ranks"] - 1) / line["ranks"]
        rows.append([line["name"], line["method"], str(line["ranks"]), str(line["devices"]), f"{line['median']:.1f}",
                     f"{others / 2**20:.2f}", f"{others / line['median'] * 1e-3:.1f}"])
    header = ["redistributions of device memory", "method", "ranks", "GPUs", "us", "MiB to others", "GB/s"]
    print(text_table.text(header, rows, names=2))


def main(files):
    lines = text_table.read(files)
    for benchmark, show in (("device_mpi_pack", packs), ("device_mpi_pingpong", pingpongs),
                            ("device_mpi_latency", latencies), ("device_mpi_collectives", collectives),
                            ("device_mpi_transpose", transposes)):
        chosen = [line for line in lines if line["benchmark"] == benchmark]
        if chosen:
            show(chosen)


if __name__ == "__main__":
    main(sys.argv[1:])
