"""Prints the lines of the device_mpi benchmarks as short tables, each number beside its bar.

table.py FILE… reads all the files as one set of lines.
"""

import json
import statistics
import sys

SMALL_BAR = 1.2  # times the sum of its parts, or the launch of an empty kernel
LATENCY_BAR_NS = 300


def verdict(value, bar):
    return "ok" if value <= bar else "OVER"


def packs(lines):
    print(f"{'MPI_Pack, MPI_Unpack':36} {'op':7} {'us':>8} {'p10..p90':>16} {'empty us':>9} {'ratio':>6} "
          f"{'alone us':>9} {'empty alone':>11} {'copy us':>8}")
    for line in lines:
        bar = ""
        if line["name"].startswith("2d_1KiB"):
            bar = f"bar {SMALL_BAR}: {verdict(line['of_empty_kernel'], SMALL_BAR)}, by hand {line['by_hand_us']:.2f} us"
        spread = f"{line['p10']:.1f}..{line['p90']:.1f}"
        print(f"{line['name']:36} {line['op']:7} {line['median']:8.2f} {spread:>16} {line['empty_kernel_us']:9.2f} "
              f"{line['of_empty_kernel']:6.2f} {line['alone_us']:9.2f} {line['empty_kernel_alone_us']:11.2f} "
              f"{line['device_copy_us']:8.2f} {bar}")


def pingpongs(lines):
    print(f"{'half round trip':10} {'GPUs':>4} {'method':8} {'chunk':>5} {'us':>8} {'p10..p90':>17} "
          f"{'pack':>7} {'down':>7} {'wire':>7} {'up':>7} {'unpack':>7}")
    for line in lines:
        bar = ""
        if "of_sum" in line:
            bar = f"{line['of_sum']:.2f} x sum (bar {SMALL_BAR}): {verdict(line['of_sum'], SMALL_BAR)}"
        elif "of_bound" in line:
            bar = f"{line['of_bound']:.2f} of 1.3 x slowest + 1 KiB: {verdict(line['of_bound'], 1)}"
        spread = f"{line['p10']:.1f}..{line['p90']:.1f}"
        parts = " ".join(f"{line[key]:7.1f}" for key in
                         ("pack_us", "copy_down_us", "wire_us", "copy_up_us", "unpack_us"))
        print(f"{line['name']:10} {line['devices']:>4} {line['method']:8} {line['chunk']:>5} {line['median']:8.1f} "
              f"{spread:>17} {parts} {bar}")


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
        return f"{statistics.median(found):11.1f}" if found else f"{'-':>11}"

    print(f"{'collectives of 256 KiB a rank, us':34} {'host alone':>11} {'host':>11} {'by hand':>11} {'device':>11}")
    for op in dict.fromkeys(line["op"] for line in lines):
        columns = [median(op, "host", False), median(op, "host", True), median(op, "by_hand", True), median(op, "device", True)]
        print(f"{op:34} {' '.join(columns)}")


def transposes(lines):
    print(f"{'redistributions of device memory':34} {'ranks':>5} {'GPUs':>4} {'method':8} {'us':>10} {'MiB to others':>13} {'GB/s':>6}")
    for line in lines:
        others = line["bytes_per_rank"] * (line["ranks"] - 1) / line["ranks"]
        print(f"{line['name']:34} {line['ranks']:5} {line['devices']:4} {line['method']:8} {line['median']:10.1f} "
              f"{others / 2**20:13.2f} {others / line['median'] * 1e-3:6.1f}")


def main():
    lines = []
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            lines += [json.loads(text) for text in file if text.startswith("{")]
    for benchmark, show in (("device_mpi_pack", packs), ("device_mpi_pingpong", pingpongs),
                            ("device_mpi_latency", latencies), ("device_mpi_collectives", collectives),
                            ("device_mpi_transpose", transposes)):
        chosen = [line for line in lines if line["benchmark"] == benchmark]
        if chosen:
            show(chosen)


if __name__ == "__main__":
    main()
