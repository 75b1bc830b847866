include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/heddle)

install(TARGETS heddle EXPORT heddle-targets FILE_SET HEADERS)
install(EXPORT heddle-targets NAMESPACE heddle:: DESTINATION ${package_dir})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/heddle-config.cmake.in
                              ${PROJECT_BINARY_DIR}/heddle-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/heddle-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/heddle-config.cmake
              ${PROJECT_BINARY_DIR}/heddle-config-version.cmake
        DESTINATION ${package_dir})
