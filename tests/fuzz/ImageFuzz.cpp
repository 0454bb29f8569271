//===- ImageFuzz.cpp - Any bytes as the image of a program -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first byte names one of imagePrograms(); the others are changes to its image (Change). The image is then sealed,
// as a checksum would refuse all of them else. Every check of the tables must hold what the runtime relies on: what
// passes is described, as --info does, and its memory and messages are worked out.
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/Checksum.h"
#include "runtime/core/Error.h"
#include "runtime/image/Block.h"
#include "runtime/launch/Info.h"
#include "tests/fuzz/ImagePrograms.h"
#include "tests/fuzz/Target.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace dtcc;

/// Walks over what a rank would do with its states and inputs.
static void walk(const rt::Image &image, int64_t number) {
  rt::ThreadTeam team(1);
  rt::Rank rank(image, number, team, /*seed=*/0);
  for (const dtcc_communicator &communicator : image.communicators())
    if (image.mesh().sizeOf(communicator) <= 64 && image.mesh().extent(communicator.axes) <= 64)
      image.mesh().members(communicator, number);
  for (uint32_t view = 0; view < image.views().size(); ++view)
    if (int64_t first = rank.offset(view);
        rt::elementCount(image.views()[view]) > 0 &&
        static_cast<uint64_t>(first) >= image.arenas()[image.views()[view].arena].bytes)
      std::abort(); // the view lies outside of its arena
  for (const dtcc_state &state : rank.states()) {
    rt::StateLayout layout = rt::layoutOf(image, state);
    rt::HeldRuns runs(image.mesh(), layout, rank.coordinates.data(), nullptr);
    rt::Run run;
    for (int i = 0; i < 64 && runs.next(run); ++i)
      ;
    rt::ownsCells(image.mesh(), layout, rank.coordinates.data());
  }
}

/// Writes the 1, 2, 4 or 8 low bytes of `value` to the place of that width with the number `place`, from the start
/// again behind the end. Twelve bytes of input.
struct Change {
  uint32_t widthAndPlace; /* two bits, thirty bits */
  uint8_t value[8];
};

static void applyChange(const Change &change, std::vector<uint64_t> &image) {
  size_t width = size_t(1) << (change.widthAndPlace & 3), places = image.size() * 8 / width;
  std::memcpy(reinterpret_cast<char *>(image.data()) + (change.widthAndPlace >> 2) % places * width, change.value,
              width);
}

/// Reads the image and works out what a run would.
static void use(const std::vector<uint64_t> &bytes) {
  rt::Image image(bytes.data(), fuzz::kImageKernels);
  for (int64_t number : {int64_t(0), image.mesh().ranks() - 1})
    walk(image, number);
  rt::infoText(image, rt::Forecast::of(image), {});
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const std::vector<std::vector<uint64_t>> programs = [] {
    std::vector<std::vector<uint64_t>> all = fuzz::imagePrograms();
    for (const std::vector<uint64_t> &program : all)
      use(program); // ends the process if one is refused: nothing would be tried then
    return all;
  }();
  if (size == 0)
    return 0;
  static std::vector<uint64_t> bytes;
  bytes = programs[data[0] % programs.size()];
  for (size_t at = 1; at + sizeof(Change) <= size; at += sizeof(Change)) {
    Change change;
    std::memcpy(&change, data + at, sizeof change);
    applyChange(change, bytes);
  }
  auto *header = reinterpret_cast<dtcc_image_header *>(bytes.data());
  header->magic = DTCC_ABI_MAGIC;
  header->abi_version = DTCC_ABI_VERSION;
  header->image_bytes = bytes.size() * 8;
  dtcc_seal(header);
  try {
    use(bytes);
  } catch (const rt::Error &) {
  }
  return 0;
}
