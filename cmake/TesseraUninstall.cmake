# Removes the files that install_manifest.txt names, and the folders that are empty after that.
#
#   cmake -D MANIFEST=build/install_manifest.txt [-D BUILT_FOR=/first -D PREFIX=/now] -P TesseraUninstall.cmake
#
# A tree that was moved since lies at PREFIX; it was installed to BUILT_FOR.
if(NOT EXISTS ${MANIFEST})
  message(FATAL_ERROR "${MANIFEST} does not exist: nothing was installed from this build folder")
endif()
file(STRINGS ${MANIFEST} files)
set(folders)
set(removed 0)
foreach(file IN LISTS files)
  if(BUILT_FOR)
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${BUILT_FOR})
    set(file ${PREFIX}/${file})
  endif()
  if(EXISTS ${file} OR IS_SYMLINK ${file})
    file(REMOVE ${file})
    math(EXPR removed "${removed} + 1")
  endif()
  cmake_path(GET file PARENT_PATH folder)
  while(folder AND NOT folder STREQUAL "/")
    list(APPEND folders ${folder})
    cmake_path(GET folder PARENT_PATH folder)
  endwhile()
endforeach()

# The deepest first, and only folders of our own: /usr/local/bin stays, empty or not.
list(REMOVE_DUPLICATES folders)
list(FILTER folders INCLUDE REGEX "/[Tt]essera")
list(SORT folders ORDER DESCENDING)
foreach(folder IN LISTS folders)
  file(GLOB inside LIST_DIRECTORIES true ${folder}/* ${folder}/.*)
  list(FILTER inside EXCLUDE REGEX "/\\.\\.?$")
  if(IS_DIRECTORY ${folder} AND NOT inside)
    file(REMOVE_RECURSE ${folder})
  endif()
endforeach()
message(STATUS "removed ${removed} files")
