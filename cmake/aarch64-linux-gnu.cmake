# SPDX-License-Identifier: Apache-2.0
# Cross build for 64-bit Arm Linux; ctest runs the result under qemu's user mode.
# Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user. ATTN_AARCH64_LIBRARIES may name a folder with more
# libraries for the target (usr/include, usr/lib/aarch64-linux-gnu), where cmocka and cJSON are then looked for.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)

list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ATTN_AARCH64_LIBRARIES)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu ${ATTN_AARCH64_LIBRARIES})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
