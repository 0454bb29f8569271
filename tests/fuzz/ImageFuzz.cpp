//===- ImageFuzz.cpp - Any bytes as the image of a program -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bytes are sealed, as a checksum would refuse all of them else. Every check of the tables must hold what the
// runtime relies on: what passes is described, as --info does, and its memory and messages are worked out.
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/Checksum.h"
#include "runtime/core/Error.h"
#include "runtime/image/Block.h"
#include "runtime/launch/Info.h"
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
    if (image.sizeOf(communicator) <= 64 && image.extent(communicator.axes) <= 64)
      image.members(communicator, number);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<uint64_t> bytes((std::max(size, sizeof(dtcc_image_header)) + 7) / 8);
  if (size > 0)
    std::memcpy(bytes.data(), data, size);
  auto *header = reinterpret_cast<dtcc_image_header *>(bytes.data());
  header->magic = DTCC_ABI_MAGIC;
  header->abi_version = DTCC_ABI_VERSION;
  header->image_bytes = bytes.size() * 8;
  dtcc_seal(header);
  try {
    rt::Image image(bytes.data(), /*kernelCount=*/4);
    for (int64_t number : {int64_t(0), image.ranks() - 1})
      walk(image, number);
    rt::infoText(image, rt::Forecast::of(image));
  } catch (const rt::Error &) {
  }
  return 0;
}
