/* starts HOW PROGRAM: becomes PROGRAM, by one of the C library's functions, after the variable that
 * it was preloaded by is gone. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char** environ;

int main(int argc, char** argv) {
  if (argc != 3) return 1;
  const char* how = argv[1];
  const char* program = argv[2];
  char* const arguments[] = {argv[2], "5", NULL};
  unsetenv("LD_PRELOAD");
  if (strcmp(how, "execl") == 0) execl(program, program, "5", NULL);
  if (strcmp(how, "execlp") == 0) execlp(program, program, "5", NULL);
  if (strcmp(how, "execle") == 0) execle(program, program, "5", NULL, environ);
  if (strcmp(how, "execv") == 0) execv(program, arguments);
  if (strcmp(how, "fexecve") == 0) fexecve(open(program, O_RDONLY), arguments, environ);
  return 1;
}
