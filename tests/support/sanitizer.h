/* SPDX-License-Identifier: Apache-2.0 */
/* TEST_SANITIZED: 1 where a sanitizer keeps memory of its own and takes over malloc. */
#ifndef TEST_SUPPORT_SANITIZER_H
#define TEST_SUPPORT_SANITIZER_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define TEST_SANITIZED 1
#endif
#endif
#ifndef TEST_SANITIZED
#define TEST_SANITIZED 0
#endif

#endif
