# What scripts/demo runs, the tutorial's program, and what the command loads: the parts for a GPU only where there is one.
add_custom_target(demo DEPENDS strake_command strake_heap strake_preload)
foreach(flavor IN LISTS STRAKE_MPI_FLAVORS)
  foreach(target strake_interpose_${flavor} strake_interpose_${flavor}_renamed strake_measure_${flavor} halo3d_${flavor}
      halo3d_f90_${flavor} halo2d_${flavor})
    if(TARGET ${target})
      add_dependencies(demo ${target})
    endif()
  endforeach()
  if(STRAKE_CUDA_FOUND AND TARGET halo3d_cuda_${flavor} AND (STRAKE_GPU_FOUND OR STRAKE_CUDA STREQUAL "ON"))
    add_dependencies(demo strake_cuda strake_measure_cuda halo3d_cuda_${flavor})
  endif()
endforeach()
