# tessera_defaults(target): the compile settings that every target of ours shares.
function(tessera_defaults target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wvla)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC 12 sees overlaps and overflows in std::string and std::vector that are not there (its bug 105651 and relatives),
    # and alternatives of a std::variant that nobody reads (105562).
    target_compile_options(${target} PRIVATE -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds
                                             -Wno-maybe-uninitialized)
  endif()
  if(TESSERA_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(TESSERA_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${TESSERA_SANITIZE} -fno-omit-frame-pointer
                                             -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${TESSERA_SANITIZE})
  endif()
endfunction()

# tessera_isa_flags(isa out): the compiler's flags for one instruction set.
function(tessera_isa_flags isa out)
  if(isa STREQUAL "portable")
    set(${out} "" PARENT_SCOPE)
    return()
  elseif(isa STREQUAL "avx2")
    set(flags -mavx2 -mfma -mf16c -mbmi2)
  elseif(isa STREQUAL "avx512")
    set(flags -mavx2 -mfma -mf16c -mbmi2 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512cd)
  elseif(isa STREQUAL "avx512_half")  # vectors of 256 bits
    tessera_isa_flags(avx512 flags)
    list(APPEND flags -DTSR_HALF_VECTORS)
  elseif(isa STREQUAL "avx512_vnni")
    tessera_isa_flags(avx512 flags)
    list(APPEND flags -mavx512vnni)
  elseif(isa STREQUAL "avx512_bf16")
    tessera_isa_flags(avx512_vnni flags)
    list(APPEND flags -mavx512bf16)
  elseif(isa STREQUAL "amx")
    tessera_isa_flags(avx512_bf16 flags)
    list(APPEND flags -mamx-tile -mamx-bf16 -mamx-int8)
  else()
    message(FATAL_ERROR "no flags are known for '${isa}'")
  endif()
  # GCC 12 takes the "undefined" vectors in its own AVX-512 intrinsics for uninitialised variables (GCC bug 105593).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND flags -Wno-maybe-uninitialized -Wno-uninitialized)
  endif()
  set(${out} "${flags}" PARENT_SCOPE)
endfunction()

# tessera_each_isa(target out sources...): compiles each of these sources of this folder, <stem>_simd.cpp, once for every
# instruction set, as the file <stem>_<set>.cpp that is made in the build folder and includes it; `out` names them. The
# sets are portable, avx2 and avx512, or those of the source's line "// Compiled for: portable avx2 avx512_vnni". Which
# one runs is decided at run time (core/isa.h). Each is compiled alone: what one keeps to itself has the same name in all.
function(tessera_each_isa target out)
  set(made)
  foreach(source IN LISTS ARGN)
    set(isas portable avx2 avx512)
    file(STRINGS ${source} line REGEX "^// Compiled for: " LIMIT_COUNT 1)
    if(line)
      string(REGEX REPLACE "^// Compiled for: " "" isas "${line}")
      separate_arguments(isas)
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source})
    endif()
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${source})
    string(REGEX REPLACE "_simd\\.cpp$" "" stem ${source})
    foreach(isa IN LISTS isas)
      if(NOT isa STREQUAL "portable" AND NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
        continue()
      endif()
      set(file ${CMAKE_CURRENT_BINARY_DIR}/${stem}_${isa}.cpp)
      file(CONFIGURE OUTPUT ${file} CONTENT "#include \"${path}\"  // NOLINT(bugprone-suspicious-include)\n")
      tessera_isa_flags(${isa} flags)
      # The target may live in another directory, and source properties are seen only where they are set.
      set_source_files_properties(${file} TARGET_DIRECTORY ${target} PROPERTIES COMPILE_OPTIONS "${flags}"
        SKIP_PRECOMPILE_HEADERS ON)
      target_sources(${target} PRIVATE ${file})
      list(APPEND made ${file})
    endforeach()
  endforeach()
  set(${out} ${made} PARENT_SCOPE)
endfunction()

# tessera_compile_together(target files...): compiles several of these files at a time, so that headers are read and
# templates instantiated once for all of them: a third of the time from nothing. tools/compile_groups says which, such
# that no two of a group use one name for different things of their own. Without Python each file is compiled alone.
function(tessera_compile_together target)
  find_program(TESSERA_PYTHON3 python3)
  if(NOT TESSERA_UNITY_BUILD OR NOT TESSERA_PYTHON3 OR NOT ARGN)
    return()
  endif()
  set(paths)
  foreach(file IN LISTS ARGN)
    get_filename_component(path ${file} ABSOLUTE)
    list(APPEND paths ${path})
  endforeach()
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  string(REPLACE "/" "_" name ${target}_${folder})
  set(groups ${PROJECT_BINARY_DIR}/compile_groups/${name})
  list(JOIN paths "\n" lines)
  file(CONFIGURE OUTPUT ${groups}.txt CONTENT "${lines}\n" @ONLY)
  set_property(GLOBAL APPEND PROPERTY tessera_compile_groups ${target}=${groups})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # What concerns one file alone is for builds that compile each alone (dev, tidy): GCC takes the files for headers
  # here, which must not use what is in unnamed namespaces, and a local name may be one that another file has.
  target_compile_options(${target} PRIVATE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()

# tessera_write_compile_groups(): once, after the last target: one start of Python for all of them.
function(tessera_write_compile_groups)
  get_property(targets GLOBAL PROPERTY tessera_compile_groups)
  set(lists ${targets})
  list(TRANSFORM lists REPLACE "^[^=]*=(.*)$" "\\1.txt")
  if(lists)
    execute_process(COMMAND ${TESSERA_PYTHON3} ${PROJECT_SOURCE_DIR}/tools/compile_groups ${lists}
      COMMAND_ERROR_IS_FATAL ANY)
  endif()
  foreach(one IN LISTS targets)
    string(REGEX MATCH "^([^=]*)=(.*)$" matched ${one})
    set(target ${CMAKE_MATCH_1})
    include(${CMAKE_MATCH_2}.cmake)
  endforeach()
endfunction()

# tessera_compile_group(target name files...): what tools/compile_groups writes.
function(tessera_compile_group target name)
  set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${name})
endfunction()

# tessera_sources(target files...): of the library, in the folder that calls this. The target is tessera or tessera_cold.
function(tessera_sources target)
  target_sources(${target} PRIVATE ${ARGN})
  tessera_compile_together(${target} ${ARGN})
endfunction()

# tessera_module([ALONE] [COLD regex] [EXCEPT regex] [UNSANITIZED regex]): every source of this folder and below it goes
# into the library, so that a new file needs no line here; a name that ends in _simd.cpp is compiled for every instruction
# set. ALONE: kernels, each file on its own with -O3; COLD: paths where nothing has to be fast (tessera_cold); EXCEPT:
# paths that have a CMakeLists.txt or a condition of their own; UNSANITIZED: files of instruction sets that sanitizers
# would take too long to compile.
function(tessera_module)
  cmake_parse_arguments(arg "ALONE" "COLD;EXCEPT;UNSANITIZED" "" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.cpp)
  if(arg_EXCEPT)
    list(FILTER sources EXCLUDE REGEX "${arg_EXCEPT}")
  endif()
  set(each_isa ${sources})
  list(FILTER each_isa INCLUDE REGEX "_simd\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "_simd\\.cpp$")
  tessera_each_isa(tessera made ${each_isa})
  if(arg_UNSANITIZED AND TESSERA_SANITIZE)
    list(FILTER made INCLUDE REGEX "${arg_UNSANITIZED}")
    set_property(SOURCE ${made} TARGET_DIRECTORY tessera APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=all)
  endif()
  if(arg_COLD)
    set(cold ${sources})
    list(FILTER cold INCLUDE REGEX "${arg_COLD}")
    list(FILTER sources EXCLUDE REGEX "${arg_COLD}")
    tessera_sources(tessera_cold ${cold})
  endif()
  if(arg_ALONE)
    target_sources(tessera PRIVATE ${sources})
    list(APPEND made ${sources})
  elseif(sources)
    tessera_sources(tessera ${sources})
  endif()
  if(made)  # the rest of the library has -O2
    set_property(SOURCE ${made} TARGET_DIRECTORY tessera APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O3>)
  endif()
endfunction()
