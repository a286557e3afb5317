#!/usr/bin/env python3
"""What the command shows on a terminal and to shells: widths, colour, completions, manual pages.

  shell_test.py STRAKE PAGES SOURCE   STRAKE is the command, PAGES what is installed of its own pages, SOURCE Strake's
                                      source. A shell or a checker that this machine lacks is passed over, and named.
"""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
import unittest

STRAKE, PAGES, SOURCE = sys.argv[1:4]
COMMANDS = sorted(name[len("strake-"):-len(".1")] for name in os.listdir(os.path.join(PAGES, "man")) if "-" in name)


def environment(**changes):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("STRAKE_") and name != "NO_COLOR"}
    return kept | {"TERM": "xterm", "STRAKE_PROFILE": "none"} | changes


def run(*words, **changes):
    done = subprocess.run([STRAKE, *words], capture_output=True, text=True, env=environment(**changes), check=False)
    return done.returncode, done.stdout, done.stderr


class Terminal:
    """A program that has a terminal."""

    def __init__(self, words, **changes):
        self.child, self.end = pty.fork()
        if self.child == 0:
            os.environ.clear()
            os.environ.update(environment(**changes))
            os.execvp(words[0], words)
        self.seen = ""

    def type(self, text):
        self.seen = ""
        os.write(self.end, text.encode())

    def wait_for(self, pattern, seconds=20):
        limit = time.monotonic() + seconds
        while not re.search(pattern, self.seen):
            ready, _, _ = select.select([self.end], [], [], max(0.0, limit - time.monotonic()))
            try:
                part = os.read(self.end, 65536).decode(errors="replace") if ready else ""
            except OSError:
                part = ""
            if not part:
                return False
            self.seen += part
        return True

    def all(self):
        self.wait_for("(?!)")
        self.close()
        return self.seen

    def close(self):
        os.close(self.end)
        os.waitpid(self.child, 0)


class Columns(unittest.TestCase):
    def test_no_line_is_longer_than_100(self):
        asked = [["--help"], ["settings"], ["topo"], ["measure", "--list"], ["xyz"]]
        asked += [[name, "--help"] for name in COMMANDS]
        types = ["vector(100,1,512,double)", "struct([1,1],[0,8],[int,double])", "contiguous(0,int)",
                 "indexed([1,2,3,1,5,1,2,1],[0,9,20,31,40,53,60,77],double)"]
        asked += [["explain", *extra, *types] for extra in ([], ["--remote"], ["--to", "device"])]
        for words in asked:
            _, out, err = run(*words)
            self.assertTrue(out or err, words)
            for line in (out + err).splitlines():
                self.assertLessEqual(len(line), 100, f"strake {' '.join(words)}: {line}")

    def test_topo_of_a_large_machine_fits_too(self):
        _, out, _ = run("topo", HWLOC_SYNTHETIC="pack:2 numa:4 core:8 pu:2")
        self.assertIn("8", out)
        for line in out.splitlines():
            self.assertLessEqual(len(line), 100, line)


class Colours(unittest.TestCase):
    def shown(self, *words, **changes):
        return Terminal([STRAKE, *words], **changes).all()

    def test_a_terminal_gets_colours(self):
        self.assertIn("\033[1mUsage:\033[0m strake run", self.shown("run", "--help"))
        self.assertIn("\033[31mstrake run:\033[0m", self.shown("run"))
        self.assertIn("\033[1mVerdict:\033[0m left", self.shown("explain", "int"))

    def test_what_does_not_want_them_gets_none(self):
        self.assertIn("Usage: strake run", self.shown("run", "--help", NO_COLOR="1"))
        self.assertNotIn("\033", self.shown("run", NO_COLOR="1"))
        self.assertNotIn("\033", self.shown("run", "--help", TERM="dumb"))
        self.assertNotIn("\033", "".join(map(str, run("run", "--help"))))


