/* The library (with LIBRARY) and a program of an MPI that Strake does not know. */
int MPI_Init(int* argc, char*** argv);
#ifdef LIBRARY
int SYMBOL;
int MPI_Init(int* argc, char*** argv) {
  (void)argc;
  (void)argv;
  return 0;
}
#else
int main(int argc, char** argv) { return MPI_Init(&argc, &argv); }
#endif
