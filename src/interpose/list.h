/* For the preprocessor only: mpi.h's prototypes and the names of functions.def, which
 * generate.cmake reads. */
#include <mpi.h>
#define STRAKE_FUNCTION(name) @strake own name
#define STRAKE_PASSED(kind, name) @strake kind name
#include "interpose/functions.def"
