"""Prints the lines of bench_device as a short table, each with what it is compared with."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
sys.dont_write_bytecode = True

import text_table  # noqa: E402  (found through the path above)

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


def main(files):
    rows = []
    for line in text_table.read(files):
        extra = ", ".join(f"{heading} {form.format(line[key])}" for key, heading, form in FIELDS if key in line)
        rows.append([line["name"], line["unit"], f"{line['median']:.4g}", text_table.spread(line, ".4g"), extra])
    print(text_table.text(["benchmark", "unit", "median", "p10..p90", ""], rows, names=2))


if __name__ == "__main__":
    main(sys.argv[1:])
