#!/usr/bin/env python3
"""Tests of bench/compare, of the verdicts of bench/run-cpu, of intervals and tables, on made-up results."""

import math
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

import intervals  # noqa: E402  (found through the path above)
import jobs  # noqa: E402
import tables  # noqa: E402
import text_table  # noqa: E402

# A benchmark whose medians are given: one of MEDIANS a run, in turn.
FAKE = """
import json, os, pathlib, sys
turns = pathlib.Path(sys.argv[1]) / os.environ["SIDE"]
turn = len(turns.read_text()) if turns.exists() else 0
turns.write_text("x" * (turn + 1))
medians = os.environ["MEDIANS"].split(",")
print(json.dumps({"name": os.environ.get("NAME", "case"), "unit": os.environ.get("UNIT", "-us"),
                  "median": float(medians[turn % len(medians)])}))
"""


def compare(a, b, *environment, unit="-us"):
    """Exit status of bench/compare of medians `a` and `b`."""
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "fake.py"
        script.write_text(FAKE)
        command = [sys.executable, str(HERE.parent / "compare"), "x", "y", "--rounds", "3"]
        for side, medians in (("a", a), ("b", b)):
            for setting in (f"SIDE={side}", f"MEDIANS={medians}", f"UNIT={unit}"):
                command += [f"--{side}-env", setting]
        command += [*environment, "--", sys.executable, str(script), folder]
        return subprocess.run(command, capture_output=True, check=False).returncode


def lines(op, plain, strake, bound=1.0, benchmark="pack", call=0.0):
    """The results of one case: {flavor: time} without and with Strake."""
    made = []
    for used, times in (("plain", plain), ("strake", strake)):
        for flavor, median in times.items():
            made.append({"benchmark": benchmark, "name": "case", "op": op, "flavor": flavor, "with": used,
                         "median": median, "bound_us": bound, "touch_us": bound, "call_us": call, "payload_bytes": 1024})
    return made


def pack_verdict(*arguments, **more):
    names = {"openmpi": "Open MPI", "mpich": "MPICH"}
    table, _, met = tables.table_of(tables.Results(lines("pack", *arguments, **more)), "pack", names)
    return table.splitlines()[-1].split("|")[-2].strip(), met


class Compare(unittest.TestCase):
    def test_ranges_that_meet_are_no_failure(self):
        self.assertEqual(compare("1,2,3", "3,4,5"), 0)

    def test_a_range_wholly_slower_fails(self):
        self.assertEqual(compare("1,2,3", "3.1,4,5"), 1)

    def test_a_range_wholly_faster_is_no_failure(self):
        self.assertEqual(compare("3,4,5", "1,2,2.9"), 0)

    def test_the_unit_says_which_way_is_better(self):
        self.assertEqual(compare("1,2,3", "3.1,4,5", unit="+GB/s"), 0)
        self.assertEqual(compare("3,4,5", "1,2,2.9", unit="+GB/s"), 1)

    def test_a_case_that_only_one_side_has_is_an_error(self):
        self.assertEqual(compare("1", "1", "--b-env", "NAME=other"), 2)


class Together(unittest.TestCase):
    def test_the_lines_of_each_job(self):
        say = [sys.executable, "-c", "import os; print(os.environ['BENCH_TURNS'].split(',')[1:])"]
        self.assertEqual(jobs.run_together([say, say]), [["['0', '2']"], ["['1', '2']"]])

    def test_a_failure_ends_the_others(self):
        begin = time.monotonic()
        with self.assertRaisesRegex(jobs.BenchmarkFailed, "status 3"):
            jobs.run_together([["sleep", "60"], [sys.executable, "-c", "raise SystemExit(3)"]])
        self.assertLess(time.monotonic() - begin, 30)

    def test_status_77_says_that_this_machine_cannot_run_it(self):
        with self.assertRaises(jobs.CannotRun):
            jobs.run_together([[sys.executable, "-c", "raise SystemExit(77)"]])


