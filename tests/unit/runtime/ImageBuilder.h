//===- ImageBuilder.h - Program images made by hand ----------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds in a test the image that the compiler emits: a test appends to the tables, then
// build() lays them out. Views are allocated one after the other in their arena, so no two
// overlap.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_UNIT_RUNTIME_IMAGEBUILDER_H
#define DTCC_TESTS_UNIT_RUNTIME_IMAGEBUILDER_H

#include "runtime/abi/dtcc_rt.h"

#include <cstring>
#include <string>
#include <vector>

namespace dtcc::rt::test {

class ImageBuilder {
public:
  ImageBuilder();

  dtcc_image_header header;
  std::vector<dtcc_axis> axes;
  std::vector<dtcc_communicator> communicators;
  std::vector<dtcc_arena> arenas;
  std::vector<dtcc_view> views;
  std::vector<uint32_t> operands;
  std::vector<int64_t> attributes;
  std::vector<int64_t> slotOrders;
  std::vector<dtcc_wait> waits;
  std::vector<dtcc_command> commands;
  std::vector<dtcc_phase> phases;
  std::vector<dtcc_action> actions;
  std::vector<dtcc_input> inputs;
  std::vector<dtcc_state> states;
  std::vector<dtcc_bucket> buckets;
  std::vector<dtcc_segment> segments;
  /// Scalars of the single stage that a program with empty `stages` gets.
  uint32_t scalars[8];
  std::vector<dtcc_stage> stages;
  std::vector<dtcc_gpu_kernel> gpuKernels;
  std::vector<dtcc_gpu_module> gpuModules;
  std::vector<char> gpuCode;

  uint32_t string(const std::string &text);
  uint8_t axis(const std::string &name, int64_t size, dtcc_axis_kind kind = DTCC_AXIS_RANK);
  uint32_t communicator(const std::string &name, std::vector<uint8_t> axes);
  uint32_t arena(const std::string &name);
  /// New memory in `arena` for `slots` slots of a dense view.
  uint32_t view(uint32_t arena, dtcc_dtype type, std::vector<int64_t> sizes, int64_t slots = 1);
  /// Appends a command with its operands; returns it for further fields.
  dtcc_command &command(dtcc_command_kind kind, uint32_t op, std::vector<uint32_t> views,
                        std::vector<int64_t> attributes = {});
  dtcc_command &kernel(uint32_t op, std::vector<uint32_t> views, int64_t extent, int64_t grain = 1);
  dtcc_command &collective(dtcc_collective_op op, uint32_t communicator, uint32_t in, uint32_t out,
                           dtcc_reduction reduction = DTCC_SUM);
  dtcc_command &fill(uint32_t view, int64_t bits) { return command(DTCC_FILL, 0, {view}, {bits}); }
  dtcc_command &copy(uint32_t from, uint32_t to) { return command(DTCC_COPY, 0, {from, to}); }
  /// A phase of the commands appended since the last one.
  uint32_t phase(const std::string &name);
  void action(uint32_t phase, uint32_t slot = 0) { actions.push_back({phase, slot}); }

  /// The image, aligned to 8; its bytes are the vector's.
  std::vector<uint64_t> build();

private:
  template <typename T> void place(dtcc_section &section, const std::vector<T> &table, std::vector<uint64_t> &image);
  std::vector<char> strings;
};

/// An ordered set of axes.
dtcc_axes axesOf(std::vector<uint8_t> ids);
/// A dimension of `size` cells, padded to `padded`, sharded by `axes`.
dtcc_dim dimOf(int64_t size, int64_t padded, std::vector<uint8_t> axes = {});

} // namespace dtcc::rt::test

#endif // DTCC_TESTS_UNIT_RUNTIME_IMAGEBUILDER_H
