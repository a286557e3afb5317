"""Expressions of NumPy arrays of 1, 8 and 64 MiB, whose temporaries are allocated each time. Prints milliseconds, the least of 7."""

import time

import numpy

for count in (1 << 17, 1 << 20, 1 << 23):
    a, b = numpy.ones(count), numpy.ones(count)
    least = float("inf")
    for _ in range(7):
        begin = time.perf_counter()
        for _ in range((1 << 24) // count):
            c = a * b + a
            d = numpy.sqrt(c) - b
        least = min(least, time.perf_counter() - begin)
    print(f"{count * 8 >> 20} MiB: {least * 1e3:.1f} ms")
