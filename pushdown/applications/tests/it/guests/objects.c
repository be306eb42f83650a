// SPDX-License-Identifier: Apache-2.0
// Calls each function on objects, attributes and sinks once, and answers what came of it, a line
// each.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "application.h"

static char answer[4096];
static size_t length;

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  length += vsnprintf(answer + length, sizeof answer - length, format, arguments);
  va_end(arguments);
}

static application_string_t text(const char *from) {
  application_string_t to;
  application_string_set(&to, from);
  return to;
}

static application_list_u8_t bytes_of(const char *from) {
  application_list_u8_t to = {(uint8_t *)from, strlen(from)};
  return to;
}

static void say_bytes(const char *what, bool is_done, const application_list_u8_t *bytes) {
  if (is_done) say("%s: %.*s\n", what, (int)bytes->len, (const char *)bytes->ptr);
  else say("%s: error\n", what);
}

static void say_info(const char *what, bool is_done,
                     const nearscan_drive_types_object_info_t *info) {
  if (!is_done) {
    say("%s: error\n", what);
    return;
  }
  say("%s: %.*s %.*s %llu\n", what, (int)info->collection.len, (const char *)info->collection.ptr,
      (int)info->name.len, (const char *)info->name.ptr, (unsigned long long)info->length);
}

static const char *const ERRORS[] = {"not-found", "exists",    "conflict", "denied",
                                     "quota",     "too-large", "invalid",  "unavailable"};

static void write_object(application_string_t raw) {
  nearscan_drive_objects_error_t error;
  nearscan_drive_objects_object_info_t info;
  nearscan_drive_objects_own_writer_t own;
  nearscan_drive_objects_condition_t absent = {.tag = NEARSCAN_DRIVE_TYPES_CONDITION_ABSENT};
  application_string_t name = text("made"), key = text("color");
  application_list_u8_t red = bytes_of("red"), first = bytes_of("01234"), second = bytes_of("567");
  if (!nearscan_drive_objects_static_writer_create(&raw, &name, &absent, &own, &error)) return;
  nearscan_drive_objects_borrow_writer_t writer = nearscan_drive_objects_borrow_writer(own);
  nearscan_drive_objects_method_writer_write(writer, &first, &error);
  nearscan_drive_objects_method_writer_write(writer, &second, &error);
  nearscan_drive_objects_method_writer_attribute(writer, &key, &red, &error);
  bool is_done = nearscan_drive_objects_info(&raw, &name, &info, &error);
  say("before the commit: %s\n", is_done ? "there" : ERRORS[error.tag]);
  is_done = nearscan_drive_objects_method_writer_commit(writer, &info, &error);
  say_info("commit", is_done, &info);
  nearscan_drive_objects_condition_t other = {.tag = NEARSCAN_DRIVE_TYPES_CONDITION_VERSION,
                                              .val.version = info.version + 1};
  is_done = nearscan_drive_objects_method_writer_commit(writer, &info, &error);
  say("commit again: %s\n", is_done ? "done" : ERRORS[error.tag]);
  nearscan_drive_objects_writer_drop_own(own);
  is_done = nearscan_drive_objects_static_writer_create(&raw, &name, &absent, &own, &error);
  say("create again: %s\n", is_done ? "done" : ERRORS[error.tag]);
  is_done = nearscan_drive_objects_append(&raw, &name, &red, &other, &info, &error);
  say("append to another version: %s\n", is_done ? "done" : ERRORS[error.tag]);
}

