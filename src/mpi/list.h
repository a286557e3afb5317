/* For the preprocessor only: mpi.h's prototypes and the names of functions.def, which
 * prototypes.cmake reads. */
#include <mpi.h>
#define STRAKE_FUNCTION(name) @strake own name
#define STRAKE_PASSED(kind, name) @strake kind name
#define STRAKE_CALLED(name) @strake called name
#include "mpi/functions.def"
