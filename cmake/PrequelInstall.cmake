# `cmake --install` and the package that find_package(prequel) finds: the public header, libraries,
# data and the program. Each library says install() where it is made (prequel_library). A static build
# (PREQUEL_STATIC) has no libraries.
include(CMakePackageConfigHelpers)

if(NOT PREQUEL_STATIC)
  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/prequel)
  install(EXPORT prequel-targets NAMESPACE prequel:: DESTINATION ${package_dir})
  configure_package_config_file(
    cmake/prequel-config.cmake.in prequel-config.cmake
    INSTALL_DESTINATION ${package_dir}
    PATH_VARS PREQUEL_INSTALL_DATADIR)
  write_basic_package_version_file(prequel-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/prequel-config.cmake
                ${CMAKE_CURRENT_BINARY_DIR}/prequel-config-version.cmake
          DESTINATION ${package_dir})
  # All that the library says: what its one public header includes, and that.
  install(FILES cli/api/prequel.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/prequel)
  foreach(header calibrate/runs/calibrated_file.hpp hw/base/errors.hpp hw/base/progress.hpp)
    cmake_path(GET header PARENT_PATH folder)
    install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/prequel/${folder})
  endforeach()
endif()

if(TARGET prequel)
  install(TARGETS prequel)
endif()
install(DIRECTORY data/ DESTINATION ${PREQUEL_INSTALL_DATADIR} OPTIONAL)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})

# `cpack -G DEB` in the build folder makes a Debian package of all that. The program needs only
# these libraries at run time.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_CONTACT "the developers of prequel <prequel@localhost>")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
if(NOT PREQUEL_STATIC)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS
    "libc6 (>= 2.36), libstdc++6 (>= 12), libfmt9, libtbb12, libyaml-cpp0.7")
  set(CPACK_DEBIAN_PACKAGE_SUGGESTS
    "libboost-dev, libeigen3-dev, nlohmann-json3-dev, libfmt-dev, libtbb-dev, libyaml-cpp-dev")
endif()
set(CPACK_STRIP_FILES ON)
include(CPack)
