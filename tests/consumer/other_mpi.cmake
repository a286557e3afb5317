# Makes an MPI library that is neither Open MPI nor MPICH the project's.
set(folder ${CMAKE_BINARY_DIR}/other_mpi)
file(WRITE ${folder}/mpi.h "#define MPI_VERSION 3\n")
add_library(MPI::MPI_CXX INTERFACE IMPORTED)
target_include_directories(MPI::MPI_CXX INTERFACE ${folder})
