# Third-party libraries, all from Debian's packages. Those that the library itself uses are header-only or static, so
# that libconvt_jit.so needs nothing but the C++ runtime.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)

find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
find_path(MUSTACHE_INCLUDE_DIR kainjow/mustache.hpp REQUIRED)
find_library(BOOST_CONTEXT_LIBRARY NAMES libboost_context.a boost_context REQUIRED)

# cuda.h and nvrtc.h, for types and prototypes only: both libraries are opened at run time.
find_path(CUDA_INCLUDE_DIR cuda.h
  HINTS $ENV{CUDA_HOME}/include $ENV{CUDA_PATH}/include /usr/local/cuda/include ${PROJECT_BINARY_DIR}/cuda/include
        ${PROJECT_SOURCE_DIR}/build/cuda/include REQUIRED)
find_path(NVRTC_INCLUDE_DIR nvrtc.h
  HINTS $ENV{CUDA_HOME}/include $ENV{CUDA_PATH}/include /usr/local/cuda/include ${PROJECT_BINARY_DIR}/cuda/include
        ${PROJECT_SOURCE_DIR}/build/cuda/include REQUIRED)

add_library(convt_third_party INTERFACE)
target_include_directories(convt_third_party SYSTEM INTERFACE
  ${XXHASH_INCLUDE_DIR} ${MUSTACHE_INCLUDE_DIR} ${CUDA_INCLUDE_DIR} ${NVRTC_INCLUDE_DIR})
target_compile_definitions(convt_third_party INTERFACE XXH_INLINE_ALL SPDLOG_FMT_EXTERNAL)
target_link_libraries(convt_third_party INTERFACE
  fmt::fmt-header-only spdlog::spdlog_header_only nlohmann_json::nlohmann_json Threads::Threads ${CMAKE_DL_LIBS})

# For ONNX models, which `convt` reads; static, so that the program needs no library for them.
if(CONVT_JIT_BUILD_TOOLS OR CONVT_JIT_BUILD_TESTS)
  find_program(PROTOC protoc REQUIRED)
  find_path(PROTOBUF_INCLUDE_DIR google/protobuf/message_lite.h REQUIRED)
  find_library(PROTOBUF_LITE_LIBRARY NAMES libprotobuf-lite.a protobuf-lite REQUIRED)
endif()
