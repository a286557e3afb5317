"""What programs of mpi4py-fft do: MPI_Alltoallw of subarrays, slab by slab and pencil by pencil. Writes all bytes that a
rank has in the end, and a hash of them after each step, to PREFIX.RANK.

  mpirun -n 4 python3 tests/foreign/spectral.py PREFIX [threads]

With `threads`, MPI_THREAD_MULTIPLE, as mpi4py asks for by itself; Strake leaves collectives to the MPI library then."""

import sys
import zlib

import mpi4py
import numpy

if sys.argv[2:] != ["threads"]:
    mpi4py.rc.thread_level = "serialized"

from mpi4py import MPI  # noqa: E402  (starts MPI, as rc says)
from mpi4py_fft import PFFT, newDistArray  # noqa: E402
from mpi4py_fft.pencil import Pencil, Subcomm  # noqa: E402

WORLD = MPI.COMM_WORLD
# FFTW's measurements would take other algorithms from run to run, which round otherwise.
FFTW = {"planner_effort": "FFTW_ESTIMATE"}


class Written:
    """The file of this rank."""

    def __init__(self, prefix):
        self.file = open(f"{prefix}.{WORLD.rank}", "wb")

    def hash(self, *arrays):
        for array in arrays:
            self.file.write(b"%08x\n" % zlib.crc32(numpy.ascontiguousarray(array).tobytes()))

    def all(self, *arrays):
        for array in arrays:
            self.file.write(numpy.ascontiguousarray(array).tobytes())


def fill(array, offset):
    """Values that differ from cell to cell, and from rank to rank."""
    order = numpy.arange(array.size, dtype=float) + 1e6 * WORLD.rank + offset
    values = numpy.sin(order)
    if numpy.iscomplexobj(array):
        values = values + 1j * numpy.cos(order)
    array[...] = values.reshape(array.shape)


def transforms(written):
    """There and back, of real and complex numbers, in sizes that ranks can't share alike."""
    cases = [
        ((16, 16, 16), (-1,), float, 48),
        ((24, 20, 18), None, float, 48),
        ((13, 12, 15), None, complex, 40),
        ((13, 12, 15), (1, -1), numpy.float32, 40),
        ((9, 8, 7, 10), None, float, 40),
        ((96, 64, 64), None, float, 12),
    ]
    for shape, grid, dtype, rounds in cases:
        fft = PFFT(WORLD, shape, dtype=dtype, grid=grid, **FFTW)
        values, back = newDistArray(fft, False), newDistArray(fft, False)
        for turn in range(rounds):
            fill(values, turn)
            spectrum = fft.forward(values)
            written.hash(spectrum)
            fft.backward(spectrum, back)
            written.hash(back)
            if not numpy.allclose(values, back, atol=1e-5 if dtype is numpy.float32 else 1e-10):
                raise SystemExit(f"{shape} over {grid}: not what was transformed")
        written.all(spectrum, back)
        fft.destroy()


def transfers(written):
    """Pencils alone, without an FFT: each cell has its own number, so that one in a wrong place is seen."""
    cases = [
        ((10, 11, 12), [0, 0, 1], "d"),
        ((10, 11, 12), [0, 1, 1], "F"),
        ((7, 9, 8), [1, 0, 0], "f"),
        ((40, 64, 33), [0, 0, 1], "D"),
    ]
    for shape, dims, dtype in cases:
        comm = Subcomm(WORLD, dims)
        first = Pencil(comm, shape, dims.index(1))
        for axis in [axis for axis in range(3) if axis != first.axis]:
            second = first.pencil(axis)
            transfer = Pencil.transfer(first, second, dtype)
            there, back = numpy.zeros(second.subshape, dtype), numpy.zeros(first.subshape, dtype)
            cells = numpy.arange(numpy.prod(shape)).reshape(shape).astype(dtype)
            part = [cells[tuple(slice(s, s + n) for s, n in zip(p.substart, p.subshape))] for p in (first, second)]
            mine = numpy.ascontiguousarray(part[0])
            for _ in range(40):
                there.fill(0)
                back.fill(0)
                transfer.forward(mine, there)
                transfer.backward(there, back)
                written.hash(there, back)
                if not ((there == part[1]).all() and (back == mine).all()):
                    raise SystemExit(f"{shape} over {dims}: a cell is in the wrong place")
            written.all(there, back)
            transfer.destroy()
        comm.destroy()


def navier_stokes(written, grid, cells, steps):
    """The Taylor-Green vortex by a spectral method, with Runge-Kutta steps of fourth order."""
    viscosity, step_s = 0.000625, 0.01
    fft = PFFT(WORLD, (cells,) * 3, grid=grid, **FFTW)
    velocity, vorticity = newDistArray(fft, False, rank=1), newDistArray(fft, False, rank=1)
    spectrum, change = newDistArray(fft, rank=1), newDistArray(fft, rank=1)
    inside = fft.local_slice(False)
    x = numpy.meshgrid(*[numpy.arange(cells)[part] * 2 * numpy.pi / cells for part in inside], indexing="ij")
    modes = [numpy.fft.fftfreq(cells, 1 / cells)] * 2 + [numpy.fft.rfftfreq(cells, 1 / cells)]
    k = numpy.array(numpy.meshgrid(*[mode[part] for mode, part in zip(modes, fft.local_slice(True))], indexing="ij"))
    k2 = (k * k).sum(0)
    k_over_k2 = k / numpy.where(k2 == 0, 1, k2)

    def set_change():
        for i in range(3):
            j, l = (i + 1) % 3, (i + 2) % 3
            fft.backward(spectrum[i], velocity[i])
            fft.backward(1j * (k[j] * spectrum[l] - k[l] * spectrum[j]), vorticity[i])
        for i in range(3):
            j, l = (i + 1) % 3, (i + 2) % 3
            fft.forward(velocity[j] * vorticity[l] - velocity[l] * vorticity[j], change[i])
        pressure = (change * k_over_k2).sum(0)
        change[...] = change - pressure * k - viscosity * k2 * spectrum

    velocity[0] = numpy.sin(x[0]) * numpy.cos(x[1]) * numpy.cos(x[2])
    velocity[1] = -numpy.cos(x[0]) * numpy.sin(x[1]) * numpy.cos(x[2])
    velocity[2] = 0
    for i in range(3):
        fft.forward(velocity[i], spectrum[i])
    for _ in range(steps):
        begin, end = numpy.array(spectrum), numpy.array(spectrum)
        for weight, part in ((1 / 6, 0.5), (1 / 3, 0.5), (1 / 3, 1), (1 / 6, 0)):
            set_change()
            end += weight * step_s * change
            spectrum[...] = begin + part * step_s * change
        spectrum[...] = end
        written.hash(spectrum)
    for i in range(3):
        fft.backward(spectrum[i], velocity[i])
    written.all(velocity, spectrum)
    energy = WORLD.allreduce(float((velocity * velocity).sum())) / cells**3 / 2
    if not 0.1245 < energy < 0.125:
        raise SystemExit(f"energy {energy}")
    fft.destroy()


def main():
    written = Written(sys.argv[1])
    transforms(written)
    transfers(written)
    for grid in ((-1,), None):
        navier_stokes(written, grid, 32, 10)
    written.file.close()


main()
