#!/usr/bin/env python3
"""Runs jacobi3d on several numbers of ranks, in several ways: all must print the same checksum.

  jacobi3d_test.py PROGRAM RANKS LAUNCH…                  as Grid and as plain MPI
  jacobi3d_test.py PROGRAM RANKS LAUNCH… --device CUDA    the program CUDA, with and without graphs, and PROGRAM
  jacobi3d_test.py PROGRAM RANKS LAUNCH… --none CUDA      the program CUDA without a device: it must say so

RANKS: "1,2,4"; LAUNCH: a command in which the word RANKS is their number
"""
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
import zlib


def run(command, nodes_of=None):
    environment = dict(os.environ, STRAKE_RANKS_PER_NODE=str(nodes_of)) if nodes_of else None
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def result_of(command, nodes_of=None):
    done = run(command, nodes_of)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def png_rows(path):
    """The rows of pixels of a PNG; every checksum in it is right, else this fails."""
    data = open(path, "rb").read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", data[:8]
    chunks, at = {}, 8
    while at < len(data):
        length, = struct.unpack_from(">I", data, at)
        name, body = data[at + 4:at + 8], data[at + 8:at + 8 + length]
        assert struct.unpack_from(">I", data, at + 8 + length)[0] == zlib.crc32(name + body), name
        chunks[name], at = body, at + 12 + length
    width, height, depth, colour = struct.unpack_from(">IIBB", chunks[b"IHDR"])
    assert (depth, colour) == (8, 2) and b"IEND" in chunks
    rows, stride = zlib.decompress(chunks[b"IDAT"]), 3 * width + 1
    assert len(rows) == stride * height, (len(rows), width, height)
    return [rows[i * stride + 1:(i + 1) * stride] for i in range(height)]


def launcher_of(launch, program):
    def command(count, *options):
        return [str(count) if word == "RANKS" else word for word in launch] + [program, *options]
    return command


PROBLEM = ["--nx", "29", "--ny", "22", "--nz", "25"]


