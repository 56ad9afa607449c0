/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka.h with what it needs before it, and checks of a refusal. */
#ifndef TEST_SUPPORT_CMOCKA_ALL_H
#define TEST_SUPPORT_CMOCKA_ALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "attn/attn.h"

/* The status, and a reason of one line that contains each of the texts (NULL: nothing more). */
static inline void test_assert_refused(attn_status status, attn_status expected, const attn_reason *reason,
                                       const char *text, const char *other_text) {
    if (status != expected) fail_msg("status %d, not %d; reason: %s", (int)status, (int)expected, reason->text);
    assert_int_not_equal(strlen(reason->text), 0);
    assert_true(strlen(reason->text) < sizeof reason->text);
    assert_null(strchr(reason->text, '\n'));
    if (text && !strstr(reason->text, text)) fail_msg("reason without \"%s\": %s", text, reason->text);
    if (other_text && !strstr(reason->text, other_text))
        fail_msg("reason without \"%s\": %s", other_text, reason->text);
}

/* Success, and an empty reason. */
static inline void test_assert_ok(attn_status status, const attn_reason *reason) {
    if (status != ATTN_OK) fail_msg("status %d: %s", (int)status, reason->text);
    assert_string_equal(reason->text, "");
}

#endif
