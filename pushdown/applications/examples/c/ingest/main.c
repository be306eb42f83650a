// SPDX-License-Identifier: Apache-2.0
// Makes a Parquet object of each CSV or JSON object that is written.
//
// The object `a.csv` of the collection `raw` becomes `a.csv.parquet` of the collection `tables`; if
// it is removed, that is removed too. What is done twice is as what is done once: the object is
// made anew from what is there.
#include <stdlib.h>
#include <string.h>

#include "application.h"

static const char TABLES[] = "tables";
static const char END[] = ".parquet";

// The name of the Parquet object.
static application_string_t named(const application_string_t *source) {
  application_string_t target;
  target.len = source->len + sizeof END - 1;
  target.ptr = malloc(target.len);
  memcpy(target.ptr, source->ptr, source->len);
  memcpy(target.ptr + source->len, END, sizeof END - 1);
  return target;
}

static bool is_gone(uint8_t tag) { return tag == NEARSCAN_DRIVE_TYPES_ERROR_NOT_FOUND; }

static bool convert(nearscan_drive_types_object_name_t *source,
                    nearscan_drive_types_object_name_t *target,
                    nearscan_drive_types_error_t *error) {
  nearscan_drive_types_condition_t always = {0};
  always.tag = NEARSCAN_DRIVE_TYPES_CONDITION_ALWAYS;
  nearscan_drive_tables_layout_t layout = {0};
  nearscan_drive_types_object_info_t info;
  // Without a format, the end of the name says it.
  if (!nearscan_drive_tables_convert(source, NULL, target, &always, &layout, &info, error))
    return false;
  nearscan_drive_types_object_info_free(&info);
  return true;
}

static bool discard(nearscan_drive_types_object_name_t *target,
                    nearscan_drive_types_error_t *error) {
  nearscan_drive_types_condition_t always = {0};
  always.tag = NEARSCAN_DRIVE_TYPES_CONDITION_ALWAYS;
  return nearscan_drive_objects_remove(&target->collection, &target->name, &always, error);
}

bool exports_nearscan_drive_event_handler_handle(nearscan_drive_types_event_t *event,
                                                 application_string_t *err) {
  if (event->subject.tag != NEARSCAN_DRIVE_TYPES_SUBJECT_OBJECT) return true;
  nearscan_drive_types_object_event_t *object = &event->subject.val.object;
  nearscan_drive_types_object_name_t target;
  application_string_set(&target.collection, TABLES);
  target.name = named(&object->object.name);

  nearscan_drive_types_error_t error;
  bool is_removed = object->change == NEARSCAN_DRIVE_TYPES_CHANGE_REMOVED;
  bool is_done = is_removed ? discard(&target, &error) : convert(&object->object, &target, &error);
  free(target.name.ptr);
  // A later event has removed the object, or an earlier delivery has.
  if (is_done || is_gone(error.tag)) return true;
  *err = error.val.not_found;  // Every case has a text.
  return false;
}
