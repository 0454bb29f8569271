# The schema of ONNX, from the pinned `onnx` package: no copy of it is kept here.
#
# Gives
#   DTCC_PYTHON_ENV    the virtual environment that holds the package
#   dtcc_onnx_proto    the library of its messages; #include "onnx/onnx-ml.pb.h"
#
# The messages are protobuf's lite kind, as the schema itself asks: parsing and
# printing bytes, no reflection.

if(EXISTS ${CMAKE_SOURCE_DIR}/build/python/.dtcc-onnx)
  set(DTCC_PYTHON_ENV ${CMAKE_SOURCE_DIR}/build/python) # one for all presets
else()
  set(DTCC_PYTHON_ENV ${CMAKE_BINARY_DIR}/python)
endif()
execute_process(COMMAND ${CMAKE_SOURCE_DIR}/tools/install-deps --python-only ${DTCC_PYTHON_ENV}
  RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "the onnx package is needed for its schema; tools/install-deps says above what is wrong")
endif()
file(GLOB schema ${DTCC_PYTHON_ENV}/lib/python3*/site-packages/onnx/onnx-ml.proto)
if(NOT schema)
  message(FATAL_ERROR "no onnx/onnx-ml.proto in ${DTCC_PYTHON_ENV}; remove that folder and configure again")
endif()

find_package(Protobuf REQUIRED)
set(proto ${CMAKE_BINARY_DIR}/onnx/onnx-ml.proto)
configure_file(${schema} ${proto} COPYONLY)
add_custom_command(
  OUTPUT ${CMAKE_BINARY_DIR}/onnx/onnx-ml.pb.cc ${CMAKE_BINARY_DIR}/onnx/onnx-ml.pb.h
  COMMAND protobuf::protoc --cpp_out=${CMAKE_BINARY_DIR} -I ${CMAKE_BINARY_DIR} ${proto}
  DEPENDS ${proto} COMMENT "protoc onnx-ml.proto" VERBATIM)
add_library(dtcc_onnx_proto STATIC ${CMAKE_BINARY_DIR}/onnx/onnx-ml.pb.cc ${CMAKE_BINARY_DIR}/onnx/onnx-ml.pb.h)
target_include_directories(dtcc_onnx_proto SYSTEM PUBLIC ${Protobuf_INCLUDE_DIRS} ${CMAKE_BINARY_DIR})
target_link_libraries(dtcc_onnx_proto PUBLIC protobuf::libprotobuf-lite)
target_compile_options(dtcc_onnx_proto PRIVATE -w)
set_target_properties(dtcc_onnx_proto PROPERTIES POSITION_INDEPENDENT_CODE ON)
