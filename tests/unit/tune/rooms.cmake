set(needed_rooms log layer plan cache tune)

# Records of the test data, embedded as those of cache/ are.
convt_embed(${CMAKE_CURRENT_BINARY_DIR}/embedded_records.cpp unit/tune/embedded.h embedded_records
  ${PROJECT_SOURCE_DIR}/tests/data/records "fake_0-132.json")
list(APPEND sources ${CMAKE_CURRENT_BINARY_DIR}/embedded_records.cpp)
