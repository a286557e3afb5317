"""Options that the drivers of the benchmarks share."""

import argparse
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not positive")
    return number


def setting(text):
    if "=" not in text:
        raise argparse.ArgumentTypeError(f"a setting is NAME=VALUE, not {text}")
    return text


def some_of(known):
    """The type of an option that takes names, with commas between them."""
    def parse(text):
        names = [name for name in text.split(",") if name]
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"unknown {name}; known are {', '.join(known)}")
        return names
    return parse


def settings_of(arguments):
    return dict(one.split("=", 1) for one in arguments.set)


def driver(description, rounds):
    """The parser of a driver that runs programs of a build in rounds."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--build", default=str(ROOT / "build"), help="build folder (default: build)")
    parser.add_argument("--rounds", type=positive, default=rounds,
                        help=f"times that each combination runs (default: {rounds})")
    parser.add_argument("--out", help="file that the JSON lines are written to")
    return parser


def add_strake(parser, flavors, quick="small sizes: shows that all works, not how fast"):
    """The options of drivers that run programs with and without Strake."""
    parser.add_argument("--libraries", type=some_of(flavors), default="",
                        help=f"of {', '.join(flavors)} (default: all that the build has)")
    parser.add_argument("--set", action="append", type=setting, default=[], metavar="NAME=VALUE",
                        help="setting of Strake in all runs with it")
    parser.add_argument("--quick", action="store_true", help=quick)
