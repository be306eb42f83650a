// SPDX-License-Identifier: Apache-2.0
// Calls a kernel as inputs of a fuzzer say, for a build with sanitizers: `replay KERNEL FILE..`.
//
// A file is a byte of options, two of length, a command of that length, and device memory. As for
// the fuzzers, rows and steps are cut and checksums put right before the kernel runs; and each
// memory is a block of its own. That a result stays within the room that the command names is for
// the fuzzers and the suite: the room here is that of the largest one.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "common/platform.hpp"

using nearscan::line_t;

extern "C" uint32_t ns_model_scan(const uint64_t* command, const line_t* input,
                                  uint64_t input_bytes, uint64_t* output, uint64_t output_bytes,
                                  uint64_t* scratch, uint64_t scratch_bytes, const uint32_t* cancel,
                                  uint32_t declared_depths);
extern "C" uint32_t ns_model_merge(const uint64_t* command, const line_t* input,
                                   uint64_t input_bytes, uint64_t* output, uint64_t output_bytes,
                                   const uint32_t* cancel);

namespace {

using bytes_t = std::vector<uint8_t>;

/// Of a command, and of the bits of key filters behind it.
const uint64_t COMMAND_BYTES = 65536 + 131072;
const uint64_t ROOM_BYTES = 1u << 20;
const uint64_t SCAN_ROWS_MAX = (1u << 15) - 1;
const uint64_t SCAN_STEPS_MAX = (1u << 24) - 1;
const uint64_t MERGE_STEPS_MAX = (1u << 20) - 1;

uint64_t number(const bytes_t& bytes, size_t at, size_t size) {
  uint64_t value = 0;
  if (at + size <= bytes.size()) std::memcpy(&value, &bytes[at], size);
  return value;
}

void put(bytes_t& bytes, size_t at, size_t size, uint64_t value) {
  if (at + size <= bytes.size()) std::memcpy(&bytes[at], &value, size);
}

uint32_t crc32c(const bytes_t& bytes, size_t first, size_t size) {
  uint32_t sum = ~0u;
  for (size_t at = first; at < first + size; at++) {
    sum ^= bytes[at];
    for (int bit = 0; bit < 8; bit++) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0x82f63b78u : 0u);
  }
  return ~sum;
}

void cut(bytes_t& command, size_t at, uint64_t most) {
  const uint64_t value = number(command, at, 8);
  if (value > most) put(command, at, 8, most == ~0ull ? value : value % (most + 1));
}

void sign_command(bytes_t& command) {
  put(command, 8, 4, command.size());
  put(command, 12, 4, 0);
  put(command, 12, 4, crc32c(command, 0, command.size()));
}

void sign_results(bytes_t& memory) {
  for (size_t at = 0; at + 256 <= memory.size(); at += 64) {
    if (std::memcmp(&memory[at], "NSRS", 4) != 0) continue;
    const uint64_t payload = number(memory, at + 88, 8);
    if (payload <= memory.size() - at - 256) {
      put(memory, at + 16, 4, crc32c(memory, at + 256, payload));
    }
    put(memory, at + 12, 4, 0);
    put(memory, at + 12, 4, crc32c(memory, at, 256));
  }
}

/// Runs one input; what is wrong with it is a sanitizer's to say, or stages that wait for ever.
bool run(bool merges, const bytes_t& file) {
  if (file.size() < 3) return true;
  const size_t said = file[1] | file[2] << 8;
  const size_t length = said < file.size() - 3 ? said : file.size() - 3;
  bytes_t command(file.begin() + 3, file.begin() + 3 + length);
  bytes_t memory(file.begin() + 3 + length, file.end());
  memory.resize((memory.size() + 63) / 64 * 64, 0);
  if (merges) sign_results(memory);
  cut(command, 88, merges ? MERGE_STEPS_MAX : SCAN_STEPS_MAX);
  if (!merges) cut(command, 96, SCAN_ROWS_MAX);
  sign_command(command);
  const uint64_t wanted = number(command, 104, 8);
  const uint64_t scratch_bytes = wanted < ROOM_BYTES ? wanted / 8 * 8 : ROOM_BYTES;

  std::vector<uint64_t> words(COMMAND_BYTES / 8, 0);
  if (!command.empty()) std::memcpy(words.data(), command.data(), command.size());
  std::vector<line_t> input(memory.size() / 64);
  if (!memory.empty()) std::memcpy(input.data(), memory.data(), memory.size());
  std::vector<uint64_t> output(ROOM_BYTES / 8, 0);
  std::vector<uint64_t> scratch(scratch_bytes / 8, 0);
  const uint32_t cancel = 0;
  const uint32_t outcome =
      merges ? ns_model_merge(words.data(), input.data(), memory.size(), output.data(),
                              ROOM_BYTES, &cancel)
             : ns_model_scan(words.data(), input.data(), memory.size(), output.data(), ROOM_BYTES,
                             scratch.data(), scratch_bytes, &cancel, file[0] & 1u);
  return outcome != 2 && (outcome == 1 || std::memcmp(output.data(), "NSRS", 4) == 0);
}

}  // namespace

int main(int count, char** arguments) {
  const bool merges = count > 1 && std::string(arguments[1]) == "merge";
  int failures = 0;
  for (int index = 2; index < count; index++) {
    std::ifstream stream(arguments[index], std::ios::binary);
    const bytes_t file((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    if (run(merges, file)) continue;
    std::printf("%s: no result\n", arguments[index]);
    failures++;
  }
  std::printf("%d inputs, %d failures\n", count - 2, failures);
  return failures == 0 && count > 2 ? 0 : 1;
}
