// SPDX-License-Identifier: Apache-2.0
// Appends a line for each event to the object `log` of the collection `raw`: what happened, to
// which object, at which version and attempt. An object whose name says so fails as often.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "application.h"

static const char *const CHANGES[] = {"created", "written", "removed", "attributes-changed"};

static int describe(const nearscan_drive_types_event_t *event, char *line, size_t size) {
  const nearscan_drive_types_subject_t *subject = &event->subject;
  switch (subject->tag) {
    case NEARSCAN_DRIVE_TYPES_SUBJECT_OBJECT: {
      const nearscan_drive_types_object_event_t *object = &subject->val.object;
      const application_string_t *name = &object->object.name;
      return snprintf(line, size, "%s %.*s %llu attempt %u\n", CHANGES[object->change],
                      (int)name->len, (const char *)name->ptr, (unsigned long long)object->version,
                      event->attempt);
    }
    case NEARSCAN_DRIVE_TYPES_SUBJECT_FLASH:
      return snprintf(line, size, "flash %.*s %llu\n", (int)subject->val.flash.kind.len,
                      (const char *)subject->val.flash.kind.ptr,
                      (unsigned long long)subject->val.flash.block);
    case NEARSCAN_DRIVE_TYPES_SUBJECT_APPLICATION:
      return snprintf(line, size, "event %.*s %.*s\n", (int)subject->val.application.name.len,
                      (const char *)subject->val.application.name.ptr,
                      (int)subject->val.application.payload.len,
                      (const char *)subject->val.application.payload.ptr);
    default:
      return snprintf(line, size, "fault %.*s %.*s\n", (int)subject->val.fault.application.len,
                      (const char *)subject->val.fault.application.ptr,
                      (int)subject->val.fault.kind.len, (const char *)subject->val.fault.kind.ptr);
  }
}

// An object `fail-2` fails at its first two attempts.
static bool fails(const nearscan_drive_types_event_t *event) {
  if (event->subject.tag != NEARSCAN_DRIVE_TYPES_SUBJECT_OBJECT) return false;
  const application_string_t *name = &event->subject.val.object.object.name;
  return name->len == 6 && !memcmp(name->ptr, "fail-", 5) &&
         event->attempt <= (uint32_t)(name->ptr[5] - '0');
}

bool exports_nearscan_drive_event_handler_handle(nearscan_drive_types_event_t *event,
                                                 application_string_t *err) {
  char line[256];
  application_string_t collection, name;
  application_string_set(&collection, "raw");
  application_string_set(&name, "log");
  application_list_u8_t bytes = {(uint8_t *)line, describe(event, line, sizeof line)};
  nearscan_drive_objects_condition_t always = {0};
  nearscan_drive_objects_object_info_t info;
  nearscan_drive_objects_error_t error;
  if (!nearscan_drive_objects_append(&collection, &name, &bytes, &always, &info, &error)) {
    *err = error.val.not_found;
    return false;
  }
  nearscan_drive_objects_object_info_free(&info);
  if (!fails(event)) return true;
  application_string_dup(err, "not this time");
  return false;
}