class PackVerdict(unittest.TestCase):
    def test_passes_at_three_quarters_of_the_bound(self):
        self.assertEqual(pack_verdict({"openmpi": 1.5, "mpich": 9}, {"openmpi": 1.3, "mpich": 1.3})[0], "pass")

    def test_passes_at_three_times_the_faster_library_whatever_the_bound(self):
        self.assertEqual(pack_verdict({"openmpi": 30, "mpich": 31}, {"openmpi": 10, "mpich": 9}), ("pass", True))

    def test_falls_short_between_the_two_bars(self):
        self.assertEqual(pack_verdict({"openmpi": 29, "mpich": 90}, {"openmpi": 10, "mpich": 9}), ("short", False))

    def test_is_slower_below_the_faster_library_even_at_the_bound(self):
        self.assertEqual(pack_verdict({"openmpi": 1.0, "mpich": 9}, {"openmpi": 1.1, "mpich": 1.1}), ("slower", False))

    def test_the_slower_of_both_builds_is_judged(self):
        self.assertEqual(pack_verdict({"openmpi": 4, "mpich": 4}, {"openmpi": 1, "mpich": 5})[0], "slower")

    def test_tells_apart_what_the_cost_of_a_call_explains(self):
        self.assertEqual(pack_verdict({"openmpi": 5, "mpich": 9}, {"openmpi": 4, "mpich": 4}, call=2.0)[0], "call")

    def test_compares_each_round_with_itself(self):
        rounds = [({"openmpi": 1}, {"openmpi": 2}), ({"openmpi": 4}, {"openmpi": 2}), ({"openmpi": 4}, {"openmpi": 4})]
        made = [line for plain, strake in rounds for line in lines("pack", plain, strake)]
        case = ("pack", "case", "pack")
        self.assertEqual(tables.Results(made).speedup(case, "openmpi", "openmpi"), 1)

    def test_one_library_is_enough(self):
        self.assertEqual(pack_verdict({"openmpi": 4}, {"openmpi": 1}), ("pass", True))


class MessageVerdict(unittest.TestCase):
    def met(self, plain, strake, benchmark):
        made = lines("half_round_trip", {"openmpi": plain}, {"openmpi": strake}, benchmark=benchmark)
        return tables.table_of(tables.Results(made), benchmark, {"openmpi": "Open MPI"})[2]

    def test_compares_with_the_same_library(self):
        self.assertTrue(self.met(1.0, 1.05, "pingpong"))
        self.assertFalse(self.met(1.0, 1.06, "pingpong"))


class TextTable(unittest.TestCase):
    def test_names_are_to_the_left_and_numbers_to_the_right(self):
        table = text_table.text(["case", "op", "us", ""], [["a", "pack", "10.5", "bar"], ["longer", "b", "2", ""]], names=2)
        self.assertEqual(table, "case    op      us\n"
                                "a       pack  10.5  bar\n"
                                "longer  b        2")

    def test_reads_the_json_lines_of_all_files(self):
        with tempfile.TemporaryDirectory() as folder:
            files = [pathlib.Path(folder) / name for name in ("a", "b")]
            files[0].write_text('a message\n{"p10": 1, "p90": 2}\n')
            files[1].write_text('{"p10": 3, "p90": 4}\n')
            spreads = [text_table.spread(line) for line in text_table.read(files)]
        self.assertEqual(spreads, ["1.0..2.0", "3.0..4.0"])


class RatioInterval(unittest.TestCase):
    def test_equal_rounds_leave_no_doubt(self):
        for value in intervals.ratio_interval([2.0, 2.0, 2.0]):
            self.assertAlmostEqual(value, 2.0)

    def test_students_t_of_two_rounds(self):
        # The logarithms' mean is 0, their standard error ln 2.
        middle, low, high = intervals.ratio_interval([0.5, 2.0])
        self.assertAlmostEqual(middle, 1.0)
        self.assertAlmostEqual(math.log(high) / math.log(2), 12.706, places=3)
        self.assertAlmostEqual(low * high, 1.0)

    def test_one_round_says_nothing_of_the_interval(self):
        middle, low, high = intervals.ratio_interval([3.0])
        self.assertAlmostEqual(middle, 3.0)
        self.assertEqual((low, high), (0.0, math.inf))


if __name__ == "__main__":
    unittest.main()
