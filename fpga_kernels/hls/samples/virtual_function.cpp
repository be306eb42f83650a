// SPDX-License-Identifier: Apache-2.0
// A sample that synthesis refuses; see check_synthesizable.py.
struct stage {
  virtual int run(int value) { return value; }  // refused
};
