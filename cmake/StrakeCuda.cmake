# Finds CUDA's compiler. Result: STRAKE_CUDA_FOUND, STRAKE_GPU_FOUND where this machine has a GPU for it, and
# strake_cuda_compile, the compile settings of .cu files (those of strake_compile hold for C++ alone).
set(STRAKE_CUDA_FOUND FALSE)
set(STRAKE_GPU_FOUND FALSE)
if(NOT STRAKE_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "STRAKE_CUDA is ${STRAKE_CUDA}; it takes AUTO, ON or OFF")
endif()
if(STRAKE_CUDA STREQUAL "OFF")
  message(STATUS "CUDA: off")
  return()
endif()

# The toolkit's own folder is seldom on the PATH.
find_program(STRAKE_NVCC nvcc HINTS ENV CUDACXX ENV CUDA_PATH PATHS /usr/local/cuda/bin PATH_SUFFIXES bin)
mark_as_advanced(STRAKE_NVCC)
if(NOT STRAKE_NVCC)
  if(STRAKE_CUDA STREQUAL "ON")
    message(FATAL_ERROR "STRAKE_CUDA is ON, but there is no nvcc on the PATH, in CUDA_PATH or in /usr/local/cuda/bin")
  endif()
  message(STATUS "CUDA: no nvcc found, built without")
  return()
endif()
if(NOT CMAKE_CUDA_COMPILER)
  set(CMAKE_CUDA_COMPILER ${STRAKE_NVCC})
endif()

# For the GPUs of this machine. Where there are none, the compiler's own default, the oldest it supports, whose
# intermediate code the driver translates for any later GPU, and the first whose kernels can be set up early.
execute_process(COMMAND nvidia-smi -L RESULT_VARIABLE smi_result OUTPUT_VARIABLE smi_output ERROR_QUIET)
if(smi_result EQUAL 0 AND smi_output MATCHES "GPU 0")
  set(STRAKE_GPU_FOUND TRUE)
endif()
set(generic FALSE)
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  if(STRAKE_GPU_FOUND)
    set(CMAKE_CUDA_ARCHITECTURES native)
  else()
    set(generic TRUE)
  endif()
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
if(generic AND CUDAToolkit_VERSION VERSION_GREATER_EQUAL 11.8)
  # As a part of another project, whose architectures are its own, for Strake's directories alone.
  list(APPEND CMAKE_CUDA_ARCHITECTURES 90)
  if(PROJECT_IS_TOP_LEVEL)
    set(CMAKE_CUDA_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES} CACHE STRING "CUDA architectures" FORCE)
  endif()
endif()
# The kernels need nothing of a C++ library; what links them has its own, which may be another than that of nvcc's compiler.
list(REMOVE_ITEM CMAKE_CUDA_IMPLICIT_LINK_LIBRARIES stdc++)
set(STRAKE_CUDA_FOUND TRUE)
message(STATUS "CUDA: ${CUDAToolkit_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}")

add_library(strake_cuda_compile INTERFACE)
# CMake 3.25 knows no CUDA_STANDARD 20 for nvcc 13, so the standard goes in as an option.
target_compile_options(strake_cuda_compile INTERFACE
  $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wshadow>
  $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${STRAKE_WARNINGS_AS_ERRORS}>>:-Werror=all-warnings>)
