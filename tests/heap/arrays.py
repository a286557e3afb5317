"""Arrays of NumPy in the shared heap, and processes that share them by fork.

  arrays.py LIBRARY     LIBRARY says which addresses are in the heap
"""
import ctypes
import multiprocessing
import sys

try:
    import numpy
except ImportError:
    print("skipped: there is no NumPy")
    sys.exit(77)

heap_has = ctypes.CDLL(sys.argv[1]).heap_has
heap_has.argtypes = [ctypes.c_void_p]


def is_in_heap(array):
    return heap_has(array.ctypes.data) == 1


def check_arrays():
    assert not is_in_heap(numpy.zeros(10))
    for _ in range(20):
        empty = numpy.empty(1 << 20)
        assert is_in_heap(empty)
        empty[:] = 7
        del empty
        zeroes = numpy.zeros((1 << 10, 1 << 10))
        assert is_in_heap(zeroes)
        assert not zeroes.any()
        zeroes += 3
    ones = numpy.ones(1 << 20)
    ones.resize(3 << 20, refcheck=False)
    assert is_in_heap(ones)
    assert ones.sum() == 1 << 20
    assert is_in_heap(ones[::2].copy())


def sum_of(part):
    values = numbers[part * 1000000:(part + 1) * 1000000]
    before = int(values.sum())
    values[:] = 0
    assert not numbers[part * 1000000:(part + 1) * 1000000].any()
    return before, float(numpy.full(1 << 20, 0.5).sum())


def check_processes():
    fork = multiprocessing.get_context("fork")
    with fork.Pool(3) as pool:
        found = pool.map(sum_of, range(8))
    assert [half for _, half in found] == [float(1 << 19)] * 8
    assert [before for before, _ in found] == [int(numbers[i * 1000000:(i + 1) * 1000000].sum()) for i in range(8)]
    assert int(numbers.sum()) == 8000000 * 7999999 // 2

    queue = fork.Queue()

    def change(array):
        array += 1
        queue.put(array)  # pickled, 8 MB

    ones = numpy.ones(1 << 20)
    process = fork.Process(target=change, args=(ones,))
    process.start()
    assert (queue.get() == 2).all()
    process.join()
    assert process.exitcode == 0
    assert (ones == 1).all()


numbers = numpy.arange(8000000)
assert is_in_heap(numbers)
check_arrays()
check_processes()
print("ok")
