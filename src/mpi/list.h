/* For the preprocessor only: mpi.h's prototypes, and the lines of functions.def with the beginnings
 * of the calls that they stand for. prototypes.cmake reads them. */
#include <mpi.h>
#define STRAKE_FUNCTION(name) @strake by_hand name @
#define STRAKE_HANDLED(topic, handler, name) @strake topic name handler(@
#define STRAKE_MOVER(topic, handler, name) @strake topic name handler(Function::name, @
#define STRAKE_PASSED(kind, name) @strake passed name pass<k##kind>(@
#define STRAKE_HOST_ONLY(kind, name) @strake host_only name pass_from_host<k##kind##OnHost>(Wrapped::name, @
#define STRAKE_CALLED(name) @strake called name @
#include "mpi/functions.def"
