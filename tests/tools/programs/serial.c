/* Not an MPI program, and it starts no other. */
#include <stdio.h>
#include <unistd.h>

int main(void) {
  puts("serial");
  fflush(stdout);
  /* MPICH 4.0's Hydra, on a busy machine, loses the output of programs that end at once, or ends by
   * SIGPIPE itself. */
  usleep(200000);
  return 0;
}
