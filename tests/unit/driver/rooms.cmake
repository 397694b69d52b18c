set(needed_rooms log driver)

# A libcuda without a GPU, for the tests of this room alone.
add_library(fake_libcuda MODULE ${CMAKE_CURRENT_LIST_DIR}/fake_libcuda.cpp)
convt_own(fake_libcuda)
target_link_libraries(fake_libcuda PRIVATE convt_third_party)
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/fake_test.cpp PROPERTIES
  COMPILE_DEFINITIONS CONVT_FAKE_LIBCUDA="$<TARGET_FILE:fake_libcuda>")
# driver_tests does not exist yet where this file is included.
cmake_language(DEFER CALL add_dependencies driver_tests fake_libcuda)

# A process without a driver: which one it has is settled once.
convt_test(driver_absent_tests ${CMAKE_CURRENT_LIST_DIR}/absent/no_driver_test.cpp ROOMS ${needed_rooms} LABELS unit)
