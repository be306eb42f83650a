// SPDX-License-Identifier: Apache-2.0
// Tries to get out of the sandbox, in the way that the first argument names. What is refused is the
// answer; what breaks a rule never comes back.
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "application.h"

extern char **environ;

static application_string_t text(const char *from) {
  application_string_t to;
  application_string_set(&to, from);
  return to;
}

static void say(application_list_u8_t *ret, const char *what) {
  ret->len = strlen(what);
  ret->ptr = (uint8_t *)strdup(what);
}

static void say_error(application_list_u8_t *ret, const nearscan_drive_types_error_t *error) {
  static const char *const NAMES[] = {"not-found", "exists",    "conflict", "denied",
                                      "quota",     "too-large", "invalid",  "unavailable"};
  say(ret, NAMES[error->tag]);
}

static void say_file(application_list_u8_t *ret, const char *path, const char *mode) {
  say(ret, fopen(path, mode) == NULL ? strerror(errno) : "open");
}

static int deeper(volatile int *count) {
  volatile int here[64];
  here[0] = ++*count;
  return *count == 0 ? 0 : deeper(count) + here[0];
}

static void objects(const char *how, application_list_u8_t *ret) {
  nearscan_drive_objects_error_t error = {0};
  nearscan_drive_objects_object_info_t info;
  nearscan_drive_objects_own_reader_t reader;
  nearscan_drive_objects_own_writer_t writer;
  application_list_u8_t bytes;
  application_string_t secret = text("secret"), raw = text("raw"), name = text("a");
  nearscan_drive_objects_condition_t always = {0};
  bool is_done = true;
  if (!strcmp(how, "read-secret")) {
    is_done = nearscan_drive_objects_static_reader_open(&secret, &name, &reader, &error);
  } else if (!strcmp(how, "info-secret")) {
    is_done = nearscan_drive_objects_info(&secret, &name, &info, &error);
  } else if (!strcmp(how, "write-secret")) {
    is_done = nearscan_drive_objects_static_writer_create(&secret, &name, &always, &writer, &error);
  } else if (!strcmp(how, "remove-secret")) {
    is_done = nearscan_drive_objects_remove(&secret, &name, &always, &error);
  } else if (!strcmp(how, "attribute-secret")) {
    is_done = nearscan_drive_attributes_get(&secret, NULL, &name, &bytes, &error);
  } else if (!strcmp(how, "install")) {
    application_string_t system = text("_system/applications");
    is_done = nearscan_drive_objects_static_writer_create(&system, &name, &always, &writer, &error);
  } else if (!strcmp(how, "traverse")) {
    application_string_t up = text("../../etc/passwd");
    is_done = nearscan_drive_objects_static_reader_open(&raw, &up, &reader, &error);
  } else if (!strcmp(how, "many-writers")) {
    while (nearscan_drive_objects_static_writer_create(&raw, &name, &always, &writer, &error)) {
    }
  } else if (!strcmp(how, "use-closed")) {
    is_done = nearscan_drive_objects_static_reader_open(&raw, &name, &reader, &error);
    nearscan_drive_objects_reader_drop_own(reader);
    nearscan_drive_objects_borrow_reader_t closed = {reader.__handle};
    is_done = nearscan_drive_objects_method_reader_next(closed, 1, &bytes, &error);
  } else if (!strcmp(how, "guess-handle")) {
    nearscan_drive_objects_borrow_writer_t guessed = {7};
    bytes.len = 0;
    is_done = nearscan_drive_objects_method_writer_write(guessed, &bytes, &error);
  }
  if (is_done) say(ret, "done");
  else say_error(ret, &error);
}

static void lists(const char *how, application_list_u8_t *ret) {
  nearscan_drive_objects_error_t error = {0};
  nearscan_drive_objects_object_info_t info;
  application_string_t raw = text("raw"), name = text("a");
  nearscan_drive_objects_condition_t always = {0};
  bool is_done = true;
  if (!strcmp(how, "outside")) {
    application_list_u8_t huge = {(uint8_t *)16, 0xfffffff0u};
    is_done = nearscan_drive_objects_append(&raw, &name, &huge, &always, &info, &error);
  } else {
    // Many texts that are all the same bytes: little in the application, much in the host.
    size_t count = 100000, length = 1 << 20;
    uint8_t *shared = calloc(length, 1);
    application_string_t *columns = malloc(count * sizeof *columns);
    for (size_t at = 0; at < count; at++) {
      columns[at].ptr = shared;
      columns[at].len = length;
    }
    nearscan_drive_tables_query_t query = {0};
    nearscan_drive_tables_own_batches_t batches;
    query.collection = raw;
    query.objects.tag = NEARSCAN_DRIVE_TABLES_SELECTION_PREFIX;
    query.objects.val.prefix = name;
    query.columns.ptr = columns;
    query.columns.len = count;
    is_done = nearscan_drive_tables_scan(&query, &batches, &error);
  }
  if (is_done) say(ret, "done");
  else say_error(ret, &error);
}

static void wait(const char *how) {
  if (!strcmp(how, "sleep")) sleep(3600);
  if (!strcmp(how, "scan")) {
    nearscan_drive_tables_error_t error;
    nearscan_drive_tables_query_t query = {0};
    nearscan_drive_tables_own_batches_t batches;
    query.collection = text("raw");
    query.objects.tag = NEARSCAN_DRIVE_TABLES_SELECTION_PREFIX;
    query.objects.val.prefix = text("a");
    query.filter.is_some = true;
    query.filter.val = text("wait");
    nearscan_drive_tables_scan(&query, &batches, &error);
  }
}

bool exports_nearscan_drive_command_run(application_list_string_t *arguments,
                                        application_list_u8_t *body, application_list_u8_t *ret,
                                        application_string_t *err) {
  (void)body;
  (void)err;
  char how[64] = {0}, what[64] = {0};
  memcpy(how, arguments->ptr[0].ptr, arguments->ptr[0].len);
  if (arguments->len > 1) memcpy(what, arguments->ptr[1].ptr, arguments->ptr[1].len);
  say(ret, "nothing");
  if (!strcmp(how, "file")) say_file(ret, what, "r");
  if (!strcmp(how, "make-file")) say_file(ret, what, "w");
  if (!strcmp(how, "folder")) say(ret, opendir("/") == NULL ? strerror(errno) : "open");
  if (!strcmp(how, "variable")) say(ret, environ && environ[0] ? environ[0] : "none");
  if (!strcmp(how, "input")) say(ret, getchar() == EOF ? "none" : "input");
  if (!strcmp(how, "socket")) say(ret, accept(3, NULL, NULL) < 0 ? strerror(errno) : "open");
  if (!strcmp(how, "print"))
    for (int line = 0; line < 10000; line++) printf("line %d\n", line), fflush(stdout);
  if (!strcmp(how, "exit")) exit(7);
  if (!strcmp(how, "abort")) abort();
  if (!strcmp(how, "memory"))
    // The compiler must not see that nobody reads it.
    for (char *volatile block;;) memset(block = malloc(1 << 20), 1, 1 << 20);
  if (!strcmp(how, "stack")) {
    volatile int count = 0;
    deeper(&count);
  }
  if (!strcmp(how, "object")) objects(what, ret);
  if (!strcmp(how, "list")) lists(what, ret);
  if (!strcmp(how, "wait")) wait(what);
  if (!strcmp(how, "clock")) {
    char seconds[32];
    snprintf(seconds, sizeof seconds, "%lld", (long long)time(NULL));
    say(ret, seconds);
  }
  return true;
}
