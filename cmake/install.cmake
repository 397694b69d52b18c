# Install rules, CMake package and pkg-config file.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/convt_jit)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/convt_jit DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
install(TARGETS convt_jit convt_jit_static EXPORT convt_jit_targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET convt)
  # Found beside the library wherever the whole is moved to.
  file(RELATIVE_PATH bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(convt PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
  install(TARGETS convt RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT convt_jit_targets NAMESPACE convt_jit:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/convt_jitConfig.cmake.in
  ${PROJECT_BINARY_DIR}/convt_jitConfig.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may break what the one before promised.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/convt_jitConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/convt_jitConfig.cmake ${PROJECT_BINARY_DIR}/convt_jitConfigVersion.cmake
  DESTINATION ${package_dir})

# The prefix is told from where the file lies, so that an installed tree can be moved.
file(RELATIVE_PATH pkgconfig_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" pkgconfig_to_prefix "${pkgconfig_to_prefix}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/convt_jit.pc.in ${PROJECT_BINARY_DIR}/convt_jit.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/convt_jit.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The same names for those who build the library as part of their project.
add_library(convt_jit::convt_jit ALIAS convt_jit)
add_library(convt_jit::static ALIAS convt_jit_static)
