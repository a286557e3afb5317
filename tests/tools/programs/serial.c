/* Not an MPI program, and it starts no other. */
#include <stdio.h>

int main(void) {
  puts("serial");
  return 0;
}
