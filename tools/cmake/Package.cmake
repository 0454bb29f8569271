# Files that `cmake --install` adds to the tools and the runtime, and a Debian package of all of it (`cpack`).

install(PROGRAMS tools/compare-losses tools/plot-losses DESTINATION share/dtcc)
# The export runs in the user's own environment of Python, beside PyTorch.
install(DIRECTORY tools/export/ DESTINATION share/dtcc/export PATTERN __pycache__ EXCLUDE)
# `import dtcc` finds the tools of the tree in which it lies.
install(DIRECTORY python/dtcc DESTINATION share/dtcc/python PATTERN __pycache__ EXCLUDE)
install(DIRECTORY docs/ DESTINATION share/doc/dtcc)
install(FILES LICENSE DESTINATION share/doc/dtcc)
install(DIRECTORY examples/ DESTINATION share/dtcc/examples PATTERN __pycache__ EXCLUDE)

# For builds of others: find_package(dtcc), and the tables inside a program.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
configure_package_config_file(tools/cmake/dtccConfig.cmake.in ${CMAKE_BINARY_DIR}/dtccConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/dtcc PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/dtccConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/dtccConfig.cmake ${CMAKE_BINARY_DIR}/dtccConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/dtcc)
install(DIRECTORY runtime/abi/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dtcc/runtime/abi FILES_MATCHING PATTERN *.h PATTERN *.def)

# Completions and man pages, made from the tables that the tools print.
set(option_pages ${CMAKE_BINARY_DIR}/option-pages)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_custom_command(OUTPUT ${option_pages}/share/man/man1/dtcc.1
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/options ${CMAKE_BINARY_DIR} --install ${option_pages}
  DEPENDS dtcc dtcc-plan dtcc_rt ${CMAKE_SOURCE_DIR}/tools/options
  COMMENT "Completions and man pages" VERBATIM)
add_custom_target(dtcc-option-pages ALL DEPENDS ${option_pages}/share/man/man1/dtcc.1)
install(DIRECTORY ${option_pages}/share/ DESTINATION share OPTIONAL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "the dtcc authors")
set(CPACK_PACKAGE_CONTACT "the dtcc authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "compiler of training graphs for clusters")
set(CPACK_PACKAGE_INSTALL_DIRECTORY dtcc)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Programs are linked by the C++ compiler of the machine, and multiply matrices by oneDNN where it is installed, or by
# OpenBLAS if --tune finds that faster.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "g++ | clang")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libdnnl2, openmpi-bin")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libopenblas0")
include(CPack)
