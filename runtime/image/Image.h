//===- Image.h - A checked view of a program's image -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The image is bytes in the executable. It is checked once, whole: magic,
// version, every section, every index, every view against its arena. After that
// no other code of the runtime checks an index of it again.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_IMAGE_IMAGE_H
#define DTCC_RUNTIME_IMAGE_IMAGE_H

#include "runtime/image/Mesh.h"

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace dtcc::rt {

/// The kernels of a program for GPUs, and their code for each architecture.
struct GpuCode {
  std::span<const dtcc_gpu_kernel> kernels;
  std::span<const dtcc_gpu_module> modules;
  std::span<const char> bytes;

  std::span<const char> of(const dtcc_gpu_module &module) const { return bytes.subspan(module.offset, module.bytes); }
};

class Image {
public:
  /// Checks the image at `bytes` (aligned to 8), which may use `kernelCount`
  /// kernels. Throws Error with one message that names the first wrong item. The
  /// bytes must outlive the Image.
  Image(const void *bytes, uint64_t kernelCount);

  const dtcc_image_header &header() const { return *head; }
  const dtcc_training &training() const { return head->training; }

  /// The string at a checked offset; DTCC_NONE is the empty string.
  std::string_view string(uint32_t offset) const;

  std::span<const dtcc_axis> axes() const { return section<dtcc_axis>(head->axes); }
  std::span<const dtcc_communicator> communicators() const { return section<dtcc_communicator>(head->communicators); }
  std::span<const dtcc_arena> arenas() const { return section<dtcc_arena>(head->arenas); }
  std::span<const dtcc_view> views() const { return section<dtcc_view>(head->views); }
  std::span<const int64_t> slotOrders() const { return section<int64_t>(head->slot_orders); }
  std::span<const dtcc_command> commands() const { return section<dtcc_command>(head->commands); }
  std::span<const dtcc_phase> phases() const { return section<dtcc_phase>(head->phases); }
  std::span<const dtcc_action> actions() const { return section<dtcc_action>(head->actions); }
  std::span<const dtcc_input> inputs() const { return section<dtcc_input>(head->inputs); }
  std::span<const dtcc_state> states() const { return section<dtcc_state>(head->states); }
  std::span<const dtcc_bucket> buckets() const { return section<dtcc_bucket>(head->buckets); }
  std::span<const dtcc_segment> segments() const { return section<dtcc_segment>(head->segments); }

  /// Whether the program runs on GPUs.
  bool isForGpus() const { return head->gpu_modules.count > 0; }
  /// Whether an arena of a program for GPUs is in host memory.
  bool isOnHost(const dtcc_arena &arena) const { return isForGpus() && arena.kind == DTCC_MEMORY_HOST; }
  GpuCode gpuCode() const {
    return {section<dtcc_gpu_kernel>(head->gpu_kernels), section<dtcc_gpu_module>(head->gpu_modules),
            section<char>(head->gpu_code)};
  }

  /// The ONNX file that was compiled, without its parameters; or empty.
  std::string_view onnxModel() const {
    std::span<const char> bytes = section<char>(head->onnx_model);
    return {bytes.data(), bytes.size()};
  }

  std::span<const dtcc_stage> stages() const { return section<dtcc_stage>(head->stages); }
  /// The stage of the ranks at `coordinates`.
  const dtcc_stage &stageAt(const std::vector<int64_t> &coordinates) const {
    return stages()[head->stage_axis == DTCC_NONE ? 0 : static_cast<size_t>(coordinates[head->stage_axis])];
  }
  /// The number of the stage that holds `state`, a row of states().
  size_t stageOf(const dtcc_state &state) const;
  /// Whether an earlier stage has a state of the same name: that one is saved.
  bool isCopy(const dtcc_state &state) const { return copies[static_cast<size_t>(&state - states().data())]; }

  std::span<const int64_t> attributes() const { return section<int64_t>(head->attributes); }
  std::span<const dtcc_wait> waits() const { return section<dtcc_wait>(head->waits); }
  /// View indices of a command: inputs, outputs, workspace.
  std::span<const uint32_t> operands(const dtcc_command &command) const;
  std::span<const int64_t> attributes(const dtcc_command &command) const;
  std::span<const dtcc_wait> waits(const dtcc_command &command) const;
  const Mesh &mesh() const { return grid; }

private:
  template <typename T> std::span<const T> section(const dtcc_section &where) const {
    return {reinterpret_cast<const T *>(base + where.offset), static_cast<size_t>(where.count)};
  }
  const std::byte *base;
  const dtcc_image_header *head;
  Mesh grid;
  std::vector<bool> copies; /* by state */
};

/// The rows of a section that belong to a stage: `rowsOf(stage.states, image.states())`.
template <typename T> std::span<const T> rowsOf(const dtcc_range &range, std::span<const T> rows) {
  return rows.subspan(range.first, range.count);
}

/// How the micro-batches of a view share its memory: see dtcc_view.
struct SlotMemory {
  int64_t stride = 0, slots = 0;
  const int64_t *order = nullptr;

  /// Bytes from slot 0 to the memory of micro-batch `slot`.
  int64_t offsetOf(int64_t slot) const {
    if (slots > 0)
      slot %= slots;
    return (order ? order[slot] : slot) * stride;
  }
};
inline SlotMemory slotMemoryOf(const Image &image, const dtcc_view &view) {
  return {view.slot_stride, view.slots, view.slot_order ? &image.slotOrders()[size_t(view.slot_order - 1)] : nullptr};
}

/// Whether a program updates each parameter once its own gradient is complete.
bool updatesEarly(const Image &image);

/// Bytes from the first element of a view to the end of its last, which are more than it has where it leaves gaps. 0
/// without elements.
uint64_t spanOf(const dtcc_view &view);
/// The end in its arena of what a view needs on any rank and in all its slots. 0 without elements.
uint64_t endOf(const Image &image, const dtcc_view &view);

/// Elements of a view.
int64_t elementCount(const dtcc_view &view);
/// True if the elements of `view` are dense in row-major order (sizes of 1 may
/// have any stride).
bool isContiguous(const dtcc_view &view);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_IMAGE_IMAGE_H
