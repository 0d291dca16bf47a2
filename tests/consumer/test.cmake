# Installs a built Tessera into a scratch prefix, moves the prefix, and builds and runs a program against it: through
# find_package(Tessera), and through pkg-config where there is one.
function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nfailed (${status}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect text pattern)
  if(NOT text MATCHES "${pattern}")
    message(FATAL_ERROR "expected '${pattern}' in:\n${text}")
  endif()
endfunction()

file(REMOVE_RECURSE ${SCRATCH}/first ${SCRATCH}/prefix ${SCRATCH}/build ${SCRATCH}/with_pkg_config)
run(${CMAKE_COMMAND} --install ${TESSERA_BUILD} --prefix ${SCRATCH}/first)
file(RENAME ${SCRATCH}/first ${SCRATCH}/prefix)
set(prefix ${SCRATCH}/prefix)

file(GLOB_RECURSE internal ${prefix}/include/*/internal/*)
if(internal)
  message(FATAL_ERROR "internal headers were installed: ${internal}")
endif()
if(NOT EXISTS ${prefix}/share/doc/tessera/LICENSE)
  message(FATAL_ERROR "the licence was not installed")
endif()

run(${CMAKE_COMMAND} -G Ninja -S ${CMAKE_CURRENT_LIST_DIR} -B ${SCRATCH}/build -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_C_COMPILER=${CC}
    -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_FIND_USE_PACKAGE_REGISTRY=OFF -D TESSERA_VERSION=${VERSION})
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
run(${SCRATCH}/build/consumer)
expect("${output}" "1496960")
run(${SCRATCH}/build/consumer_c)
expect("${output}" "1000 scores\n[0-9]+ us on a Wormhole n150")
run(${SCRATCH}/build/recognize_c ${CMAKE_CURRENT_LIST_DIR}/../../examples/pictures/three.jpg)
expect("${output}" "^3 [01]\\.[0-9][0-9]\n")

if(CLI)
  run(${prefix}/bin/tessera --version)
  expect("${output}" "${VERSION}")
  foreach(file bash-completion/completions/tessera zsh/site-functions/_tessera fish/vendor_completions.d/tessera.fish
               man/man1/tessera.1)
    file(READ ${prefix}/share/${file} text)
    expect("${text}" "doctor")
  endforeach()
endif()

find_program(pkg_config NAMES pkg-config pkgconf)
if(NOT pkg_config OR SANITIZE)
  return()  # a sanitizer's flags are not something tessera.pc should carry
endif()
set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
run(${pkg_config} --modversion tessera)
expect("${output}" "${VERSION}")
run(${pkg_config} --cflags --libs tessera)
separate_arguments(flags UNIX_COMMAND "${output}")
run(${CXX} -std=c++20 ${CMAKE_CURRENT_LIST_DIR}/main.cpp -o ${SCRATCH}/with_pkg_config
    -Wl,--whole-archive ${flags} -Wl,--no-whole-archive)
set(ENV{LD_LIBRARY_PATH} ${prefix}/${LIBDIR})
run(${SCRATCH}/with_pkg_config)
expect("${output}" "1496960")
run(${CC} -std=c11 -Wall -Wextra -Werror ${CMAKE_CURRENT_LIST_DIR}/main.c -o ${SCRATCH}/c_with_pkg_config ${flags})
run(${SCRATCH}/c_with_pkg_config)
expect("${output}" "1000 scores")

# What was installed can be removed again, and nothing else is.
file(WRITE ${prefix}/share/tessera/mine.txt "")
run(${CMAKE_COMMAND} -D MANIFEST=${TESSERA_BUILD}/install_manifest.txt -D PREFIX=${prefix} -D BUILT_FOR=${SCRATCH}/first
    -P ${CMAKE_CURRENT_LIST_DIR}/../../cmake/TesseraUninstall.cmake)
file(GLOB_RECURSE left RELATIVE ${prefix} ${prefix}/*)
if(NOT left STREQUAL "share/tessera/mine.txt" OR EXISTS ${prefix}/include/tessera)
  message(FATAL_ERROR "after the removal of what was installed there is: ${left}")
endif()
