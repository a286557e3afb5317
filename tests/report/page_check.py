"""Makes reports with the command, and checks the pages as a stranger would: well-formed, self-contained, small, what
matters first, and the numbers those of the profiles."""

import html
import json
import math
import os
import re
import shutil
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

STRAKE, WRITER, FOLDER = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
H200 = Path(__file__).parent / "h200-x2.json"  # an excerpt of a real machine's
XHTML = "{http://www.w3.org/1999/xhtml}"
VOID = {"meta", "br", "link", "img", "hr", "input"}
MOST_BYTES = 1_500_000


def report(*arguments, **environment):
    return subprocess.run([STRAKE, "report", *map(str, arguments)], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "XDG_CACHE_HOME": str(FOLDER / "cache"), **environment})


def words(element):
    return "".join(element.itertext())


def without_scripts(page):
    return re.sub(r"(<script[^>]*>).*?</script>", r"\1</script>", page, flags=re.S)


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])


class Balance(HTMLParser):
    """Every element that an HTML reader sees is closed in order."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.faults = []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append((tag, self.getpos()))


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(FOLDER, ignore_errors=True)
        (FOLDER / "cache" / "strake").mkdir(parents=True)
        subprocess.run([WRITER, FOLDER], check=True, env={**os.environ, "XDG_CACHE_HOME": str(FOLDER / "cache")})
        one, two = FOLDER / "one.json", FOLDER / "two.json"
        cls.files = {"one": [one], "both": [one, two], "h200": [H200]}
        cls.profiles = {name: [json.loads(f.read_text()) for f in files] for name, files in cls.files.items()}
        cls.pages, cls.roots, cls.data = {}, {}, {}
        for name, files in cls.files.items():
            path = FOLDER / f"{name}.html"
            outcome = report(*files, "-o", path, "--title", "A <title> & more")
            assert outcome.returncode == 0, outcome.stderr
            cls.pages[name] = path.read_text(encoding="utf-8")
            cls.roots[name] = ElementTree.fromstring(without_scripts(cls.pages[name]))
            cls.data[name] = data_of(cls.pages[name])

    def test_is_well_formed_and_small(self):
        for name, text in self.pages.items():
            self.assertEqual(self.roots[name].find(f"{XHTML}head/{XHTML}title").text, "A <title> & more")
            balance = Balance()
            balance.feed(text)
            self.assertEqual((balance.faults, balance.open), ([], []), name)
            self.assertLess(len(text.encode()), MOST_BYTES)

    def test_no_letters_are_smaller_than_12_pixels(self):
        style = re.search(r"<style>(.*?)</style>", self.pages["one"], re.S)[1]
        sizes = [declaration for declaration in re.findall(r"font(?:-size)?:([^;}]*)", style) if re.search(r"\d", declaration)]
        self.assertGreater(len(sizes), 5)
        for size in sizes:
            self.assertRegex(size, r"\d+px")
            self.assertGreaterEqual(min(map(float, re.findall(r"([\d.]+)px", size))), 12, size)

    def test_needs_nothing_else(self):
        for text in self.pages.values():
            self.assertNotRegex(text, r"<link|<img|<iframe|@import|[^.\w]url\(|\ssrc=|fetch\(|XMLHttpRequest|import\(")
            self.assertIn("Content-Security-Policy\" content=\"default-src &#39;none&#39;", text)
            addresses = set(re.findall(r"https?://[^\"'\s<)]*", text))
            # The name space, and what the licence of Chart.js names.
            self.assertLessEqual(addresses, {"http://www.w3.org/1999/xhtml", "https://www.chartjs.org",
                                             "https://github.com/kurkle/color#readme"})

    def test_begins_with_what_matters_and_folds_the_rest(self):
        for root in self.roots.values():
            body = root.find(f"{XHTML}body")
            sections = [e.get("id") for e in body if e.tag == f"{XHTML}section"]
            self.assertEqual(sections, ["against", "methods", "key-numbers"])
            places = {e.get("id"): i for i, e in enumerate(body) if e.get("id")}
            folded = [e for e in body if e.tag == f"{XHTML}details"]
            self.assertLess(max(places[s] for s in sections), min(places[e.get("id")] for e in folded))
            self.assertTrue(all(e.get("open") is None for e in body.iter(f"{XHTML}details")))

    def test_charts_have_data_a_legend_and_no_curve_of_two_points(self):
        for name, root in self.roots.items():
            data = self.data[name]
            figures = [f for f in root.iter(f"{XHTML}figure") if f.get("data-chart")]
            self.assertEqual(sorted(int(f.get("data-chart")) for f in figures), list(range(len(data["charts"]))))
            self.assertGreater(len(figures), 10)
            for figure in figures:
                chart = data["charts"][int(figure.get("data-chart"))]
                self.assertEqual(words(figure.find(f"{XHTML}figcaption")), chart["title"])
                legend = [words(entry) for entry in figure.iter(f"{XHTML}li")]
                self.assertEqual(legend[:len(chart["lines"])], [line["name"] for line in chart["lines"]])
                results = data["profiles"][chart["profile"]]["results"]
                column = {"bytes": 2, "block": 3}[chart["x"]]
                for line in chart["lines"]:
                    xs = [p[0] for p in line["values"]] if "values" in line else [
                        results[i][column] for i in line["points"]]
                    self.assertGreaterEqual(len(xs), 3, chart["title"])
                    self.assertEqual(xs, sorted(set(xs)), chart["title"])

    def test_numbers_are_those_of_the_profiles(self):
        for name, data in self.data.items():
            for shown, profile in zip(data["profiles"], self.profiles[name]):
                self.assertEqual(len(shown["results"]), len(profile["results"]))
                doubts = 0
                for row, result in zip(shown["results"], profile["results"]):
                    row = dict(zip(shown["columns"], row))
                    self.assertEqual(shown["names"][row["name"]], result["name"])
                    self.assertEqual(shown["names"][row["mpi"]], result.get("mpi", ""))
                    for key in ["bytes", "block", "pitch", "count", "limit", "median", "p10", "p90"]:
                        self.assertEqual(row[key], result.get(key, 0))
                    self.assertEqual(row["iid"], result["iid"])
                    doubts += result["p90"] - result["p10"] > 0.25 * result["median"]
                self.assertIn(f"{len(profile['results'])} results, {doubts} of them doubtful",
                              html.unescape(self.pages[name]))

    @unittest.skipUnless(shutil.which("node"), "there is no node, which runs the page's script")
    def test_the_script_draws_every_point_within_axes_that_have_labels(self):
        for name, data in self.data.items():
            runner = Path(__file__).parent / "run_page.js"
            outcome = subprocess.run(["node", runner, FOLDER / f"{name}.html"], capture_output=True, text=True)
            self.assertEqual(outcome.stderr, "")
            drawn = json.loads(outcome.stdout)
            self.assertEqual(len(drawn), len(data["charts"]))
            for shown, chart in zip(drawn, data["charts"]):
                self.assertTrue(shown["bandsAreClipped"], chart["title"])
                for ticks in (shown["xTicks"], shown["yTicks"]):
                    self.assertGreaterEqual(len(ticks), 2, chart["title"])
                    self.assertEqual(len(set(ticks)), len(ticks), ticks)
                    self.assertLessEqual(len(ticks), 18)
                profile = self.profiles[name][chart["profile"]]["results"]
                for line, drawn_line in zip(chart["lines"], shown["sets"]):
                    points = [profile[i] for i in line.get("points", [])]
                    for result, point in zip(points, drawn_line["data"]):
                        y = result["bytes"] / result["median"] if chart["y"] == "rate" else result["median"]
                        self.assertTrue(math.isclose(point["y"], y, rel_tol=1e-9), (chart["title"], point))
                        self.assertLessEqual(point["low"], point["y"])
                        self.assertGreaterEqual(point["high"], point["y"])
                    for point in drawn_line["data"]:
                        for axis in "xy":
                            self.assertLessEqual(shown[axis][0], point[axis])
                            self.assertGreaterEqual(shown[axis][1], point[axis])

    def test_the_comparison_says_how_many_times_as_fast(self):
        results = self.profiles["h200"][0]["results"]

        def times(by):
            return {(r["block"], r["bytes"]): r["median"] for r in results if r["name"] == f"mpi/node/{by}/box"}

        packed, library = times("pack"), times("system")
        ratios = {case: library[case] / packed[case] for case in packed.keys() & library.keys()}
        doubtful = {(r["block"], r["bytes"]) for r in results if r["p90"] - r["p10"] > 0.25 * r["median"]
                    and re.fullmatch("mpi/node/(pack|system)/box", r["name"])}
        sound = [ratios[case] for case in ratios.keys() - doubtful]
        section = next(s for s in self.roots["h200"].iter(f"{XHTML}section") if s.get("id") == "against")
        mean = math.exp(sum(map(math.log, sound)) / len(sound))
        self.assertIn(f"{sum(r > 1 for r in sound)} of {len(sound)} messages are faster than by "
                      f"Open MPI 4.1.6. Geometric mean: {mean:.2f} times as fast", words(section))
        rows = list(next(section.iter(f"{XHTML}tbody")))
        row = next(r for r in rows if words(r[0]) == "8 B")
        sizes = sorted({size for _, size in ratios})
        for cell, size in zip(row[1:], sizes):
            self.assertEqual(words(cell).rstrip("?"), f"{ratios[8, size]:.1f}")
            self.assertEqual(cell.get("class"), "doubtful" if (8, size) in doubtful else
                             "better" if ratios[8, size] > 1.05 else
                             "worse" if ratios[8, size] < 1 / 1.05 else "equal")
        charts = [c for c in self.data["h200"]["charts"] if c["group"].startswith("against")]
        self.assertEqual([c["title"] for c in charts], ["Blocks of 8 B", "Blocks of 64 B", "Blocks of 1 KiB"])
        for chart in charts:
            self.assertEqual([line["name"] for line in chart["lines"]],
                             ["contiguous bytes", "datatypes of Open MPI 4.1.6", "packed by Strake, sent by MPI"])

    def test_quoted_numbers_say_what_they_are_of(self):
        section = next(s for s in self.roots["h200"].iter(f"{XHTML}section") if s.get("id") == "key-numbers")
        rows = {words(r[0]): [words(c) for c in r] for r in section.iter(f"{XHTML}tr")}
        for number, value, of in [
            ("From GPU to GPU", "395 GB/s", "gpu/peer/0-1, 1 GiB"),
            ("GPU: launch of a kernel, and wait", "9.71 µs", "gpu/call/launch-and-wait/stream"),
            ("Packing on the CPU, blocks of 8 B", "8.19 GB/s", "pack/cpu/box, 1 MiB, blocks of 8 B every 16 B"),
            ("MPI latency within a node", "522 ns", "mpi/node/host, 1 B, Open MPI 4.1.6"),
        ]:
            self.assertEqual((rows[number][1], rows[number][3]), (value, of))
        self.assertGreaterEqual(len(rows), 11)
        self.assertNotIn("MPI latency between nodes", rows)

    def test_finds_this_machines_profile(self):
        own = next((FOLDER / "cache" / "strake").glob("*.json"))
        page = FOLDER / "own.html"
        outcome = report("-o", page)
        self.assertEqual((outcome.returncode, outcome.stderr), (0, ""))
        self.assertIn(f"this machine's profile, {own}", outcome.stdout)
        self.assertIn("Strake&#39;s measurements of own", page.read_text())
        self.assertIn(f"this machine's profile, {own}", report("-o", "-").stderr)
        # The compact form alone will do.
        alone = FOLDER / "alone.profile"
        shutil.copy(own.with_suffix(".profile"), alone)
        outcome = report("-o", page, STRAKE_PROFILE=str(alone))
        self.assertIn(f"this machine's profile, {alone}", outcome.stdout, outcome.stderr)

    def test_bad_files_and_usage_end_with_2_and_the_place(self):
        for arguments, environment, text in [
            ([FOLDER / "bad.json"], {}, "bad.json is no JSON: parse error at line"),
            ([FOLDER / "not there.json"], {}, "not there.json: No such file"),
            ([FOLDER], {}, "Is a directory"),
            ([FOLDER / "one.json", "-o", FOLDER / "no" / "folder.html"], {}, "folder.html can't be written"),
            ([], {"XDG_CACHE_HOME": str(FOLDER / "empty")}, "-> mpirun -n 2 strake measure"),
            ([], {"STRAKE_PROFILE": "none"}, "profile: STRAKE_PROFILE=none: no profile is used, so built-in rules choose"),
            ([], {"STRAKE_PROFILE": str(FOLDER / "other.profile")}, "profile: not measured: the profile"),
        ]:
            outcome = report(*arguments, **environment)
            self.assertEqual(outcome.returncode, 2, arguments)
            self.assertIn(text, outcome.stderr)
            self.assertEqual(outcome.stdout, "")

    def test_dash_is_standard_output(self):
        outcome = report(FOLDER / "two.json", "-o", "-")
        self.assertEqual((outcome.returncode, outcome.stderr), (0, ""))
        self.assertTrue(outcome.stdout.startswith("<!DOCTYPE html>") and outcome.stdout.endswith("</html>\n"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
