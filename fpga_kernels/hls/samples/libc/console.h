// SPDX-License-Identifier: Apache-2.0
// Stands for a header of the C library.
#pragma once

extern "C" int print_line(const char* line);
