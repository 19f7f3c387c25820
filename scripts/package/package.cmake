# Makes the Debian package for `cpack` in the build folder, with its documents.

set(CPACK_GENERATOR DEB)
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};${PROJECT_NAME};program;/")
set(CPACK_PACKAGE_CONTACT "cleave developers <cleave@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "split machine-learning models for an accelerator")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
    GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# The library by which drawings are laid out is loaded by its name, so it is no dependency.
string(REGEX REPLACE "lib(gvc)[.]so[.]([0-9]+)" "lib\\1\\2" CPACK_DEBIAN_PACKAGE_RECOMMENDS "${CLEAVE_GVC}")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
string(CONCAT CPACK_DEBIAN_PACKAGE_DESCRIPTION  # lines of less than 80 columns
  "cleave reads a model (ONNX, or its own graph JSON) and a list of what an\n"
  "accelerator can run. It finds the nodes that the accelerator takes, cuts the\n"
  "graph into as few accelerator and CPU partitions as it can, and writes the\n"
  "pieces as models that run.\n\n"
  "For every node that stays on the CPU it says why; it gates the coverage in a\n"
  "CI, tells which operator to support next, and cuts models into the stages of\n"
  "a pipeline.")

# As Debian wants them: copyright, what changed in the program and what in the package.
find_program(GZIP gzip)
if(GZIP)
  set(package_files ${PROJECT_BINARY_DIR}/package)
  foreach(document copyright changelog)
    configure_file(${CMAKE_CURRENT_LIST_DIR}/${document} ${package_files}/${document} @ONLY)
  endforeach()
  add_custom_command(OUTPUT ${package_files}/changelog.gz ${package_files}/changelog.Debian.gz
    COMMAND ${GZIP} -9nc ${PROJECT_SOURCE_DIR}/CHANGELOG.md > ${package_files}/changelog.gz
    COMMAND ${GZIP} -9nc ${package_files}/changelog > ${package_files}/changelog.Debian.gz
    DEPENDS ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${package_files}/changelog VERBATIM)
  add_custom_target(package_files ALL DEPENDS ${package_files}/changelog.gz)
  install(FILES ${package_files}/copyright ${package_files}/changelog.gz
                ${package_files}/changelog.Debian.gz
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/cleave)
endif()

include(CPack)

# The program for scripts/package/portable.py: it finds its shared libraries in ../lib, those that they
# need, too, as DT_RPATH does and DT_RUNPATH does not.
add_executable(cleave_portable EXCLUDE_FROM_ALL $<TARGET_OBJECTS:cleave>)
target_link_libraries(cleave_portable PRIVATE cleave_shelves cleave_flags spdlog::spdlog
  tomlplusplus::tomlplusplus)
target_link_options(cleave_portable PRIVATE -Wl,--disable-new-dtags)
set_target_properties(cleave_portable PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME cleave
                      BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/../lib"
                      RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/portable)
