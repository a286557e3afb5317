# `cmake --install` copies only what was built. After a build of some targets, such as scripts/demo makes, it builds the
# rest first.
# Targets strake_installed_runtime and strake_installed_development build what these components install. This file is
# included before all directories, since install rules run in the order in which they are declared.
foreach(component runtime development)
  add_custom_target(strake_installed_${component})
  set_property(TARGET strake_installed_${component} PROPERTY STRAKE_FILES "")
  install(CODE "
    set(files \"$<TARGET_GENEX_EVAL:strake_installed_${component},$<TARGET_PROPERTY:strake_installed_${component},STRAKE_FILES>>\")
    set(missing)
    foreach(file IN LISTS files)
      if(NOT EXISTS \"\${file}\")
        cmake_path(GET file FILENAME name)
        list(APPEND missing \${name})
      endif()
    endforeach()
    if(missing)
      list(JOIN missing \", \" names)
      message(STATUS \"Not built yet, so built first: \${names}\")
      set(build \"${CMAKE_COMMAND}\" --build \"${CMAKE_BINARY_DIR}\" --target strake_installed_${component})
      execute_process(COMMAND \${build} --config \"$<CONFIG>\" RESULT_VARIABLE result)
      if(NOT result EQUAL 0)
        list(JOIN build \" \" words)
        message(FATAL_ERROR \"Nothing is installed, for these could not be built: \${names}. This builds them: \${words}\")
      endif()
    endif()" COMPONENT ${component})
endforeach()

# strake_is_installed(COMPONENT TARGET [FILE])   a rule of this component installs FILE, which the target builds; without
# FILE the target's own file.
function(strake_is_installed component target)
  set(file "$<TARGET_FILE:${target}>")
  if(ARGC GREATER 2)
    set(file "${ARGV2}")
  endif()
  add_dependencies(strake_installed_${component} ${target})
  set_property(TARGET strake_installed_${component} APPEND PROPERTY STRAKE_FILES "${file}")
endfunction()
