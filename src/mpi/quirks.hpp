/// \file  Particulars of one MPI library, or of some of its versions: one named fact each.
/// Nothing else in Strake asks which library it is compiled for. A fact is used for what its name
/// says, and for nothing else.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string_view>

// Macros that tell what mpi.h declares. The preprocessor needs them: a call of a function that is
// not declared does not compile.
/// The large-count functions (`MPI_Send_c`): MPI 4.
#if MPI_VERSION >= 4
#define STRAKE_MPI_LARGE_COUNTS 1
#else
#define STRAKE_MPI_LARGE_COUNTS 0
#endif
/// Sessions, and MPI_Isendrecv: MPI 4, and Open MPI 5, whose mpi.h says MPI 3.1.
#ifdef MPI_SESSION_NULL
#define STRAKE_MPI_SESSIONS 1
#else
#define STRAKE_MPI_SESSIONS 0
#endif
/// MPI_Request_get_status_all, _any and _some: MPI 4.1.
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
#define STRAKE_MPI_STATUS_OF_SEVERAL 1
#else
#define STRAKE_MPI_STATUS_OF_SEVERAL 0
#endif
/// Fortran's named constants (MPI_BOTTOM and so on) are common blocks of Open MPI's C library, the
/// same in all dialects. MPICH keeps those of mpi_f08 as variables of a module, and converts those
/// of mpif.h and `use mpi` itself.
#ifdef OPEN_MPI
#define STRAKE_MPI_FORTRAN_COMMON_BLOCKS 1
#else
#define STRAKE_MPI_FORTRAN_COMMON_BLOCKS 0
#endif