def test_host(program, ranks, launch):
    command = launcher_of(launch, program)
    problem = [*PROBLEM, "--steps", "60"]
    sums = {}
    for count in ranks:
        for way in ([], ["--baseline"]):
            result = result_of(command(count, *problem, *way))
            assert result["ranks"] == count, result
            sums[" ".join([str(count), *way])] = result["checksum"]
    count = max(ranks)
    sums[f"{count} on nodes of 2"] = result_of(command(count, *problem), nodes_of=2)["checksum"]
    cube = ["--n", "12", "--steps", "3"]
    assert (result_of(command(1, *cube, "--cells-a-rank", "12"))["checksum"]
            == result_of(command(1, *cube))["checksum"])
    weak = [result_of(command(count, "--cells-a-rank", "9", "--steps", "9", *way)) for way in ([], ["--baseline"])]
    assert weak[0]["checksum"] == weak[1]["checksum"] and math.prod(weak[0]["extent"]) == count * 9**3, weak
    if len(set(sums.values())) != 1:
        sys.exit(f"the answers differ: {sums}")
    print(f"checksum {result['checksum']} in {len(sums)} runs")

    with tempfile.TemporaryDirectory() as folder:
        pictures = []
        for way in ([], ["--baseline"]):
            path = os.path.join(folder, f"slice{len(way)}.png")
            result_of(command(2, *problem, "--png", path, *way))
            pictures.append(png_rows(path))
        assert pictures[0] == pictures[1], "the pictures differ"
        pixel = lambda x: tuple(pictures[0][11][3 * x:3 * x + 3])
        assert (pixel(29 // 3), pixel(29 * 2 // 3)) == ((255, 0, 0), (0, 0, 255)), "no red hot, blue cold sphere"
        text = run(command(2, *problem, "--vtk", os.path.join(folder, "out"), "--plan", "--csv")).stdout
        assert os.path.exists(os.path.join(folder, "out.pvti")), text
        assert "field 'temperature'" in text and "program,way,ranks" in text, text

    refuses(program, ["--n", "0"], "--n takes a number from 1 to 16384, not '0'")
    refuses(program, ["--steps", "7x"], "not '7x'")
    refuses(program, ["--speed"], "unknown option '--speed'")
    refuses(program, ["--png"], "--png takes a value")
    refuses(program, ["--baseline", "--plan"], "--baseline has none")
    refuses(program, ["--graph"], "unknown option '--graph'")
    refuses(program, ["--gpus-a-rank", "2"], "unknown option '--gpus-a-rank'")
    assert "--cells-a-rank" in run(command(1, "--help")).stdout


def refuses(program, options, words):
    """One rank, without a launcher: mpirun waits two seconds where a rank fails."""
    done = run([program, *options])
    assert done.returncode == 2 and words in done.stderr, (options, done.returncode, done.stderr)


def answer_of(result):
    return result["checksum"], result["residual"]


TWO_GPUS = ["--gpus-a-rank", "2"]


def ways_of(program, device):
    """The options to try, each with the ways that the program may say it took."""
    ways = [([], ("graph", "grid")), (["--no-graph"], ("grid",)), (["--baseline"], ("baseline",))]
    one_step = ["--steps", "1", *TWO_GPUS]
    done = run(device(1, *one_step))
    if done.returncode == 0:
        return ways + [(TWO_GPUS, ("graph", "grid")), ([*TWO_GPUS, "--no-graph"], ("grid",))]
    refuses(program, one_step, "--gpus-a-rank 2: more than a rank's node has (1)")
    return ways


def test_device(cuda_program, program, ranks, launch):
    host, device = launcher_of(launch, program), launcher_of(launch, cuda_program)
    ways = ways_of(cuda_program, device)
    has_two_gpus = any(options == TWO_GPUS for options, _ in ways)
    # An odd number of steps, of which graphs do two each. Columns of one cell a thread, and of many.
    for problem in ([*PROBLEM, "--steps", "61"], ["--nx", "200", "--ny", "180", "--nz", "160", "--steps", "11"],
                    ["--nx", "3", "--ny", "2", "--nz", "40", "--steps", "5"]):
        sums = {"host": answer_of(result_of(host(1, *problem)))}
        for count in ranks:
            for options, expected in ways:
                if options == ["--baseline"] and "3" in problem:
                    continue  # it has too few cells for each rank
                result = result_of(device(count, *problem, *options))
                assert result["ranks"] == count and result["way"] in expected, result
                assert result["subgrids"] == count * (2 if "2" in options else 1), result
                sums[" ".join([str(count), *options])] = answer_of(result)
        for options in ([], TWO_GPUS) if has_two_gpus else ([],):
            result = result_of(device(1, *problem, "--graph", *options))
            assert result["way"] == "graph", result
            sums[" ".join(["1 --graph", *options])] = answer_of(result)
        if len(set(sums.values())) != 1:
            sys.exit(f"the answers differ: {' '.join(problem)}: {sums}")
        print(f"checksum {result['checksum']} in {len(sums)} runs")
    with tempfile.TemporaryDirectory() as folder:
        pictures = []
        for command in [host(2), device(2)] + ([device(1, *TWO_GPUS)] if has_two_gpus else []):
            path = os.path.join(folder, f"slice{len(pictures)}.png")
            result_of([*command, *PROBLEM, "--steps", "60", "--png", path, "--vtk", os.path.join(folder, "out")])
            pictures.append(png_rows(path))
        assert all(picture == pictures[0] for picture in pictures), "the pictures differ"


def test_no_device(cuda_program, launch):
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    command = launcher_of(launch, cuda_program)
    refuses(cuda_program, [], "a rank has no CUDA device")
    refuses(cuda_program, TWO_GPUS, "a rank has no CUDA device")
    refuses(cuda_program, ["--baseline", *TWO_GPUS], "--baseline has one GPU a rank")
    refuses(cuda_program, ["--speed"], "unknown option '--speed'")
    assert "--no-graph" in run(command(1, "--help")).stdout


def main(program, ranks, *launch):
    ranks = [int(count) for count in ranks.split(",")]
    if launch[-2] == "--device":
        test_device(launch[-1], program, ranks, launch[:-2])
    elif launch[-2] == "--none":
        test_no_device(launch[-1], launch[:-2])
    else:
        test_host(program, ranks, launch)


if __name__ == "__main__":
    main(*sys.argv[1:])
