/* Loads a library by its bare name, which only this program's own RUNPATH leads to. */
#include <dlfcn.h>
#include <stdio.h>

int main(void) {
  if (dlopen("libbare.so", RTLD_NOW) == NULL) {
    puts(dlerror());
    return 1;
  }
  puts("found");
  return 0;
}
