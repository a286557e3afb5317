"""Makes reports with the command, and checks the pages as a stranger would: well-formed, self-contained, every plot
with axes, units and a legend, and the numbers those of the profiles."""

import json
import math
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

STRAKE, WRITER, FOLDER = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
XHTML, SVG = "{http://www.w3.org/1999/xhtml}", "{http://www.w3.org/2000/svg}"
VOID = {"meta", "br", "link", "img", "hr", "input"}


def report(*arguments):
    return subprocess.run([STRAKE, "report", *map(str, arguments)], capture_output=True, text=True, timeout=60)


def words(element):
    return "".join(element.itertext())


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
        FOLDER.mkdir(parents=True, exist_ok=True)
        subprocess.run([WRITER, FOLDER], check=True)
        cls.pages = {}
        for name, profiles in {"one": ["one"], "both": ["one", "two"]}.items():
            path = FOLDER / f"{name}.html"
            outcome = report(*(FOLDER / f"{p}.json" for p in profiles), "-o", path, "--title", "A <title> & more")
            assert outcome.returncode == 0, outcome.stderr
            cls.pages[name] = path.read_text(encoding="utf-8")

    def test_is_well_formed_xml_and_html(self):
        for name, text in self.pages.items():
            root = ElementTree.fromstring(text)
            self.assertEqual(root.find(f"{XHTML}head/{XHTML}title").text, "A <title> & more")
            balance = Balance()
            balance.feed(text)
            self.assertEqual((balance.faults, balance.open), ([], []), name)

    def test_needs_nothing_else(self):
        for text in self.pages.values():
            self.assertNotRegex(text, r"<script|<link|<img|<iframe|@import|url\(|\ssrc=")
            addresses = set(re.findall(r"https?://[^\"'\s<]*", text))
            self.assertEqual(addresses, {"http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg"})
            ids = set(re.findall(r'id="([^"]*)"', text))
            self.assertLessEqual(set(re.findall(r'href="#([^"]*)"', text)), ids)

    def test_plots_have_axes_units_and_legends_inside_their_frame(self):
        for name, text in self.pages.items():
            plots = list(ElementTree.fromstring(text).iter(f"{SVG}svg"))
            self.assertGreater(len(plots), 20, name)
            for plot in plots:
                title = plot.get("aria-label")
                width, height = (float(v) for v in plot.get("viewBox").split()[2:])
                texts = [(t.get("class"), words(t)) for t in plot.iter(f"{SVG}text")]
                labels = [t for c, t in texts if c == "label"]
                units = [t for t in labels + [title] if "[" in t and "]" in t]
                self.assertTrue(labels and units, title)
                self.assertGreater(len([1 for c, _ in texts if c == "tick"]), 1, title)
                self.assertTrue([1 for c, _ in texts if c == "legend"], title)
                for label in labels:
                    if "size" in label or "bandwidth [" in label or "time" in label:
                        self.assertIn("log scale", label, title)
                for shape in plot.iter():
                    for x, y in self.points(shape):
                        self.assertTrue(-0.5 <= x <= width + 0.5 and -0.5 <= y <= height + 0.5,
                                        f"{title}: {shape.attrib} outside {width} x {height}")

    @staticmethod
    def points(shape):
        a = shape.attrib
        if shape.tag == f"{SVG}rect":
            x, y, w, h = (float(a[k]) for k in ("x", "y", "width", "height"))
            assert w >= 0 and h >= 0, a
            return [(x, y), (x + w, y + h)]
        if shape.tag == f"{SVG}line":
            return [(float(a["x1"]), float(a["y1"])), (float(a["x2"]), float(a["y2"]))]
        if shape.tag == f"{SVG}polyline":
            return [tuple(map(float, p.split(","))) for p in a["points"].split()]
        if shape.tag == f"{SVG}text" and "x" in a:
            width = 0.5 * 11 * len(words(shape))
            start = {"start": 0, "middle": -width / 2, "end": -width}[a["text-anchor"]]
            return [(float(a["x"]) + start, float(a["y"])), (float(a["x"]) + start + width, float(a["y"]))]
        return []

    def test_numbers_are_those_of_the_profiles(self):
        root = ElementTree.fromstring(self.pages["both"])
        section = next(s for s in root.iter(f"{XHTML}section") if s.get("id") == "numbers")
        tables = list(section.iter(f"{XHTML}tbody"))
        self.assertEqual(len(tables), 2)
        for table, name in zip(tables, ["one", "two"]):
            results = json.loads((FOLDER / f"{name}.json").read_text())["results"]
            rows = list(table.iter(f"{XHTML}tr"))
            self.assertEqual(len(rows), len(results))
            for row, result in zip(rows, results):
                cells = list(row)
                self.assertEqual(words(cells[0]), result["name"])
                for cell, key in zip(cells[6:9], ["median", "p10", "p90"]):
                    self.assertTrue(math.isclose(float(cell.get("title").split()[0]), result[key], rel_tol=1e-8))
                if "bytes" in result:
                    rate = result["bytes"] / result["median"]
                    self.assertTrue(math.isclose(float(cells[9].get("title").split()[0]), rate, rel_tol=1e-8))
                    if "limit" in result:
                        share = float(words(cells[10]).split()[0])
                        self.assertAlmostEqual(share, 100 * rate / result["limit"], delta=0.51)

    def test_bad_files_and_usage_end_with_2_and_the_place(self):
        for arguments, text in [
            ([FOLDER / "bad.json"], "bad.json is no JSON: parse error at line"),
            ([FOLDER / "not there.json"], "not there.json: No such file"),
            ([FOLDER], "Is a directory"),
            ([FOLDER / "one.json", "-o", FOLDER / "no" / "folder.html"], "folder.html can't be written"),
            ([], "PROFILE"),
        ]:
            outcome = report(*arguments)
            self.assertEqual(outcome.returncode, 2, arguments)
            self.assertIn(text, outcome.stderr)
            self.assertEqual(outcome.stdout, "")

    def test_dash_is_standard_output(self):
        outcome = report(FOLDER / "two.json", "-o", "-")
        self.assertEqual(outcome.returncode, 0)
        self.assertTrue(outcome.stdout.startswith("<!DOCTYPE html>") and outcome.stdout.endswith("</html>\n"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
