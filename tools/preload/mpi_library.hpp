/// \file  Which MPI library a shared object's name stands for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace strake::preload {

enum class MpiLibrary : std::uint8_t {
  None,     ///< not an MPI library
  OpenMpi,  ///< Open MPI 3 to 5
  Mpich,    ///< MPICH 3.1 and later, and libraries with its binary interface (Intel MPI, MVAPICH)
  Abi,      ///< any library under the standard interface of MPI 5, which no interposer has yet
  Unknown,  ///< an MPI library whose interface is not one of these
};

/// For people: "Open MPI".
inline const char* title_of(MpiLibrary library) {
  return library == MpiLibrary::OpenMpi ? "Open MPI"
         : library == MpiLibrary::Mpich ? "MPICH"
         : library == MpiLibrary::Abi   ? "the standard ABI of MPI 5"
                                        : "an unknown MPI library";
}

/// As in the interposer's file name, libstrake-mpi-FLAVOR.so, and in STRAKE_MPI.
inline const char* flavor_of(MpiLibrary library) {
  return library == MpiLibrary::OpenMpi ? "openmpi"
         : library == MpiLibrary::Mpich ? "mpich"
                                        : "unknown";
}

inline bool starts_with(const char* text, const char* beginning) {
  return std::strncmp(text, beginning, std::strlen(beginning)) == 0;
}

inline const char* base_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

/// The MPI library that a DT_NEEDED entry or the path of a loaded object names. The libraries
/// beside the main one (libmpi_mpifh, libmpichfort, libmpi_cxx) count as None: they need the main
/// one.
inline MpiLibrary identify(const char* path) {
  const char* name = base_name(path);
  if (std::strcmp(name, "libmpi.so.40") == 0 || starts_with(name, "libmpi.so.40."))
    return MpiLibrary::OpenMpi;
  // MPICH's own name, and the one that Debian gives it.
  for (const char* mpich : {"libmpi.so.12", "libmpich.so.12"}) {
    const std::size_t length = std::strlen(mpich);
    if (starts_with(name, mpich) && (name[length] == '\0' || name[length] == '.'))
      return MpiLibrary::Mpich;
  }
  if (starts_with(name, "libmpi_abi.so")) return MpiLibrary::Abi;
  // Older Open MPI (libmpi.so.1, .20), HPE, Cray, IBM.
  for (const char* other : {"libmpi.so", "libmpich.so", "libmpt.so", "libmpi_cray.so", "libmpi_gnu",
                            "libmpi_intel", "libmpi_ibm.so", "libmpi_nvidia"}) {
    if (starts_with(name, other)) return MpiLibrary::Unknown;
  }
  return MpiLibrary::None;
}

/// The end of the message about such a library.
constexpr const char* kAbiRefused =
    "is an MPI library under the standard ABI of MPI 5: Strake does not support it yet; build "
    "the program with mpicc rather than mpicc_abi";

/// A symbol that tells Open MPI 1.10 from MPICH: its library has the name of MPICH's.
constexpr const char* kOpenMpiSymbol = "ompi_mpi_comm_world";

}  // namespace strake::preload