class Bash(unittest.TestCase):
    """Completes in an interactive bash, with the script that is installed."""

    @classmethod
    def setUpClass(cls):
        cls.bash = Terminal(["bash", "--norc", "--noprofile", "-i"], PS1="> ", INPUTRC="/dev/null",
                            PATH=os.path.dirname(STRAKE) + ":" + os.environ["PATH"])
        cls.bash.type(f"cd {SOURCE}; source {PAGES}/strake; bind 'set enable-bracketed-paste off'; echo re''ady\n")
        assert cls.bash.wait_for("ready"), cls.bash.seen

    @classmethod
    def tearDownClass(cls):
        cls.bash.type("\x15exit\n")
        cls.bash.close()

    def completes(self, typed, becomes):
        """One tab turns the line into this."""
        self.bash.type("\x15" + typed + "\t")
        self.assertTrue(self.bash.wait_for(re.escape(becomes)), f"{typed!r} gave {self.bash.seen!r}")

    def lists(self, typed, *names):
        self.bash.type("\x15" + typed + "\t\t")
        for name in names:
            self.assertTrue(self.bash.wait_for(rf"\s{name}\s"), f"{typed!r} gave {self.bash.seen!r}, without {name}")

    def test_commands(self):
        self.completes("strake exp", "strake explain ")
        self.completes("strake help set", "strake help settings ")
        self.lists("strake ", "run", "explain", "--version")

    def test_options_and_their_values(self):
        self.completes("strake run --qu", "strake run --quiet ")
        self.completes("strake run --mpi open", "strake run --mpi openmpi ")
        self.completes("strake run --mpi=mpi", "strake run --mpi=mpich ")
        self.completes("strake run --json READ", "strake run --json README.md ")
        self.lists("strake explain --from ", "host", "pinned", "device")
        self.completes("strake completions zs", "strake completions zsh ")

    def test_the_job_is_a_command_of_its_own(self):
        self.completes("strake run --quiet -- printe", "strake run --quiet -- printenv ")
        self.completes("strake run -- mpirun -n 2 ./READ", "strake run -- mpirun -n 2 ./README.md ")


class OtherShells(unittest.TestCase):
    def needs(self, program):
        if shutil.which(program) is None:
            self.skipTest(f"there is no {program} here")

    def test_zsh_reads_its_script(self):
        self.needs("zsh")
        subprocess.run(["zsh", "-n", f"{PAGES}/_strake"], check=True)

    def test_fish_completes(self):
        self.needs("fish")
        subprocess.run(["fish", "-n", f"{PAGES}/strake.fish"], check=True)
        script = f"source {PAGES}/strake.fish; complete -C 'strake run --'; complete -C 'strake run -- printe'"
        path = os.path.dirname(STRAKE) + ":" + os.environ["PATH"]
        out = subprocess.run(["fish", "-c", script], capture_output=True, text=True, check=True,
                             env=environment(PATH=path)).stdout
        self.assertIn("--json\tWrite", out)
        self.assertIn("printenv", out)


class ManualPages(unittest.TestCase):
    def text(self, name):
        with open(os.path.join(PAGES, "man", name), encoding="utf-8") as page:
            return page.read()

    def test_each_command_has_one_with_its_options(self):
        self.assertIn("run", COMMANDS)
        for name in COMMANDS:
            page = self.text(f"strake-{name}.1")
            _, shown, _ = run(name, "--help")
            self.assertEqual(page, run("man", name)[1])
            self.assertIn(f"\\fBstrake {name}\\fR", page)
            for option in re.findall(r"^  (?:-\w, )?(--[\w-]+)", shown, re.M):
                self.assertIn("\\fB" + option.replace("-", "\\-") + "\\fR", page)
            self.assertIn(f"\\fBstrake\\-{name}\\fR(1)", self.text("strake.1"))
        self.assertIn("\\fBSTRAKE_LOG\\fR", self.text("strake.1"))

    def test_they_have_the_prose_of_the_documentation(self):
        page = self.text("strake-run.1")
        self.assertIn("LD_PRELOAD", page)
        self.assertNotIn("`", page)
        self.assertNotIn("](", page)

    def test_formatters_have_no_complaint(self):
        checkers = [words for words in (["groff", "-ww", "-man", "-z"], ["mandoc", "-T", "lint", "-W", "error"])
                    if shutil.which(words[0])]
        if not checkers:
            self.skipTest("there is neither groff nor mandoc here")
        for name in os.listdir(os.path.join(PAGES, "man")):
            for words in checkers:
                done = subprocess.run([*words, os.path.join(PAGES, "man", name)], capture_output=True, text=True,
                                      check=False)
                self.assertEqual(done.stdout + done.stderr, "", words)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
