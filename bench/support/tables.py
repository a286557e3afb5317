"""Turns the JSON lines of several rounds into tables and verdicts. One value stands for a case: the median over the
rounds of each run's median."""

import collections
import math
import statistics

# The bars. A case passes at 75 % of its bound or at three times the faster library, and fails below 0.95 times it.
BOUND_SHARE = 0.75
LARGE_SPEEDUP = 3.0
NEVER_BELOW = 0.95
GEOMETRIC_MEAN = 1.5
LATENCY_NS = 100
COMMIT_US = 5


class Results:
    """Medians by (benchmark, name, op), library and with or without Strake."""

    def __init__(self, lines):
        self.values = collections.defaultdict(list)
        self.lines = {}
        self.bounds = collections.defaultdict(list)
        self.touches = collections.defaultdict(list)
        self.calls = collections.defaultdict(list)
        for line in lines:
            case = (line["benchmark"], line["name"], line["op"])
            self.lines.setdefault(case, line)
            self.values[case, line["flavor"], line["with"]].append(line["median"])
            if "bound_us" in line:
                self.bounds[case].append(line["bound_us"])
                self.touches[case].append(line["touch_us"])
            if "call_us" in line and line["with"] == "plain":
                self.calls[line["flavor"]].append(line["call_us"])
        self.flavors = sorted({flavor for _, flavor, _ in self.values}, reverse=True)  # Open MPI first
        self.with_strake = any(used == "strake" for _, _, used in self.values)

    def cases(self, benchmark):
        return [case for case in self.lines if case[0] == benchmark]

    def time(self, case, flavor, used):
        values = self.values.get((case, flavor, used))
        return statistics.median(values) if values else None

    def speedups(self, case, flavor):
        """Of each round, the time without Strake by that with it."""
        plain, strake = (self.values[case, flavor, used] for used in ("plain", "strake"))
        return [without / with_it for without, with_it in zip(plain, strake)]

    def speedup(self, case, flavor, over):
        """Strake on `flavor` over the library `over`: round by round where it is the same one, by medians where not."""
        if flavor == over:
            return statistics.median(self.speedups(case, flavor))
        return self.time(case, over, "plain") / self.time(case, flavor, "strake")

    def faster(self, case):
        """The library that is faster without Strake."""
        return min(self.flavors, key=lambda flavor: self.time(case, flavor, "plain"))

    def bound(self, case):
        return statistics.median(self.bounds[case])

    def touch(self, case):
        return statistics.median(self.touches[case])

    def empty_call(self):
        """An MPI_Pack of nothing by the library whose call is the cheapest."""
        return min(statistics.median(values) for values in self.calls.values())


def number(value):
    """Three significant digits, no exponent."""
    if value is None:
        return "-"
    if value <= 0:
        return f"{value:.0f}"
    digits = max(0, 2 - math.floor(math.log10(value)))
    return f"{value:.{min(digits, 4)}f}"


def markdown(header, rows):
    """A table; all columns but the first two are aligned to the right."""
    rule = [":--" if i < 2 else "--:" for i in range(len(header))]
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])


def titles(results, names):
    plain = [names[f] for f in results.flavors]
    return plain + ([f"Strake on {t}" for t in plain] if results.with_strake else [])


def times(results, case):
    kinds = ["plain", "strake"] if results.with_strake else ["plain"]
    return [number(results.time(case, f, used)) for used in kinds for f in results.flavors]


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(v) for v in values)) if values else float("nan")


