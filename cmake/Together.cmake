# Builds are cheap when files share headers: most of a compilation's time goes to headers and templates, once a file.
# CMake's own UNITY_BUILD names files by absolute paths: a compiler cache would start over in each clone.

# pawl_together(VAR ROOT SOURCES...): in VAR what to compile instead of SOURCES, which lie below the include folder ROOT:
# a file for every few of them. A few, because a change of one compiles its neighbours again.
function(pawl_together var root)
  if(NOT PAWL_TOGETHER)
    set(${var} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(files_max 16)
  if(PAWL_TEST_HOOKS AND NOT PAWL_SANITIZE)
    set(files_max 12)  # where people work
  endif()
  list(SORT ARGN)
  list(LENGTH ARGN count)
  math(EXPR parts "(${count} + ${files_max} - 1) / ${files_max}")
  set(out "")
  set(at 0)
  foreach(part RANGE 1 ${parts})
    math(EXPR end "${count} * ${part} / ${parts}")
    math(EXPR length "${end} - ${at}")
    list(SUBLIST ARGN ${at} ${length} sources)
    set(text "")
    foreach(source ${sources})
      file(RELATIVE_PATH path ${root} ${source})
      string(APPEND text "#include \"${path}\"\n")
    endforeach()
    list(GET sources 0 first)
    file(RELATIVE_PATH name ${root} ${first})
    string(REGEX REPLACE "\\.cc$" "" name ${name})
    get_filename_component(top ${root} NAME)
    if(NOT name MATCHES "/")
      set(name ${top}/${name})  # or the file would include itself
    endif()
    string(REPLACE "/" "_" name ${name})
    set(file ${CMAKE_BINARY_DIR}/together/${top}/${name}.cc)
    file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
    list(APPEND out ${file})
    set(at ${end})
  endforeach()
  set(${var} ${out} PARENT_SCOPE)
endfunction()

# pawl_precompile(TARGET FROM HEADERS...): TARGET begins with HEADERS, compiled once, in the target FROM, whose options it
# must share: GCC refuses a precompiled header of other ones. Only GCC: with Clang's the compiler cache never hits.
function(pawl_precompile target from)
  if(NOT PAWL_TOGETHER OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  if(target STREQUAL from)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${from})
  endif()
  target_compile_options(${target} PRIVATE -fpch-preprocess)  # or the cache can't preprocess
endfunction()
