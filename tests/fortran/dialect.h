! One source for the three dialects of MPI in Fortran. USE_MPI stands before `implicit none`, INCLUDE_MPI after it.
#if defined(DIALECT_MPIF)
#define USE_MPI
#define INCLUDE_MPI include 'mpif.h'
#elif defined(DIALECT_MPI)
#define USE_MPI use mpi
#define INCLUDE_MPI
#else
#define USE_MPI use mpi_f08
#define INCLUDE_MPI
#endif

#if defined(DIALECT_F08)
#define COMM type(MPI_Comm)
#define DATATYPE type(MPI_Datatype)
#define REQUEST type(MPI_Request)
#define MESSAGE type(MPI_Message)
#define WINDOW type(MPI_Win)
#define FILE_HANDLE type(MPI_File)
#define GROUP type(MPI_Group)
#define DETACHED_BUFFER type(c_ptr)
#define STATUS(name) type(MPI_Status)::name
#define STATUSES(name, n) type(MPI_Status)::name(n)
#define SOURCE_OF(name) name % MPI_SOURCE
#define TAG_OF(name) name % MPI_TAG
#define SOURCE_AT(name, i) name(i) % MPI_SOURCE
#define TAG_AT(name, i) name(i) % MPI_TAG
#define AT(name, i) name(i)
#else
#define COMM integer
#define DATATYPE integer
#define REQUEST integer
#define MESSAGE integer
#define WINDOW integer
#define FILE_HANDLE integer
#define GROUP integer
#define DETACHED_BUFFER integer(MPI_ADDRESS_KIND)
#define STATUS(name) integer ::name(MPI_STATUS_SIZE)
#define STATUSES(name, n) integer ::name(MPI_STATUS_SIZE, n)
#define SOURCE_OF(name) name(MPI_SOURCE)
#define TAG_OF(name) name(MPI_TAG)
#define SOURCE_AT(name, i) name(MPI_SOURCE, i)
#define TAG_AT(name, i) name(MPI_TAG, i)
#define AT(name, i) name( :, i)
#endif