namespace strake::mpi::quirks {

#ifdef OPEN_MPI
inline constexpr bool kOpenMpi = true;
#else
inline constexpr bool kOpenMpi = false;
#endif

// Names.

inline constexpr std::string_view kLibrary = kOpenMpi ? "Open MPI" : "MPICH";
/// The library's name in the names of Strake's files.
inline constexpr std::string_view kFlavor = kOpenMpi ? "openmpi" : "mpich";
#ifdef OPEN_MPI
/// How the names of the library's own objects begin, which may call PMPI_Recv: its Fortran, Java
/// and OpenSHMEM libraries, its plug-ins (ROMIO).
inline constexpr std::string_view kOwnObjects[] = {"libmpi.",       "libmpi_cxx.",  "libmpi_mpifh.",
                                                   "libmpi_usempi", "libmpi_java.", "liboshmem.",
                                                   "mca_"};
/// Launchers that may belong to the library, the likeliest first.
inline constexpr const char* kLaunchers[] = {"mpirun.openmpi", "mpirun"};
/// Variables of which a launcher sets one for each rank of the library.
inline constexpr const char* kRankVariables[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK"};
#else
inline constexpr std::string_view kOwnObjects[] = {"libmpi.", "libmpich", "libmpicxx", "libmpifort",
                                                   "libpmpi"};
inline constexpr const char* kLaunchers[] = {"mpirun.mpich", "mpirun", "mpirun.openmpi"};
// Set by Hydra, by Slurm, and by launchers that use PMIx.
inline constexpr const char* kRankVariables[] = {"PMI_RANK", "PMI_FD", "PMIX_RANK"};
#endif

// Handles.

/// MPICH, all versions: handles are 32-bit integers, so MPICH may be asked about a value that is no
/// handle. Open MPI's handles are addresses: Open MPI would crash.
inline constexpr bool kHandlesAreIntegers = !kOpenMpi;

// Datatypes.

/// Open MPI, all versions: MPI_Type_get_contents hands out a new copy of each derived member, so
/// that handles do not tell which members are one type. A function of the library under it,
/// ompi_datatype_get_args, gives the members' own handles; in these releases its arguments are
/// known.
inline constexpr bool kContentsAreCopies = kOpenMpi;
inline constexpr std::string_view kGetArgsReleases[] = {"Open MPI v4.", "Open MPI v5.0."};

// Messages.

/// Open MPI, all versions, over its own point-to-point layer (ob1): a contiguous message above the
/// eager limit is fetched in one piece, even past the end of a shorter receive, sometimes without
/// an error. So receives of packed bytes have room for one byte more, apart from the others; a
/// message that fills it is too long (mpi/wire.hpp).
inline constexpr bool kLongMessagesOverrun = kOpenMpi;
/// Open MPI, all versions: the receiver unpacks a piece of a datatype while the sender packs the
/// next one. Packing ahead gives that up.
inline constexpr bool kPipelinesDatatypes = kOpenMpi;
/// Open MPI, all versions: the status of a receive that was too short tells the length of the
/// message. MPICH's tells its source and tag alone.
inline constexpr bool kTruncatedTellsLength = kOpenMpi;
/// MPICH, all versions: contiguous messages within a node are copied by the kernel, others through
/// memory that both processes share, which is faster from 32 KiB on.
inline constexpr bool kHolesAreFasterWithinNode = !kOpenMpi;
/// MPICH, all versions, over UCX: if a message comes in pieces, and a piece ends inside an element
/// of the receive's datatype, the receive fails.
inline constexpr bool kPiecesMustEndWithElements = !kOpenMpi;
/// Messages up to here come in one piece. [bytes]
inline constexpr std::int64_t kOnePiece = 511;

// Arguments.

/// MPICH, all versions: MPI_Pack and MPI_Unpack go past the end of a buffer that is too short.
inline constexpr bool kPackOverruns = !kOpenMpi;
/// MPICH, all versions: MPI_Start accepts an active persistent request to MPI_PROC_NULL.
inline constexpr bool kStartsActiveRequests = !kOpenMpi;
#if STRAKE_MPI_STATUS_OF_SEVERAL
template <typename Function>
struct SecondParameter;
template <typename Result, typename First, typename Second, typename... More>
struct SecondParameter<Result(First, Second, More...)> {
  using Type = Second;
};
/// The requests that MPI_Request_get_status_all, _any and _some take: MPICH 4.2 to 4.3.1 declares
/// them without const.
using AskedRequests = SecondParameter<decltype(MPI_Request_get_status_all)>::Type;
#endif

// Completion and errors.

/// MPICH, all versions: MPI_Request_get_status of a failed request raises its error: on
/// MPI_COMM_SELF if an error handler was set there (5.0: and only there), otherwise on
/// MPI_COMM_WORLD.
inline constexpr bool kAskingRaises = !kOpenMpi;
/// MPICH since 4.2: MPI_Request_get_status makes a persistent request that is complete inactive, so
/// that it tells of it once.
inline constexpr std::string_view kTellsOfPersistentOnce[] = {"MPICH 4.2", "MPICH 4.3", "MPICH 5"};
/// MPICH, all versions: a call that completes several failed requests raises MPI_ERR_IN_STATUS
/// once, on MPI_COMM_WORLD; 4.x loses the error codes of the requests. Open MPI raises the first
/// request's error, on the request's communicator.
inline constexpr bool kSeveralErrorsAreOne = !kOpenMpi;
/// Open MPI, all versions: a persistent request that has failed is freed by the call that completes
/// it. MPICH's starts again, once it is completed.
inline constexpr bool kFailedPersistentIsFreed = kOpenMpi;
/// MPICH, all versions: of the calls that receive and return a status, MPI_Sendrecv_replace alone
/// sets its error field.
inline constexpr bool kSendrecvReplaceSetsError = !kOpenMpi;
/// MPICH 4.0 to 5.0: MPI_Testall must not be called repeatedly with some requests. It fails if one
/// partitioned request or persistent collective is complete and another is not; it completes a
/// finished request of a file a second time.
inline constexpr bool kTestallRepeatsBadly = !kOpenMpi;

/// MPICH since 4.3: a call that has raised an error returns MPI_SUCCESS once the application's
/// error handler has returned. What the call has set tells that it has failed: each status's
/// MPI_ERROR; nothing at all, where it was refused.
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40300000
inline constexpr bool kHandledErrorsAreSuccess = true;
#else
inline constexpr bool kHandledErrorsAreSuccess = false;
#endif

/// Reads the size of a message from its status's fields, which lie where they lay in Open MPI and
/// MPICH, and its relatives, in 2014. MPI_Get_elements_x takes 10 ns for it.
[[nodiscard]] inline std::int64_t bytes_of(const MPI_Status& status) noexcept {
#ifdef OPEN_MPI
  return static_cast<std::int64_t>(status._ucount);
#else
  const auto high = static_cast<std::int64_t>(status.count_hi_and_cancelled) >> 1;
  return high << 32 | static_cast<std::uint32_t>(status.count_lo);
#endif
}

// Fortran.

/// MPICH, all versions: the procedures of mpif.h and `use mpi`, in all spellings, call the C
/// functions, not those with PMPI_, so that Strake has the calls.
inline constexpr bool kMpifCallsC = !kOpenMpi;

/// MPICH 4.0.x: mpi_f08's MPI_Waitany, MPI_Testany and so on return indices that begin at 0 (MPICH
/// issue 6270; earlier and later versions are right). Programs that work with 4.0 rely on that.
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40000000 && MPICH_NUMVERSION < 40100000
inline constexpr bool kF08IndicesBeginAtZero = true;
#else
inline constexpr bool kF08IndicesBeginAtZero = false;
#endif

}  // namespace strake::mpi::quirks
