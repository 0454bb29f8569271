//===- KernelSuite.h - Programs of one library command -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds the image of a program with one library command over given tensors, and
// runs the command as a rank of it would: what is tested is the ABI's promise, not
// a function of the runtime.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_CONFORMANCE_KERNELSUITE_H
#define DTCC_TESTS_CONFORMANCE_KERNELSUITE_H

#include "runtime/abi/Checksum.h"
#include "runtime/image/Image.h"
#include "runtime/image/Rank.h"
#include "runtime/image/StridedCopy.h"
#include "runtime/kernels/ops/LibraryOp.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace dtcc::rt::test {

using Floats = std::vector<float>;

/// Compares cell by cell.
inline void expectNear(const Floats &got, const Floats &want, float tolerance = 1e-6f) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], want[i], tolerance) << "element " << i;
}

/// Device on which commands run; null is the processor.
class CommandRunner {
public:
  virtual ~CommandRunner() = default;
  /// Runs the command, whose one arena is `memory`, in the rank's slot.
  virtual void run(const dtcc_command &command, Rank &rank, std::span<char> memory) = 0;
};

/// A mesh `p.0 (ranks) x mb (time)` with one communicator over p.0.
class OneCommand {
public:
  OneCommand(dtcc_library_op op, int64_t ranks = 1, int64_t slots = 1) : ranks(ranks), slots(slots) {
    command.kind = DTCC_LIBRARY;
    command.op = op;
    command.communicator = command.predicate = DTCC_NONE;
  }

  /// Runner of all commands from now on.
  static inline CommandRunner *runner = nullptr;

  /// A DTCC_COPY or DTCC_FILL instead.
  void setKind(dtcc_command_kind kind) { command.kind = kind; }
  uint32_t op() const { return command.op; }
  /// Appends an operand with its content; returns its number. Sizes row-major dense.
  template <typename T> size_t operand(dtcc_dtype type, std::vector<int64_t> sizes, const std::vector<T> &content) {
    dtcc_view view = {};
    view.dtype = static_cast<uint8_t>(type);
    view.rank = static_cast<uint8_t>(sizes.size());
    view.offset = static_cast<int64_t>(memory.size());
    int64_t step = 1;
    for (size_t d = sizes.size(); d-- > 0;) {
      view.sizes[d] = sizes[d];
      view.strides[d] = step;
      step *= sizes[d];
    }
    size_t bytes = content.size() * sizeof(T);
    memory.resize((memory.size() + bytes + 63) / 64 * 64);
    if (bytes)
      std::memcpy(memory.data() + view.offset, content.data(), bytes);
    views.push_back(view);
    return views.size() - 1;
  }
  size_t floats(std::vector<int64_t> sizes, const std::vector<float> &content) {
    return operand(DTCC_F32, std::move(sizes), content);
  }
  size_t longs(std::vector<int64_t> sizes, const std::vector<int64_t> &content) {
    return operand(DTCC_I64, std::move(sizes), content);
  }
  /// An output or workspace: `content` everywhere.
  size_t output(std::vector<int64_t> sizes, float content = -77.0f) {
    int64_t count = 1;
    for (int64_t size : sizes)
      count *= size;
    return floats(std::move(sizes), std::vector<float>(static_cast<size_t>(count), content));
  }
  void attribute(int64_t value) { attributes.push_back(value); }
  void attribute(double value) { attributes.push_back(std::bit_cast<int64_t>(value)); }
  dtcc_view &view(size_t i) { return views[i]; }
  /// A bucket of memory of its own, for the segments to lie in.
  void bucket(int64_t length) {
    dtcc_view view = {};
    view.dtype = DTCC_F32, view.rank = 1, view.sizes[0] = length, view.strides[0] = 1;
    view.offset = static_cast<int64_t>(memory.size());
    memory.resize((memory.size() + static_cast<size_t>(length) * sizeof(float) + 63) / 64 * 64);
    bucketViews.push_back(view);
    dtcc_bucket b = {};
    b.name = DTCC_NONE, b.parameters = DTCC_NONE;
    b.length = length;
    buckets.push_back(b);
  }
  /// Segments of one state are those of state 0 unless state() declares others.
  void segment(uint32_t bucket, int64_t offset, int64_t length, double decay, double lrScale, uint32_t of = 0) {
    segments.push_back({bucket, of, offset, length, decay, lrScale});
  }

  /// Declares a tensor of the sizes `saved`, which lies as one of the dimensions `dims`: those of `saved`, or parts of
  /// them. Ranks share out the dimensions `shared`; of several, a rank has a block of the diagonal. Returns its number.
  uint32_t state(const std::vector<int64_t> &saved, const std::vector<int64_t> &dims,
                 const std::vector<size_t> &shared) {
    dtcc_state made = {};
    made.saved_rank = static_cast<uint8_t>(saved.size()), made.rank = static_cast<uint8_t>(dims.size());
    std::copy(saved.begin(), saved.end(), made.saved_sizes);
    for (size_t d = 0; d < dims.size(); ++d)
      made.dims[d].size = made.dims[d].padded = dims[d];
    for (size_t d : shared) {
      dtcc_dim &dim = made.dims[d];
      dim.padded = (dim.size + ranks - 1) / ranks * ranks, dim.axes.count = 1;
    }
    made.view = made.parameter = DTCC_NONE;
    states.push_back(made);
    return static_cast<uint32_t>(states.size() - 1);
  }

