// SPDX-License-Identifier: Apache-2.0
// Makes a table: so many pieces as the first argument says.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "application.h"

bool exports_nearscan_drive_table_function_schema(application_list_string_t *arguments,
                                                  application_list_u8_t *ret,
                                                  application_string_t *err) {
  if (arguments->len != 1) {
    application_string_dup(err, "give a number");
    return false;
  }
  ret->ptr = (uint8_t *)strdup("number");
  ret->len = 6;
  return true;
}

bool exports_nearscan_drive_table_function_produce(application_list_string_t *arguments,
                                                   application_string_t *err) {
  char digits[32] = {0};
  memcpy(digits, arguments->ptr[0].ptr, arguments->ptr[0].len);
  for (int at = 0; at < atoi(digits); at++) {
    char line[32];
    application_list_u8_t piece = {(uint8_t *)line, snprintf(line, sizeof line, "%d\n", at)};
    nearscan_drive_output_error_t error;
    if (!nearscan_drive_output_write(&piece, &error)) {
      application_string_dup(err, "nobody reads");
      return false;
    }
  }
  return true;
}
