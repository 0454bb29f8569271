# The functions with which every folder declares its targets.
#
#   dtcc_tablegen(TARGET FILE.td -gen-op-decls FILE.h.inc ...)  generated headers
#   dtcc_reference(PAGE.md FILE.td -gen-pass-doc)               a page of the target dtcc-reference
#   dtcc_library(NAME SOURCES ... [TABLEGEN targets] [LINK libraries])
#   dtcc_runtime_sources(...)                                   of libdtcc_rt.a: no LLVM in it
#   dtcc_tool(NAME SOURCES ... LINK libraries)
#   dtcc_unit_test(NAME [MLIR] SOURCES ... [LINK libraries])    GoogleTest, run by ctest; MLIR: it sees the dialects
#
# Includes are rooted at the repository: the first path component is the floor.

set(DTCC_SANITIZE "" CACHE STRING "Sanitizers to build with, for example address,undefined")
set(DTCC_WARNINGS -Wall -Wextra -Wno-unused-parameter -Werror)
include_directories(${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
if(DTCC_SANITIZE)
  add_compile_options(-fsanitize=${DTCC_SANITIZE} -fno-sanitize=vptr,function -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${DTCC_SANITIZE} -fno-sanitize=vptr,function)
  add_compile_options(-Wno-pass-failed) # nor are loops vectorized around its checks
  set(DTCC_TEST_SECONDS 1500) # sanitized code is up to ten times slower
else()
  set(DTCC_TEST_SECONDS 300)
endif()

# LLVM's headers are built with RTTI and without exceptions.
add_library(dtcc_mlir INTERFACE)
target_include_directories(dtcc_mlir SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_compile_options(dtcc_mlir INTERFACE -fno-exceptions)
# Bundled shared libraries: 0.2 s to link. Never link single MLIR archives beside them.
target_link_libraries(dtcc_mlir INTERFACE MLIR LLVM)

# Precompiled headers: 5 times less to compile. dtcc_precompile(name OPTIONS options HEADERS headers [LINK libraries])
function(dtcc_precompile name)
  cmake_parse_arguments(ARG "" "" "OPTIONS;HEADERS;LINK" ${ARGN})
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cpp CONTENT "// owns the precompiled header\n")
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  target_compile_options(${name} PRIVATE ${DTCC_WARNINGS} ${ARG_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()
function(dtcc_use_precompiled target pch)
  target_precompile_headers(${target} REUSE_FROM ${pch})
  target_compile_options(${target} PRIVATE -fPIC) # as the header is; the property would mean -fPIE to executables
endfunction()

# Headers of the standard library for code without MLIR: parsing them was half of its build.
set(DTCC_STANDARD_HEADERS <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <condition_variable> <cstdint> <cstdio>
  <cstdlib> <cstring> <deque> <filesystem> <fstream> <functional> <iostream> <limits> <map> <memory> <mutex> <numeric>
  <optional> <set> <span> <sstream> <string> <string_view> <thread> <tuple> <type_traits> <utility> <vector>)

# Sources above the runtime, some at a time as one: their templates are instantiated, optimized and emitted once. So file-local
# names must differ within a library. Without it an edit costs one file's build, and each file is seen to stand alone.
set(DTCC_UNITY 0 CACHE STRING "Source files that are compiled as one; 0: each by itself")
function(dtcc_unify target)
  if(DTCC_UNITY GREATER 1)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${DTCC_UNITY})
  endif()
endfunction()

# dtcc_tablegen(target file.td generator output [generator output ...])
function(dtcc_tablegen target td)
  set(outputs)
  list(APPEND rules ${ARGN})
  get_filename_component(source ${td} ABSOLUTE)
  while(rules)
    list(POP_FRONT rules generator output)
    separate_arguments(generator)
    set(path ${CMAKE_CURRENT_BINARY_DIR}/${output})
    add_custom_command(OUTPUT ${path}
      COMMAND ${LLVM_TOOLS_BINARY_DIR}/mlir-tblgen ${generator} ${source} -I ${CMAKE_SOURCE_DIR}
              -I ${MLIR_INCLUDE_DIRS} -o ${path} -d ${path}.d --write-if-changed
      DEPENDS ${source} DEPFILE ${path}.d COMMENT "TableGen ${output}" VERBATIM)
    list(APPEND outputs ${path})
  endwhile()
  add_custom_target(${target} DEPENDS ${outputs})
endfunction()

# A reference page of what a .td file defines: dtcc_reference(page.md file.td generator). The target "dtcc-reference" writes
# all of them to the folder of that name under docs in the build folder.
add_custom_target(dtcc-reference COMMENT "reference pages are in ${CMAKE_BINARY_DIR}/docs/reference")
function(dtcc_reference page td generator)
  get_filename_component(source ${td} ABSOLUTE)
  separate_arguments(generator)
  get_filename_component(name ${page} NAME_WE)
  set(path ${CMAKE_BINARY_DIR}/docs/reference/${page})
  add_custom_command(OUTPUT ${path}
    COMMAND ${LLVM_TOOLS_BINARY_DIR}/mlir-tblgen ${generator} ${source} -I ${CMAKE_SOURCE_DIR} -I ${MLIR_INCLUDE_DIRS}
            -o ${path} -d ${path}.d --write-if-changed
    DEPENDS ${source} DEPFILE ${path}.d COMMENT "Reference ${page}" VERBATIM)
  add_custom_target(dtcc-reference-${name} DEPENDS ${path})
  add_dependencies(dtcc-reference dtcc-reference-${name})
endfunction()

function(dtcc_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;TABLEGEN;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC dtcc_mlir ${ARG_LINK})
  target_compile_options(${name} PRIVATE ${DTCC_WARNINGS})
  dtcc_use_precompiled(${name} dtcc_mlir_pch)
  dtcc_unify(${name})
  if(ARG_TABLEGEN)
    add_dependencies(${name} ${ARG_TABLEGEN})
  endif()
endfunction()

# Planning and cost code: plain C++, no MLIR types.
function(dtcc_plain_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  target_compile_options(${name} PRIVATE ${DTCC_WARNINGS} -O2 -fno-exceptions)
  dtcc_use_precompiled(${name} dtcc_plain_pch)
  dtcc_unify(${name})
endfunction()

# Sources of a folder for the runtime's archive, some at a time as one too, but never of two folders: of an archive, a program
# takes the members that it needs, as those for GPUs only where it was compiled for them.
function(dtcc_runtime_sources)
  target_sources(dtcc_rt PRIVATE ${ARGN})
  if(DTCC_UNITY GREATER 1)
    file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR}/runtime ${CMAKE_CURRENT_SOURCE_DIR})
    string(MAKE_C_IDENTIFIER ${folder} folder)
    set(count 0)
    foreach(source IN LISTS ARGN)
      math(EXPR group "${count} / ${DTCC_UNITY}")
      set_source_files_properties(${source} TARGET_DIRECTORY dtcc_rt PROPERTIES UNITY_GROUP ${folder}_${group})
      math(EXPR count "${count} + 1")
    endforeach()
  endif()
endfunction()

# The allocator of the tools: a search spends a fifth of its time in malloc and free. Sanitizers bring their own.
if(NOT DTCC_SANITIZE)
  find_library(DTCC_JEMALLOC jemalloc DOC "The allocator of the tools; they use the system's if it is not found")
endif()

function(dtcc_tool name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  if(DTCC_JEMALLOC)
    target_link_libraries(${name} PRIVATE ${DTCC_JEMALLOC})
  endif()
  target_compile_options(${name} PRIVATE ${DTCC_WARNINGS})
  dtcc_use_precompiled(${name} dtcc_mlir_pch)
  dtcc_unify(${name})
  install(TARGETS ${name})
endfunction()

# A GoogleTest program, one ctest entry "unit-NAME". Runs in the build folder of
# its CMakeLists.txt, where it may write.
function(dtcc_unit_test name)
  cmake_parse_arguments(ARG "MLIR" "" "SOURCES;LINK" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest GTest::gtest_main)
  target_compile_options(${name} PRIVATE ${DTCC_WARNINGS})
  if(ARG_MLIR)
    dtcc_use_precompiled(${name} dtcc_mlir_pch)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/unit)
  add_test(NAME unit-${name} COMMAND ${name} --gtest_brief=1)
  set_tests_properties(unit-${name} PROPERTIES TIMEOUT ${DTCC_TEST_SECONDS})
endfunction()
