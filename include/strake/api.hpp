/// \file  Visibility of the symbols that programs link to.
#pragma once

/// Marks what libstrake-openmpi.so and libstrake-mpich.so export: all else in them is hidden, so
/// that nothing of theirs meets a program's own functions, and an exception has one type on both
/// sides of the library's edge.
#if defined(__GNUC__)
#define STRAKE_API __attribute__((visibility("default")))
/// Keeps a class inside that is a member of an exported one.
#define STRAKE_LOCAL __attribute__((visibility("hidden")))
#else
#define STRAKE_API
#define STRAKE_LOCAL
#endif
