# ccache and mold, where they are found and nothing else was asked for: they change how long a build takes, not what
# it makes.
if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(TESSERA_CCACHE ccache)
  if(TESSERA_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${TESSERA_CCACHE})
  endif()
endif()

option(TESSERA_MOLD "Link with mold where it is found" ON)
if(TESSERA_MOLD)
  find_program(TESSERA_MOLD_LINKER mold)
  if(TESSERA_MOLD_LINKER)
    add_link_options(-fuse-ld=mold)
  endif()
endif()
