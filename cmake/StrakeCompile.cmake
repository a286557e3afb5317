# Compile settings of every Strake target, as one interface target, and the libraries of the core.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_path(STRAKE_HWY_INCLUDE_DIR hwy/highway.h)
if(NOT STRAKE_HWY_INCLUDE_DIR)
  message(FATAL_ERROR "Highway was not found (hwy/highway.h; Debian: libhwy-dev)")
endif()

# GCC 12 sees overlaps in std::string's own append (GCC bug 105651).
add_compile_options($<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict>)
add_library(strake_compile INTERFACE)
target_compile_features(strake_compile INTERFACE cxx_std_20)
target_include_directories(strake_compile INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
# Thread-local caches are read in every MPI call, from libraries that an interpreter may load late: descriptors are quick
# there too (the default model calls a function for each access, and the static one has no room for them).
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND (CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR
    (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 18)))
  target_compile_options(strake_compile INTERFACE
    $<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:-mtls-dialect=gnu2>>)
endif()
# Names that the shared libraries export are inlined and called directly, as hidden ones are.
target_compile_options(strake_compile INTERFACE
  $<BUILD_INTERFACE:$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU,Clang>>:-fno-semantic-interposition>>)
# In the build alone: a user's warnings are the user's.
target_compile_options(strake_compile INTERFACE
  "$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wnon-virtual-dtor>>"
  "$<BUILD_INTERFACE:$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${STRAKE_WARNINGS_AS_ERRORS}>>:-Werror>>")
# What GCC 12 and 13 deduce from inlined code of fmt 9 and of their own std::regex is not so: said, but no error.
set(deduced array-bounds stringop-overflow maybe-uninitialized)
list(TRANSFORM deduced PREPEND -Wno-error=)
target_compile_options(strake_compile INTERFACE
  "$<BUILD_INTERFACE:$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:${deduced}>>")

if(STRAKE_SANITIZE)
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${STRAKE_SANITIZE}>
    $<$<COMPILE_LANGUAGE:C,CXX>:-fno-omit-frame-pointer> $<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize-recover=all>)
  add_link_options(-fsanitize=${STRAKE_SANITIZE})
endif()

# fmt's headers for every target that links strake; what is to be compiled of them, src/settings/fmt.cpp compiles once
# (each file did take 3 s for it). In a namespace of its own: a user's program may link another fmt beside libstrake.a.
# Other versions want other instantiations there: of those each file compiles what it uses.
add_library(strake_fmt INTERFACE)
get_target_property(includes fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
target_include_directories(strake_fmt SYSTEM INTERFACE ${includes})
if(fmt_VERSION VERSION_GREATER_EQUAL 9 AND fmt_VERSION VERSION_LESS 10)
  target_compile_definitions(strake_fmt INTERFACE
    "FMT_BEGIN_NAMESPACE=namespace fmt { inline namespace strake {" "FMT_END_NAMESPACE=} }")
else()
  target_compile_definitions(strake_fmt INTERFACE FMT_HEADER_ONLY=1)
endif()
