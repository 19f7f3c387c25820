# The libraries for other programs, as the component `development`: headers in include/cleave,
# static libraries, and the files by which find_package(cleave) defines
#
#   cleave::core      the graph and the passes; needs nothing
#   cleave::formats   files, reports, and cleave/cleave.h, the header that programs should use
#   cleave::shelves   stages, compilers, advice, lint and checks
#
# Warning flags, precompiled headers and sanitizers are the build's own and are not handed on.
include(CMakePackageConfigHelpers)

set(CLEAVE_HEADERS ${CMAKE_INSTALL_INCLUDEDIR}/cleave)
set(CLEAVE_CONFIG ${CMAKE_INSTALL_LIBDIR}/cmake/cleave)

foreach(library core formats shelves)
  set_target_properties(cleave_${library} PROPERTIES EXPORT_NAME ${library})
  get_target_property(type cleave_${library} TYPE)
  if(NOT type STREQUAL "INTERFACE_LIBRARY")
    target_compile_features(cleave_${library} PUBLIC cxx_std_20)
  endif()
endforeach()

# The same names and header for a project that has cleave as a folder, by add_subdirectory().
file(WRITE ${PROJECT_BINARY_DIR}/include/cleave/cleave.h "#include \"formats/run/library/cleave.h\"\n")
add_library(cleave_in_tree INTERFACE)
target_link_libraries(cleave_in_tree INTERFACE cleave_formats)
target_include_directories(cleave_in_tree INTERFACE ${PROJECT_BINARY_DIR}/include)
add_library(cleave::formats ALIAS cleave_in_tree)
add_library(cleave::core ALIAS cleave_core)
add_library(cleave::shelves ALIAS cleave_shelves)

# Headers include each other from the folder that holds core and formats.
install(TARGETS cleave_core cleave_formats cleave_shelves EXPORT cleave
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} ${CLEAVE_HEADERS})
file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS core/*.h formats/*.h)
list(APPEND headers formats/tflite/schema.inc)  # rows of a table that a header declares
foreach(header IN LISTS headers)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION ${CLEAVE_HEADERS}/${folder} COMPONENT development)
endforeach()
install(FILES formats/run/library/cleave.h DESTINATION ${CLEAVE_HEADERS} COMPONENT development)

# Before 1.0 a minor version may change the functions of cleave.h.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cleave-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/cleave-config.cmake.in
                              ${PROJECT_BINARY_DIR}/cleave-config.cmake
                              INSTALL_DESTINATION ${CLEAVE_CONFIG})
install(FILES ${PROJECT_BINARY_DIR}/cleave-config.cmake
              ${PROJECT_BINARY_DIR}/cleave-config-version.cmake
        DESTINATION ${CLEAVE_CONFIG} COMPONENT development)
install(EXPORT cleave NAMESPACE cleave:: FILE cleave-targets.cmake DESTINATION ${CLEAVE_CONFIG}
        COMPONENT development)
