# SPDX-License-Identifier: Apache-2.0
# What every target of this project is compiled with, and how its optional libraries are found.

include(CheckCCompilerFlag)

# -ffp-contract=off: a fused multiply-add is written where it is meant, so that results do not hang on the compiler.
set(ATTN_COMPILE_OPTIONS -Wall -Wextra -Wshadow -Wconversion -Wpedantic -ffp-contract=off)
if(ATTN_WERROR)
    list(APPEND ATTN_COMPILE_OPTIONS -Werror)
endif()

set(ATTN_LINK_OPTIONS "")
if(ATTN_SANITIZE)
    set(ATTN_SANITIZE_OPTIONS -fsanitize=${ATTN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    list(APPEND ATTN_COMPILE_OPTIONS ${ATTN_SANITIZE_OPTIONS})
    list(APPEND ATTN_LINK_OPTIONS ${ATTN_SANITIZE_OPTIONS})
endif()

function(attn_configure_target target)
    set_target_properties(${target} PROPERTIES
        C_STANDARD 11
        C_STANDARD_REQUIRED ON
        C_EXTENSIONS OFF
        C_VISIBILITY_PRESET hidden)
    target_compile_options(${target} PRIVATE ${ATTN_COMPILE_OPTIONS})
    target_link_options(${target} PRIVATE ${ATTN_LINK_OPTIONS})
endfunction()

# An imported target for a library that is one header and one file, for cross builds as well. Its absence is no error here:
# callers test for the target and say what is missing.
function(attn_find_library target header library)
    if(TARGET ${target})
        return()
    endif()
    string(MAKE_C_IDENTIFIER "ATTN_${library}" prefix)
    find_path(${prefix}_INCLUDE_DIR ${header})
    find_library(${prefix}_LIBRARY ${library})
    mark_as_advanced(${prefix}_INCLUDE_DIR ${prefix}_LIBRARY)
    if(${prefix}_INCLUDE_DIR AND ${prefix}_LIBRARY)
        add_library(${target} UNKNOWN IMPORTED GLOBAL)
        set_target_properties(${target} PROPERTIES
            IMPORTED_LOCATION "${${prefix}_LIBRARY}"
            INTERFACE_INCLUDE_DIRECTORIES "${${prefix}_INCLUDE_DIR}")
    endif()
endfunction()
