# Copyright Spack Project Developers. See COPYRIGHT file for details.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Strake(CMakePackage, CudaPackage):
    """Strake moves non-contiguous data, the halos, faces, columns and index lists of numerical
    programs, between memories and between MPI ranks. An MPI program needs no change for it: put
    `strake run --` before mpirun. The core is a C++ library, too."""

    # No archive is published. In the tree of the sources:
    #   spack repo add packaging/spack/spack_repo/strake && spack dev-build strake@0.1.0
    license("Apache-2.0 AND MIT", checked_by="strake")  # MIT: Chart.js, in the command

    version("0.1.0")

    variant("mpi", default=True, description="Interposer and library for the MPI library")
    variant("hwloc", default=True, description="Read the machine's parts by hwloc")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build", when="+hwloc")

    depends_on("fmt@9:")
    depends_on("cli11@2.3:", type="build")
    depends_on("nlohmann-json@3.11:")
    depends_on("highway@1.0.3:")
    depends_on("hwloc@2:", when="+hwloc")
    depends_on("mpi", when="+mpi")

    generator("ninja")

    conflicts("cuda_arch=none", when="+cuda", msg="name the GPUs: cuda_arch=90")
    conflicts("%gcc@:11", msg="C++20 of GCC 12 or later is needed")
    requires("^[virtuals=mpi] openmpi", "^[virtuals=mpi] mpich", policy="one_of", when="+mpi")

    def cmake_args(self):
        args = [
            self.define_from_variant("STRAKE_CUDA", "cuda"),
            self.define_from_variant("STRAKE_HWLOC", "hwloc"),
            self.define("STRAKE_SCOTCH", False),
            self.define("STRAKE_BUILD_TESTS", False),
            self.define("STRAKE_BUILD_EXAMPLES", False),
            self.define("STRAKE_BUILD_BENCHMARKS", False),
        ]
        if self.spec.satisfies("+cuda"):
            architectures = self.spec.variants["cuda_arch"].value
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", architectures))
        if self.spec.satisfies("+mpi"):
            flavor = self.spec["mpi"].name
            args.append(self.define("STRAKE_MPI", flavor))
            args.append(self.define(f"STRAKE_MPI_{flavor}_CC", self.spec["mpi"].mpicc))
        else:
            args.append(self.define("STRAKE_MPI", "OFF"))
        return args

    def test_command(self):
        """what Strake makes of a datatype"""
        strake = which(self.prefix.bin.strake, required=True)
        strake("explain", "vector(100,1,512,double)")
