# strake_plugin_exports(TARGET)  lets a plug-in export its C functions, whose names begin with strake_, and nothing else
function(strake_plugin_exports target)
  set(map ${PROJECT_SOURCE_DIR}/cmake/plugin.map)
  target_link_options(${target} PRIVATE LINKER:--exclude-libs,ALL LINKER:-Bsymbolic LINKER:--version-script=${map})
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${map})
  if(NOT STRAKE_SANITIZE)
    target_link_options(${target} PRIVATE LINKER:--no-undefined)
  endif()
endfunction()
