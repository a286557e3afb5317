/* For the preprocessor only: mpi.h's prototypes and the names of functions.def, which
 * generate.cmake reads. */
#include <mpi.h>
#define STRAKE_FUNCTION(name) @strake_wrapped name
#define STRAKE_FUNCTION_LARGE(name) @strake_wrapped name
#include "interpose/functions.def"
