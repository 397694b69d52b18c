set(needed_rooms log layer reference plan render compile cache driver sim tune engine)

# The engine on a device, with the fake driver of the driver room's tests.
convt_test(engine_device_tests ${CMAKE_CURRENT_LIST_DIR}/device/device_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/device/packing_test.cpp ${CMAKE_CURRENT_LIST_DIR}/device/partial_sums_test.cpp ${CMAKE_CURRENT_LIST_DIR}/device/records_test.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/driver/fake_test.cpp ROOMS ${needed_rooms} LABELS unit)
add_dependencies(engine_device_tests fake_libcuda)