static void read_object(application_string_t raw) {
  nearscan_drive_objects_error_t error;
  nearscan_drive_objects_object_info_t info;
  nearscan_drive_objects_own_reader_t own;
  application_list_u8_t bytes;
  application_string_t name = text("made"), none = text("");
  say_info("info", nearscan_drive_objects_info(&raw, &name, &info, &error), &info);
  if (!nearscan_drive_objects_static_reader_open(&raw, &name, &own, &error)) return;
  nearscan_drive_objects_borrow_reader_t reader = nearscan_drive_objects_borrow_reader(own);
  nearscan_drive_objects_method_reader_info(reader, &info);
  say_info("reader", true, &info);
  bool is_done = nearscan_drive_objects_method_reader_read(reader, 6, 10, &bytes, &error);
  say_bytes("read", is_done, &bytes);
  is_done = nearscan_drive_objects_method_reader_read(reader, 9, 1, &bytes, &error);
  say("read behind the end: %s\n", is_done ? "done" : ERRORS[error.tag]);
  for (int at = 0; at < 3; at++) {
    is_done = nearscan_drive_objects_method_reader_next(reader, 5, &bytes, &error);
    say_bytes("next", is_done, &bytes);
  }
  nearscan_drive_objects_reader_drop_own(own);
  nearscan_drive_objects_list_object_info_t found;
  if (nearscan_drive_objects_list(&raw, &none, NULL, 10, &found, &error))
    for (size_t at = 0; at < found.len; at++) say_info("list", true, &found.ptr[at]);
  if (nearscan_drive_objects_list(&raw, &none, &found.ptr[0].name, 1, &found, &error))
    for (size_t at = 0; at < found.len; at++) say_info("list the next", true, &found.ptr[at]);
}

static void attributes(application_string_t raw, application_string_t *object) {
  nearscan_drive_attributes_error_t error;
  application_list_u8_t bytes, blue = bytes_of("blue");
  application_list_string_t names;
  application_string_t key = text("sky");
  bool is_done = nearscan_drive_attributes_set(&raw, object, &key, &blue, &error);
  say("set: %s\n", is_done ? "done" : ERRORS[error.tag]);
  say_bytes("get", nearscan_drive_attributes_get(&raw, object, &key, &bytes, &error), &bytes);
  if (nearscan_drive_attributes_names(&raw, object, &names, &error))
    for (size_t at = 0; at < names.len; at++)
      say("name: %.*s\n", (int)names.ptr[at].len, (const char *)names.ptr[at].ptr);
  is_done = nearscan_drive_attributes_remove(&raw, object, &key, &error);
  say("remove: %s\n", is_done ? "done" : ERRORS[error.tag]);
  is_done = nearscan_drive_attributes_get(&raw, object, &key, &bytes, &error);
  say("get: %s\n", is_done ? "done" : ERRORS[error.tag]);
}

static void sink(application_string_t raw) {
  nearscan_drive_tables_error_t error;
  nearscan_drive_tables_object_info_t info;
  nearscan_drive_tables_own_sink_t own;
  nearscan_drive_tables_condition_t always = {0};
  application_string_t column = text("a");
  nearscan_drive_tables_layout_t layout = {.sort_by = {&column, 1}};
  nearscan_drive_tables_object_name_t target = {raw, text("table")};
  application_list_u8_t piece = bytes_of("rows");
  if (!nearscan_drive_tables_static_sink_create(&target, &always, &layout, &own, &error)) return;
  nearscan_drive_tables_borrow_sink_t to = nearscan_drive_tables_borrow_sink(own);
  bool is_done = nearscan_drive_tables_method_sink_write(to, &piece, &error);
  say("sink: %s\n", is_done ? "done" : ERRORS[error.tag]);
  say_info("commit", nearscan_drive_tables_method_sink_commit(to, &info, &error), &info);
  is_done = nearscan_drive_tables_method_sink_write(to, &piece, &error);
  say("write after the commit: %s\n", is_done ? "done" : ERRORS[error.tag]);
  nearscan_drive_tables_sink_drop_own(own);
  is_done = nearscan_drive_output_write(&piece, &error);
  say("output without a query: %s\n", is_done ? "done" : ERRORS[error.tag]);
}

bool exports_nearscan_drive_command_run(application_list_string_t *arguments,
                                        application_list_u8_t *body, application_list_u8_t *ret,
                                        application_string_t *err) {
  (void)arguments;
  (void)body;
  (void)err;
  application_string_t raw = text("raw"), made = text("made"), line = text("a line");
  write_object(raw);
  read_object(raw);
  attributes(raw, &made);
  attributes(raw, NULL);
  sink(raw);
  nearscan_drive_log_write(NEARSCAN_DRIVE_LOG_LEVEL_WARN, &line);
  say("clocks: %d\n", nearscan_drive_clock_now() > nearscan_drive_clock_elapsed());
  ret->len = length;
  ret->ptr = (uint8_t *)strdup(answer);
  return true;
}
