# The ONNX importer: on where protobuf and the schema of the onnx package are found. Sets TESSERA_HAS_ONNX and
# TESSERA_ONNX_PROTO.
set(TESSERA_ONNX AUTO CACHE STRING "Build the ONNX importer: ON, OFF, or AUTO (if protobuf and onnx.proto are found)")
set_property(CACHE TESSERA_ONNX PROPERTY STRINGS AUTO ON OFF)
set(TESSERA_ONNX_PROTO "" CACHE FILEPATH "The onnx.proto of the onnx package; found through Python if empty")

# Where the onnx package of this interpreter lies; the package itself is not run.
function(tessera_find_onnx_proto python)
  execute_process(
    COMMAND ${python} -c "import importlib.util as u; s = u.find_spec('onnx'); print(s.submodule_search_locations[0])"
    OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0 AND EXISTS ${folder}/onnx.proto)
    set(TESSERA_ONNX_PROTO ${folder}/onnx.proto CACHE FILEPATH "" FORCE)
  endif()
endfunction()

set(TESSERA_HAS_ONNX OFF)
if(TESSERA_ONNX)
  find_package(Protobuf 3.12 QUIET)
  set(pythons ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/.venv/bin/python python3)
  foreach(python IN LISTS pythons)
    if(NOT TESSERA_ONNX_PROTO)
      tessera_find_onnx_proto(${python})
    endif()
  endforeach()
  if(Protobuf_FOUND AND TARGET protobuf::protoc AND EXISTS "${TESSERA_ONNX_PROTO}")
    set(TESSERA_HAS_ONNX ON)
  elseif(NOT TESSERA_ONNX STREQUAL "AUTO")
    message(FATAL_ERROR "TESSERA_ONNX is ${TESSERA_ONNX}, but protobuf (found: ${Protobuf_FOUND}) or onnx.proto "
      "('${TESSERA_ONNX_PROTO}') is missing. Debian: libprotobuf-dev protobuf-compiler; Python: pip install onnx; "
      "or name the file with -DTESSERA_ONNX_PROTO=FILE")
  else()
    message(STATUS "No ONNX importer: protobuf (found: ${Protobuf_FOUND}) or onnx.proto ('${TESSERA_ONNX_PROTO}') is missing")
  endif()
endif()