def pack_table(results, names):
    """(table, verdict lines, whether every bar is met). Each Strake build is judged against the faster plain library."""
    rows, speedups, slower, short, short_by_call = [], [], [], [], []
    call = results.empty_call()
    for case in results.cases("pack"):
        line, bound = results.lines[case], results.bound(case)
        faster = results.faster(case)
        row = [case[1], case[2], number(line["payload_bytes"] / 1024), *times(results, case), number(results.touch(case)),
               number(bound)]
        if results.with_strake:
            strake = max(results.time(case, f, "strake") for f in results.flavors)  # the slower is judged
            share, speedup = bound / strake, min(results.speedup(case, f, faster) for f in results.flavors)
            speedups.append(speedup)
            verdict = "pass"
            if speedup < NEVER_BELOW:
                verdict = "slower"
                slower.append(case)
            elif share < BOUND_SHARE and speedup < LARGE_SPEEDUP:
                if (bound + call) / strake >= BOUND_SHARE:
                    verdict = "call"
                    short_by_call.append(case)
                else:
                    verdict = "short"
                    short.append(case)
            row += [f"{100 * share:.0f} %", f"{speedup:.2f}", verdict]
        else:
            row += [f"{100 * bound / results.time(case, faster, 'plain'):.0f} %"]
        rows.append(row)
    last = ["of bound", "x faster library", "verdict"] if results.with_strake else ["faster of bound"]
    table = markdown(["case", "op", "KiB", *titles(results, names), "touch", "bound", *last], rows)
    if not results.with_strake:
        return table, [], True
    mean = geometric_mean(speedups)
    verdicts = [
        f"{len(rows) - len(slower) - len(short) - len(short_by_call)} of {len(rows)} cases pass "
        f"({100 * BOUND_SHARE:.0f} % of the bound, or {LARGE_SPEEDUP:.0f} x the faster library)",
        f"geometric mean {mean:.2f} x the faster library (bar: {GEOMETRIC_MEAN})",
        f"below {NEVER_BELOW} x the faster library: {listed(slower)}",
        f"short of the bar, but at {100 * BOUND_SHARE:.0f} % of the bound once an empty MPI_Pack "
        f"({1e3 * call:.0f} ns) is added to it: {listed(short_by_call)}",
        f"short of the bar: {listed(short)}",
    ]
    verdicts += [build_verdict(results, flavor, names) for flavor in results.flavors]
    missed = slower or short or short_by_call
    return table, verdicts, not missed and mean >= GEOMETRIC_MEAN


def build_verdict(results, flavor, names):
    """How one of Strake's builds stands beside the library that it is loaded into, and beside the faster one."""
    own, faster, slower = [], [], []
    for case in results.cases("pack"):
        own.append(results.speedup(case, flavor, flavor))
        faster.append(results.speedup(case, flavor, results.faster(case)))
        if own[-1] < NEVER_BELOW:
            slower.append(case)
    return (f"Strake on {names[flavor]}: geometric mean {geometric_mean(own):.2f} x {names[flavor]} alone, "
            f"{geometric_mean(faster):.2f} x the faster library; below {NEVER_BELOW} x {names[flavor]} alone: "
            f"{listed(slower)}")


def listed(cases):
    return ", ".join(f"{name} ({op})" for _, name, op in cases) or "none"


def compared_table(results, benchmark, names):
    """Plain against Strake of the same library, each round with itself: (table, {flavor: {case: plain / strake}})."""
    rows = []
    ratios = {flavor: {} for flavor in results.flavors}
    for case in results.cases(benchmark):
        row = [case[1], case[2], *times(results, case)]
        if results.with_strake:
            for flavor in results.flavors:
                speedups = results.speedups(case, flavor)
                ratios[flavor][case] = statistics.median(speedups)
                row.append(f"{statistics.median(speedups):.2f} ({min(speedups):.2f}-{max(speedups):.2f})")
        rows.append(row)
    ratio_titles = [f"x {names[f]}" for f in results.flavors] if results.with_strake else []
    return markdown(["case", "op", *titles(results, names), *ratio_titles], rows), ratios


def message_table(results, benchmark, names):
    """For whole messages: no case below 0.95 times the same library without Strake."""
    table, ratios = compared_table(results, benchmark, names)
    verdicts, met = [], True
    for flavor, by_case in ratios.items():
        if by_case:
            slower = [case for case, ratio in by_case.items() if ratio < NEVER_BELOW]
            verdicts.append(f"{names[flavor]}: geometric mean {geometric_mean(list(by_case.values())):.2f} x, "
                            f"below {NEVER_BELOW} x: {listed(slower)}")
            met &= not slower
    return table, verdicts, met


def added_table(results, benchmark, names, judged, limit_us):
    """For calls where Strake only adds: what it adds to the case `judged` is at most `limit_us`."""
    table, _ = compared_table(results, benchmark, names)
    verdicts, met = [], True
    for case in results.cases(benchmark):
        if results.with_strake and case[1:] == judged:
            for flavor in results.flavors:
                added = results.time(case, flavor, "strake") - results.time(case, flavor, "plain")
                verdicts.append(f"{names[flavor]}: {case[1]} {case[2]} takes {1e3 * added:.0f} ns more "
                                f"(bar: {1e3 * limit_us:.0f})")
                met &= added <= limit_us
    return table, verdicts, met


def table_of(results, benchmark, names):
    if benchmark == "pack":
        return pack_table(results, names)
    if benchmark == "latency":
        return added_table(results, benchmark, names, ("send_recv_8B", "call"), LATENCY_NS / 1e3)
    if benchmark == "commit":
        return added_table(results, benchmark, names, ("subarray_3d", "first use"), COMMIT_US)
    return message_table(results, benchmark, names)
