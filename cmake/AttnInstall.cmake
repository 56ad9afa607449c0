# SPDX-License-Identifier: Apache-2.0
# Installs the library, its header, attn.pc and the CMake package; the command installs itself (cli/CMakeLists.txt).

include(CMakePackageConfigHelpers)

set(libraries attn)
if(ATTN_BUILD_BOTH)
    list(APPEND libraries attn_static)
endif()

install(TARGETS ${libraries} EXPORT attnTargets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}"
    INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/attn" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    FILES_MATCHING PATTERN "*.h")

# ---- CMake package

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/attn")
configure_package_config_file(cmake/attnConfig.cmake.in "${PROJECT_BINARY_DIR}/attnConfig.cmake"
    INSTALL_DESTINATION "${package_dir}")
# Structs may grow with a minor version as long as the major one is 0, so that another minor version does not do.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/attnConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/attnConfig.cmake" "${PROJECT_BINARY_DIR}/attnConfigVersion.cmake"
    DESTINATION "${package_dir}")
install(EXPORT attnTargets NAMESPACE attn:: DESTINATION "${package_dir}")

# ---- pkg-config: paths relative to the file, so that an installed tree may move

if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
    set(ATTN_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
    set(ATTN_PC_INCLUDEDIR "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
    set(ATTN_PC_LIBDIR "${CMAKE_INSTALL_FULL_LIBDIR}")
else()
    file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
    string(REGEX REPLACE "/$" "" up "${up}")
    set(ATTN_PC_PREFIX "\${pcfiledir}/${up}")
    set(ATTN_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
    set(ATTN_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
set(ATTN_PC_LIBS "-L\${libdir} -lattn")
get_target_property(type attn TYPE)
if(type STREQUAL "STATIC_LIBRARY")
    # There is no shared library that could bring them: whoever links needs them, with --static or without.
    string(APPEND ATTN_PC_LIBS " -lm -lpthread")
endif()
configure_file(cmake/attn.pc.in "${PROJECT_BINARY_DIR}/attn.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/attn.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

# ---- uninstall

if(NOT TARGET uninstall)
    configure_file(cmake/uninstall.cmake.in "${PROJECT_BINARY_DIR}/uninstall.cmake" @ONLY)
    add_custom_target(uninstall
        COMMAND "${CMAKE_COMMAND}" -P "${PROJECT_BINARY_DIR}/uninstall.cmake"
        COMMENT "Removing what the last install wrote" VERBATIM)
endif()
