"""Prints the lines of bench_device as a short table, each with what it is compared with."""

import json
import sys

# Field of a line, heading, format.
FIELDS = [
    ("bound", "bound", "{:.0f}"),
    ("of_bound", "of bound", "{:.0%}"),
    ("hand_written", "by hand", "{:.0f}"),
    ("of_hand_written", "of by hand", "{:.0%}"),
    ("hand_written_shape", "shape", "{}"),
    ("contiguous_copy_us", "copy us", "{:.2f}"),
    ("of_copy", "x copy", "{:.2f}"),
    ("alone_us", "alone us", "{:.2f}"),
    ("of_copy_alone", "x copy alone", "{:.2f}"),
    ("warm_us", "warm us", "{:.2f}"),
    ("of_copy_warm", "x copy warm", "{:.2f}"),
    ("tracked_us", "tracked us", "{:.2f}"),
    ("of_copy_tracked", "x copy tracked", "{:.2f}"),
    ("us", "us", "{:.1f}"),
    ("parts_us", "parts us", "{:.1f}"),
    ("bar_us", "bar us", "{:.1f}"),
    ("touch_us", "touch us", "{:.1f}"),
    ("floor_us", "floor us", "{:.2f}"),
    ("empty_kernel_us", "empty us", "{:.2f}"),
    ("of_empty_kernel", "x empty", "{:.2f}"),
    ("enqueue_us", "enqueue us", "{:.2f}"),
    ("empty_alone_us", "empty alone us", "{:.2f}"),
    ("x_bound", "x bound", "{:.2f}"),
    ("x_payload_bound", "x payload bound", "{:.2f}"),
    ("copy_gigabytes_per_s", "copy GB/s", "{:.0f}"),
    ("gigabytes_per_s", "GB/s", "{:.1f}"),
    ("bytes_per_touch", "B/touch", "{:.1f}"),
    ("plan", "plan", "{}"),
]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        for line in map(json.loads, file):
            value = f"{line['median']:.4g}"
            spread = f"{line['p10']:.4g}..{line['p90']:.4g}"
            extra = ", ".join(f"{heading} {form.format(line[key])}" for key, heading, form in FIELDS if key in line)
            print(f"{line['name']:44} {value:>9} {line['unit']:6} ({spread}) {extra}")


if __name__ == "__main__":
    main()
