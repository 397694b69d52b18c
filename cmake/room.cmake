# convt_room(NAME file.cpp ... ): one room of src/ as an object library of its own, so that tests can link a few rooms.
# convt_own(TARGET): our warning and sanitizer flags.
function(convt_own target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion)
  if(CONVT_JIT_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(CONVT_JIT_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${CONVT_JIT_SANITIZE} -fno-omit-frame-pointer -g)
    target_link_options(${target} PRIVATE -fsanitize=${CONVT_JIT_SANITIZE})
  endif()
endfunction()

function(convt_room name)
  add_library(convt_${name} OBJECT ${ARGN})
  target_include_directories(convt_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
    PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(convt_${name} PRIVATE convt_third_party)
  convt_own(convt_${name})
endfunction()

# convt_embed(OUT HEADER FUNCTION ROOT "file;...") makes a source file of the text of files below ROOT; HEADER declares
# FUNCTION, which returns them by name.
function(convt_embed out header function root files)
  list(SORT files)
  list(TRANSFORM files PREPEND ${root}/ OUTPUT_VARIABLE paths)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DROOT=${root} "-DFILES=${files}" -DHEADER=${header} -DFUNCTION=${function} -DOUT=${out}
            -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${paths} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
endfunction()