  /// Binds the command once and runs it for `rank` in `slot`.
  void run(int64_t rank = 0, int64_t slot = 0, int threads = 2) {
    std::vector<uint64_t> bytes = image();
    Image checked(bytes.data(), 0);
    ThreadTeam team(threads);
    Rank context(checked, rank, team, /*seed=*/1);
    context.arenas[0] = reinterpret_cast<std::byte *>(memory.data());
    context.enterSlot(slot);
    const dtcc_command &bound = checked.commands()[0];
    if (runner)
      return runner->run(bound, context, memory);
    std::vector<void *> addresses;
    for (uint32_t view : checked.operands(bound))
      addresses.push_back(context.address(view, slot));
    if (bound.kind == DTCC_COPY)
      StridedCopy(views[0], views[1]).run(addresses[0], addresses[1], team);
    else if (bound.kind == DTCC_FILL)
      fillView(views[0], addresses[0], attributes[0], team);
    else
      createLibraryOp(bound, context)->run(context, addresses.data());
  }
  /// All operands' bytes.
  std::vector<char> memory;

  /// The content of operand `i`, whose elements must be dense.
  template <typename T = float> std::vector<T> content(size_t i) const {
    size_t count = 1;
    for (int d = 0; d < views[i].rank; ++d)
      count *= static_cast<size_t>(views[i].sizes[d]);
    std::vector<T> values(count);
    std::memcpy(values.data(), memory.data() + views[i].offset, count * sizeof(T));
    return values;
  }

private:
  template <typename T>
  static void append(std::vector<uint64_t> &bytes, dtcc_section &where, const std::vector<T> &rows) {
    where = {bytes.size() * 8, rows.size()};
    size_t words = (rows.size() * sizeof(T) + 7) / 8;
    bytes.resize(bytes.size() + words);
    if (!rows.empty())
      std::memcpy(reinterpret_cast<char *>(bytes.data()) + where.offset, rows.data(), rows.size() * sizeof(T));
  }
  std::vector<uint64_t> image() {
    std::vector<uint64_t> bytes((sizeof(dtcc_image_header) + 7) / 8);
    dtcc_image_header header = {};
    header.magic = DTCC_ABI_MAGIC;
    header.abi_version = DTCC_ABI_VERSION;
    header.stage_axis = DTCC_NONE;
    header.model = header.plan = header.cpu = header.weights = header.machine = header.tensors = DTCC_NONE;
    header.precision = header.gradients = DTCC_NONE;
    if (!buckets.empty() && states.empty())
      state({}, {}, {});
    std::string strings("the command\0group\0", 18);
    for (size_t i = 0; i < states.size(); ++i) {
      states[i].name = static_cast<uint32_t>(strings.size());
      strings += "tensor " + std::to_string(i) + '\0';
    }
    append(bytes, header.strings, std::vector<char>(strings.begin(), strings.end()));
    append(bytes, header.axes, std::vector<dtcc_axis>{{12, DTCC_AXIS_RANK, ranks}, {12, DTCC_AXIS_TIME, slots}});
    dtcc_communicator group = {};
    group.name = 12;
    group.axes.count = 1;
    append(bytes, header.communicators, std::vector<dtcc_communicator>{group});
    append(bytes, header.arenas, std::vector<dtcc_arena>{{12, DTCC_MEMORY_HOST, memory.size()}});
    std::vector<dtcc_view> all = views;
    for (size_t i = 0; i < buckets.size(); ++i) {
      buckets[i].view = static_cast<uint32_t>(all.size());
      all.push_back(bucketViews[i]);
    }
    append(bytes, header.views, all);
    std::vector<uint32_t> operands;
    for (uint32_t i = 0; i < views.size(); ++i)
      operands.push_back(i);
    append(bytes, header.operands, operands);
    append(bytes, header.attributes, attributes);
    append(bytes, header.waits, std::vector<dtcc_wait>());
    command.operand_count = static_cast<uint32_t>(operands.size());
    command.attribute_count = static_cast<uint32_t>(attributes.size());
    append(bytes, header.commands, std::vector<dtcc_command>{command});
    append(bytes, header.phases, std::vector<dtcc_phase>());
    append(bytes, header.actions, std::vector<dtcc_action>());
    append(bytes, header.inputs, std::vector<dtcc_input>());
    append(bytes, header.states, states);
    append(bytes, header.buckets, buckets);
    append(bytes, header.segments, segments);
    auto rows = [](size_t count) { return dtcc_range{0, static_cast<uint32_t>(count)}; };
    dtcc_stage stage = {};
    stage.name = DTCC_NONE;
    stage.arenas = stage.commands = rows(1);
    stage.states = rows(states.size());
    stage.buckets = rows(buckets.size());
    stage.segments = rows(segments.size());
    std::fill(std::begin(stage.scalars), std::end(stage.scalars), DTCC_NONE);
    append(bytes, header.stages, std::vector<dtcc_stage>{stage});
    header.image_bytes = bytes.size() * 8;
    std::memcpy(bytes.data(), &header, sizeof header);
    dtcc_seal(reinterpret_cast<dtcc_image_header *>(bytes.data()));
    return bytes;
  }

  int64_t ranks, slots;
  dtcc_command command = {};
  std::vector<dtcc_state> states;
  std::vector<dtcc_view> views, bucketViews;
  std::vector<int64_t> attributes;
  std::vector<dtcc_bucket> buckets;
  std::vector<dtcc_segment> segments;
};

} // namespace dtcc::rt::test

#endif // DTCC_TESTS_CONFORMANCE_KERNELSUITE_H
