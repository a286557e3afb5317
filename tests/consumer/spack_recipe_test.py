"""The Spack recipe with what Spack 1.0 gives to recipes in place of Spack: which names there are, and what CMake is told.
    spack_recipe_test.py REPOSITORY     packaging/spack/spack_repo/strake"""
import pathlib
import sys
import types
import unittest

REPOSITORY = pathlib.Path(sys.argv.pop(1))
# Directives of `from spack.package import *`. `generator` is none: the CMake build system exports it.
DIRECTIVES = ["conflicts", "depends_on", "license", "requires", "variant", "version"]


def module(name, **names):
    made = types.ModuleType(name)
    made.__dict__.update(names)
    sys.modules[name] = made


class CMakePackage:
    def define(self, name, value):
        if isinstance(value, bool):
            value = "ON" if value else "OFF"
        return f"-D{name}={value if isinstance(value, str) else ';'.join(value)}"

    def define_from_variant(self, name, variant):
        return self.define(name, self.spec.satisfies(f"+{variant}"))


def recipe(said):
    """The recipe's class. `said` gets (directive, first argument) of each."""
    def directive(name):
        return lambda first, *_, **__: said.append((name, first))

    for parent in ["spack", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"]:
        module(parent)
    module("spack.package", which=None, **{name: directive(name) for name in DIRECTIVES})
    module("spack_repo.builtin.build_systems.cmake", CMakePackage=CMakePackage, generator=directive("generator"))
    module("spack_repo.builtin.build_systems.cuda", CudaPackage=type("CudaPackage", (), {}))
    names = {}
    exec((REPOSITORY / "packages" / "strake" / "package.py").read_text(), names)
    return names["Strake"]


class Spec:
    """One concrete build: these variants, with this MPI library, for these GPUs."""

    def __init__(self, variants, mpi, gpus):
        self.on, self.mpi = variants, mpi
        self.variants = {"cuda_arch": types.SimpleNamespace(value=gpus)}

    def satisfies(self, constraint):
        return constraint.lstrip("+") in self.on

    def __getitem__(self, name):
        assert name == "mpi" and "mpi" in self.on
        return types.SimpleNamespace(name=self.mpi, mpicc=f"/spack/{self.mpi}/bin/mpicc")


def arguments(variants, mpi=None, gpus=()):
    package = recipe([])()
    package.spec = Spec(variants, mpi, gpus)
    return package.cmake_args()


class Recipe(unittest.TestCase):
    def test_uses_only_names_that_recipes_have(self):
        said = []
        recipe(said)
        self.assertIn(("generator", "ninja"), said)
        for needed in ["c", "cxx", "cmake@3.25:", "fmt@9:", "mpi"]:
            self.assertIn(("depends_on", needed), said)

    def test_builds_for_the_mpi_library_of_the_spec(self):
        told = arguments(["mpi", "hwloc"], "mpich")
        self.assertIn("-DSTRAKE_MPI=mpich", told)
        self.assertIn("-DSTRAKE_MPI_mpich_CC=/spack/mpich/bin/mpicc", told)
        self.assertIn("-DSTRAKE_CUDA=OFF", told)
        self.assertIn("-DSTRAKE_MPI=OFF", arguments([]))

    def test_builds_for_the_gpus_of_the_spec(self):
        self.assertIn("-DCMAKE_CUDA_ARCHITECTURES=80;90", arguments(["cuda"], gpus=("80", "90")))

    def test_lies_where_spack_looks_for_it(self):
        self.assertEqual(REPOSITORY.parent.name, "spack_repo")
        self.assertEqual((REPOSITORY / "repo.yaml").read_text().split(),
                         ["repo:", "namespace:", REPOSITORY.name, "api:", "v2.0"])


if __name__ == "__main__":
    unittest.main()
