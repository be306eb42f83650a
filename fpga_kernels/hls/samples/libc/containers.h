// SPDX-License-Identifier: Apache-2.0
// Stands for a header of the C++ standard library.
#pragma once

namespace std {

template <typename T>
struct vector {
  T first;
};

}  // namespace std
