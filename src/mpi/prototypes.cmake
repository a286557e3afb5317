# Reads list.h after the preprocessor: the functions of functions.def that the mpi.h at hand declares, large-count forms
# among them.
#   strake_read_prototypes(FILE)
# sets STRAKE_FUNCTIONS, a list of names, and for each of them
#   STRAKE_PARAMETERS_name  its parameters as mpi.h has them
#   STRAKE_TOPIC_name       by_hand, called, or the file of the interposer that handles it
#   STRAKE_CALL_name        how the call of its handler begins: `handler(` or `handler(Function::name, `
macro(strake_read_prototypes file)
  file(READ ${file} _text)
  string(REGEX MATCHALL "[\n ]int[ \n]+MPI_[A-Za-z_0-9]+[ \n]*\\([^()]*\\)" _prototypes "${_text}")
  foreach(_prototype IN LISTS _prototypes)
    string(REGEX MATCH "(MPI_[A-Za-z_0-9]+)[ \n]*\\((.*)\\)" _matched "${_prototype}")
    set(_name ${CMAKE_MATCH_1})
    string(REGEX REPLACE "^[ \n]*void[ \n]*$" "" STRAKE_PARAMETERS_${_name} "${CMAKE_MATCH_2}")
  endforeach()
  string(REGEX MATCHALL "@strake [^@]*@" _listed "${_text}")
  set(STRAKE_FUNCTIONS "")
  foreach(_line IN LISTS _listed)
    string(REGEX MATCH "@strake ([a-z_0-9]+) (MPI_[A-Za-z_0-9]+) ([^@]*)@" _matched "${_line}")
    set(_topic ${CMAKE_MATCH_1})
    set(_call "${CMAKE_MATCH_3}")
    foreach(_name ${CMAKE_MATCH_2} ${CMAKE_MATCH_2}_c)
      if(DEFINED STRAKE_PARAMETERS_${_name})
        list(APPEND STRAKE_FUNCTIONS ${_name})
        set(STRAKE_TOPIC_${_name} ${_topic})
        set(STRAKE_CALL_${_name} "${_call}")
      endif()
    endforeach()
  endforeach()
endmacro()
