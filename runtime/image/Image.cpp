//===- Image.cpp - A checked view of a program's image -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/image/Image.h"

#include <algorithm>

namespace dtcc::rt {

size_t Image::stageOf(const dtcc_state &state) const {
  auto row = static_cast<size_t>(&state - states().data());
  for (size_t stage = 0; stage < stages().size(); ++stage)
    if (row - stages()[stage].states.first < stages()[stage].states.count)
      return stage;
  return 0;
}

std::string_view Image::string(uint32_t offset) const {
  if (offset == DTCC_NONE)
    return {};
  return reinterpret_cast<const char *>(base + head->strings.offset + offset);
}

std::span<const uint32_t> Image::operands(const dtcc_command &command) const {
  return section<uint32_t>(head->operands).subspan(command.first_operand, command.operand_count);
}

std::span<const int64_t> Image::attributes(const dtcc_command &command) const {
  return section<int64_t>(head->attributes).subspan(command.first_attribute, command.attribute_count);
}

std::span<const dtcc_wait> Image::waits(const dtcc_command &command) const {
  return section<dtcc_wait>(head->waits).subspan(command.first_wait, command.wait_count);
}

uint64_t spanOf(const dtcc_view &view) {
  int64_t last = 0;
  for (int d = 0; d < view.rank; ++d) {
    if (view.sizes[d] == 0)
      return 0;
    last += (view.sizes[d] - 1) * view.strides[d];
  }
  return static_cast<uint64_t>((last + 1) * dtcc_dtype_size(view.dtype));
}

uint64_t endOf(const Image &image, const dtcc_view &view) {
  dtcc_view box = view; // the blocks of all members of its group
  if (view.block_of != 0)
    box.sizes[view.block_dim] *= image.mesh().extent(image.communicators()[view.block_of - 1].axes);
  const uint64_t span = spanOf(box);
  if (span == 0)
    return 0;
  const SlotMemory memory = slotMemoryOf(image, view);
  int64_t slots = memory.slots > 0 ? std::min(memory.slots, image.mesh().slots()) : image.mesh().slots();
  int64_t lastSlot = 0;
  for (int64_t slot = 0; slot < slots; ++slot)
    lastSlot = std::max(lastSlot, memory.offsetOf(slot));
  return static_cast<uint64_t>(view.offset + lastSlot) + span;
}

int64_t elementCount(const dtcc_view &view) {
  int64_t count = 1;
  for (int i = 0; i < view.rank; ++i)
    count *= view.sizes[i];
  return count;
}

bool updatesEarly(const Image &image) {
  return std::any_of(image.commands().begin(), image.commands().end(), [](const dtcc_command &command) {
    return command.kind == DTCC_LIBRARY && command.op == DTCC_LIB_MEAN_SCALE;
  });
}

bool isContiguous(const dtcc_view &view) {
  int64_t expected = 1;
  for (int i = view.rank; i-- > 0;) {
    if (view.sizes[i] != 1 && view.strides[i] != expected)
      return false;
    expected *= view.sizes[i];
  }
  return true;
}

} // namespace dtcc::rt
