set(needed_rooms log layer plan render compile)

# A process without NVRTC.
convt_test(compile_absent_tests ${CMAKE_CURRENT_LIST_DIR}/absent/no_nvrtc_test.cpp ROOMS ${needed_rooms} LABELS unit)
