// SPDX-License-Identifier: Apache-2.0
// Counts the rows of a table that a condition holds for, on the drive's kernels.
//
// Arguments: a collection, a prefix of the names of its objects, a condition in SQL. The answer is
// a line of JSON.
#include <stdlib.h>
#include <string.h>

#include "application.h"

// Gives an answer to the caller, who frees it.
static void answer(application_list_u8_t *to, const uint8_t *bytes, size_t length) {
  to->ptr = realloc(to->ptr, to->len + length + 1);
  memcpy(to->ptr + to->len, bytes, length);
  to->len += length;
}

bool exports_nearscan_drive_command_run(application_list_string_t *arguments,
                                        application_list_u8_t *body, application_list_u8_t *ret,
                                        application_string_t *err) {
  (void)body;
  if (arguments->len != 3) {
    application_string_dup(err, "give a collection, a prefix and a condition");
    return false;
  }
  application_string_t count;
  application_string_set(&count, "count(*) AS rows");
  nearscan_drive_tables_query_t query = {0};
  query.collection = arguments->ptr[0];
  query.objects.tag = NEARSCAN_DRIVE_TABLES_SELECTION_PREFIX;
  query.objects.val.prefix = arguments->ptr[1];
  query.filter.is_some = true;
  query.filter.val = arguments->ptr[2];
  query.aggregates.ptr = &count;
  query.aggregates.len = 1;
  query.encoding = NEARSCAN_DRIVE_TABLES_ENCODING_JSON_LINES;

  nearscan_drive_tables_own_batches_t batches;
  nearscan_drive_tables_error_t error;
  if (!nearscan_drive_tables_scan(&query, &batches, &error)) {
    *err = error.val.not_found;  // Every case has a text.
    return false;
  }
  ret->ptr = NULL;
  ret->len = 0;
  bool is_done = false;
  while (!is_done) {
    application_option_list_u8_t piece;
    if (!nearscan_drive_tables_method_batches_next(nearscan_drive_tables_borrow_batches(batches),
                                                   &piece, &error)) {
      *err = error.val.not_found;
      nearscan_drive_tables_batches_drop_own(batches);
      return false;
    }
    is_done = !piece.is_some;
    if (piece.is_some) {
      answer(ret, piece.val.ptr, piece.val.len);
      application_option_list_u8_free(&piece);
    }
  }
  nearscan_drive_tables_batches_drop_own(batches);
  return true;
}
