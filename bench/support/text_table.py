"""Lines of benchmarks as tables of text, for people."""

import jobs


def read(paths):
    """The JSON lines of all the files, as one list."""
    lines = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            lines += jobs.json_lines(file)
    return lines


def spread(line, form=".1f"):
    return f"{line['p10']:{form}}..{line['p90']:{form}}"


def text(header, rows, names=1):
    """The table, each column as wide as its longest cell. The first `names` columns, and those without a heading, are
    aligned to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows)]

    def line(row):
        cells = [cell.ljust(width) if i < names or header[i] == "" else cell.rjust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        return "  ".join(cells).rstrip()

    return "\n".join(map(line, [header, *rows]))
