# cmake -DBUILD=... -DSOURCE=... -DSCRATCH=... -DCOMPILER=... -DGENERATOR=... -DSANITIZE=... -P install_test.cmake
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${status} from: ${ARGN}")
  endif()
endfunction()

file(REMOVE_RECURSE ${SCRATCH}/first ${SCRATCH}/prefix ${SCRATCH}/examples)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/first)
# An installed tree can be moved.
file(RENAME ${SCRATCH}/first ${SCRATCH}/prefix)

set(flags "")
if(SANITIZE)
  set(flags -DCMAKE_CXX_FLAGS=-fsanitize=${SANITIZE})
endif()
run(${CMAKE_COMMAND} -S ${SOURCE}/examples -B ${SCRATCH}/examples -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER}
  -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF ${flags})
run(${CMAKE_COMMAND} --build ${SCRATCH}/examples)
run(${SCRATCH}/examples/simulate)
run(${SCRATCH}/examples/simulate_static)
file(REMOVE_RECURSE ${SCRATCH}/warm ${SCRATCH}/imported)
run(${CMAKE_COMMAND} -E env CONVT_JIT_CACHE_DIR=${SCRATCH}/warm ${SCRATCH}/examples/warm_only warm sm_90)
run(${CMAKE_COMMAND} -E env CONVT_JIT_CACHE_DIR=${SCRATCH}/warm ${SCRATCH}/examples/warm_only export ${SCRATCH}/k.tar)
run(${CMAKE_COMMAND} -E env CONVT_JIT_CACHE_DIR=${SCRATCH}/imported CONVT_JIT_NVRTC=/nonexistent
  ${SCRATCH}/examples/warm_only import ${SCRATCH}/k.tar)
# Without a compiler, and none is needed.
run(${CMAKE_COMMAND} -E env CONVT_JIT_CACHE_DIR=${SCRATCH}/imported CONVT_JIT_NVRTC=/nonexistent
  ${SCRATCH}/examples/warm_only warm sm_90)

find_program(PKG_CONFIG pkg-config REQUIRED)
file(GLOB_RECURSE packages ${SCRATCH}/prefix/*/convt_jit.pc)
get_filename_component(directory "${packages}" DIRECTORY)
execute_process(COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${directory} ${PKG_CONFIG} --cflags --libs convt_jit
  OUTPUT_VARIABLE words OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(words UNIX_COMMAND "${words}")
set(flags "")
if(SANITIZE)
  set(flags -fsanitize=${SANITIZE})
endif()
run(${COMPILER} -std=c++17 ${flags} ${SOURCE}/examples/simulate.cpp -o ${SCRATCH}/simulate_pkg_config ${words})
