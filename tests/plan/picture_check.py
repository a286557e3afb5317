#!/usr/bin/env python3
"""picture_check.py STRAKE FOLDER   draws placements and sweeps, and looks at the SVG: each part is drawn, nothing lies outside, no two
texts overlap, and, if there is a Chromium, that it opens the file."""
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

SVG = "{http://www.w3.org/2000/svg}"
SIZES = {"title": 20, "head": 14, "small": 10}
LEAST_LETTER = 0.5  # of the size: narrower than most letters, so that only real overlaps are faults


def box_of(text):
    """The least box of a text: left, right, top, bottom."""
    words = "".join(text.itertext())
    size = SIZES.get(text.get("class"), 12)
    width = LEAST_LETTER * size * len(words)
    left = float(text.get("x")) - {"start": 0, "middle": width / 2, "end": width}[text.get("text-anchor")]
    bottom = float(text.get("y"))
    return left, left + width, bottom - 0.7 * size, bottom, words


def check(path, parts):
    root = xml.etree.ElementTree.parse(path).getroot()
    width, height = float(root.get("width")), float(root.get("height"))
    boxes = [box_of(text) for text in root.iter(SVG + "text")]
    for left, right, top, bottom, words in boxes:
        assert left >= 0 and right <= width and top >= 0 and bottom <= height, f"{path}: {words} lies outside"
    boxes.sort()
    for i, one in enumerate(boxes):
        for other in boxes[i + 1:]:
            if other[0] >= one[1]:
                break
            assert other[2] >= one[3] or other[3] <= one[2], f"{path}: {one[4]!r} and {other[4]!r} overlap"
    for rect in root.iter(SVG + "rect"):
        x, y, wide, high = (float(rect.get(key)) for key in ("x", "y", "width", "height"))
        is_part = re.match(r"part \d+: node \d+", rect.findtext(SVG + "title") or "")
        assert not is_part or (wide > 0 and high > 0), f"{path}: {rect.findtext(SVG + 'title')} has no width"
        assert wide >= 0 and x >= 0 and x + wide <= width + 0.2 and y >= 0 and y + high <= height + 0.2, rect.attrib
    titles = [title.text or "" for title in root.iter(SVG + "title")]
    found = {title for title in titles if re.match(r"part \d+: node \d+", title)}
    assert len(found) == parts, f"{path}: {len(found)} parts, not {parts}"
    assert "prefers-color-scheme:dark" in root.find(SVG + "style").text


def check_browser(path):
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        print("no Chromium here: the files were not opened in one")
        return
    picture = path + ".png"
    subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={path}.profile",
                    "--window-size=1280,900", f"--screenshot={picture}", "file://" + path], check=True, timeout=60,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert os.path.getsize(picture) > 20000, "the picture is blank"


def main():
    strake, folder = sys.argv[1], os.path.abspath(sys.argv[2])
    os.makedirs(folder, exist_ok=True)

    def draw(name, parts, *options):
        path = os.path.join(folder, name + ".svg")
        subprocess.run([strake, "plan", *options, "--svg", path], check=True, stdout=subprocess.DEVNULL)
        check(path, parts)
        return path

    aware = ("--placement", "node-aware")
    first = draw("2x6", 12, "--nodes", "2", "--machine", "summit", "--grid", "1536x512x256", "--radius", "3")
    draw("512x6", 3072, "--nodes", "512", "--gpus-per-node", "6", "--grid", "6144x4096x2048", "--radius", "3", *aware)
    draw("one", 1, "--nodes", "1", "--gpus-per-node", "1", "--grid", "64x64x64")
    draw("line", 96, "--nodes", "24", "--gpus-per-node", "4", "--grid", "1x1x9600")
    draw("rack", 144, "--nodes", "36", "--machine", "gb200-nvl72", "--grid", "3072x2048x1024", *aware)
    draw("cores", 320, "--nodes", "4", "--machine", "two-socket-xeon", "--grid", "1024x1024x1024", *aware)
    draw("sweep", 0, "--sweep", "1:512", "--machine", "summit", "--grid", "6144x4096x2048", "--radius", "3")
    draw("weak", 0, "--sweep", "1,2,3,4,5,6,7,8,100", "--weak", "--machine", "dgx-h100", "--grid", "512x512x512")
    thin = draw("thin", 0, "--nodes", "16384", "--gpus-per-node", "4", "--grid", "131072x1x1")
    assert "65536 x 1 parts, too thin to draw" in open(thin, encoding="utf-8").read()
    draw("many", 20000, "--nodes", "20000", "--gpus-per-node", "1", "--grid", "800x800x500")
    zero = draw("zero", 0, "--sweep", "1", "--gpus-per-node", "1", "--grid", "64x64x64")
    assert "on 1 node of 1 GPU" in open(zero, encoding="utf-8").read()
    draw("point", 0, "--sweep", "4", "--gpus-per-node", "1", "--grid", "512x512x512")
    check_browser(first)
    refused = subprocess.run([strake, "plan", "--nodes", "1", "--gpus-per-node", "1", "--grid", "8x8x8", "--svg",
                              os.path.join(folder, "none", "x.svg")], capture_output=True, text=True)
    assert refused.returncode != 0 and "x.svg can't be written" in refused.stderr, refused
    refused = subprocess.run([strake, "plan", "--nodes", "131072", "--gpus-per-node", "1", "--grid", "262144x262144x1", "--svg",
                              os.path.join(folder, "large.svg")], capture_output=True, text=True)
    assert refused.returncode != 0 and "at most can be drawn" in refused.stderr, refused


main()
