//===- ImageBuilder.cpp - Program images made by hand --------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/runtime/ImageBuilder.h"

#include "runtime/abi/Checksum.h"

#include <algorithm>

namespace dtcc::rt::test {

ImageBuilder::ImageBuilder() : header{} {
  header.magic = DTCC_ABI_MAGIC;
  header.abi_version = DTCC_ABI_VERSION;
  for (uint32_t &scalar : scalars)
    scalar = DTCC_NONE;
  header.model = string("test");
  header.plan = string("{}");
  header.cpu = string("");
  header.weights = string("");
  header.machine = string("");
  header.precision = header.gradients = string("f32");
  header.tensors = string("");
  header.stage_axis = DTCC_NONE;
}

uint32_t ImageBuilder::string(const std::string &text) {
  auto offset = static_cast<uint32_t>(strings.size());
  strings.insert(strings.end(), text.c_str(), text.c_str() + text.size() + 1);
  return offset;
}

uint8_t ImageBuilder::axis(const std::string &name, int64_t size, dtcc_axis_kind kind) {
  axes.push_back({string(name), static_cast<uint32_t>(kind), size});
  return static_cast<uint8_t>(axes.size() - 1);
}

uint32_t ImageBuilder::communicator(const std::string &name, std::vector<uint8_t> ids) {
  communicators.push_back({string(name), 0, axesOf(std::move(ids)), 0});
  return static_cast<uint32_t>(communicators.size() - 1);
}

uint32_t ImageBuilder::arena(const std::string &name) {
  arenas.push_back({string(name), DTCC_MEMORY_HOST, 0});
  return static_cast<uint32_t>(arenas.size() - 1);
}

uint32_t ImageBuilder::view(uint32_t arena, dtcc_dtype type, std::vector<int64_t> sizes, int64_t slots) {
  dtcc_view view{};
  view.arena = arena;
  view.dtype = static_cast<uint8_t>(type);
  view.rank = static_cast<uint8_t>(sizes.size());
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    view.sizes[d] = sizes[d];
    view.strides[d] = stride;
    stride *= sizes[d];
  }
  int64_t bytes = (stride * dtcc_dtype_size(type) + 63) / 64 * 64;
  view.offset = static_cast<int64_t>(arenas[arena].bytes);
  view.slot_stride = slots > 1 ? bytes : 0;
  arenas[arena].bytes += static_cast<uint64_t>(bytes * slots);
  views.push_back(view);
  return static_cast<uint32_t>(views.size() - 1);
}

dtcc_command &ImageBuilder::command(dtcc_command_kind kind, uint32_t op, std::vector<uint32_t> viewIds,
                                    std::vector<int64_t> values) {
  dtcc_command row{};
  row.kind = kind;
  row.op = op;
  row.name = string("command " + std::to_string(commands.size()));
  row.first_operand = static_cast<uint32_t>(operands.size());
  row.operand_count = static_cast<uint32_t>(viewIds.size());
  row.first_attribute = static_cast<uint32_t>(attributes.size());
  row.attribute_count = static_cast<uint32_t>(values.size());
  row.first_wait = static_cast<uint32_t>(waits.size());
  row.communicator = row.predicate = row.only_slot = DTCC_NONE;
  operands.insert(operands.end(), viewIds.begin(), viewIds.end());
  attributes.insert(attributes.end(), values.begin(), values.end());
  commands.push_back(row);
  return commands.back();
}

dtcc_command &ImageBuilder::kernel(uint32_t op, std::vector<uint32_t> viewIds, int64_t extent, int64_t grain) {
  dtcc_command &row = command(DTCC_KERNEL, op, std::move(viewIds));
  row.extent = extent;
  row.grain = grain;
  return row;
}

dtcc_command &ImageBuilder::collective(dtcc_collective_op op, uint32_t communicator, uint32_t in, uint32_t out,
                                       dtcc_reduction reduction) {
  dtcc_command &row = command(DTCC_COLLECTIVE, op, {in, out});
  row.communicator = communicator;
  row.reduction = reduction;
  return row;
}

uint32_t ImageBuilder::phase(const std::string &name) {
  uint32_t first = phases.empty() ? 0 : phases.back().first_command + phases.back().command_count;
  phases.push_back({string(name), first, static_cast<uint32_t>(commands.size()) - first, 0});
  return static_cast<uint32_t>(phases.size() - 1);
}

template <typename T>
void ImageBuilder::place(dtcc_section &section, const std::vector<T> &table, std::vector<uint64_t> &image) {
  section = {image.size() * 8, table.size()};
  size_t bytes = table.size() * sizeof(T);
  image.resize(image.size() + (bytes + 7) / 8);
  if (bytes > 0)
    std::memcpy(reinterpret_cast<char *>(image.data()) + section.offset, table.data(), bytes);
}

std::vector<uint64_t> ImageBuilder::build() {
  std::vector<uint64_t> image(sizeof(dtcc_image_header) / 8);
  uint32_t name = string("step");
  place(header.strings, strings, image);
  place(header.axes, axes, image);
  place(header.communicators, communicators, image);
  place(header.arenas, arenas, image);
  place(header.views, views, image);
  place(header.operands, operands, image);
  place(header.slot_orders, slotOrders, image);
  place(header.attributes, attributes, image);
  place(header.waits, waits, image);
  place(header.commands, commands, image);
  place(header.phases, phases, image);
  place(header.actions, actions, image);
  place(header.inputs, inputs, image);
  place(header.states, states, image);
  place(header.buckets, buckets, image);
  place(header.segments, segments, image);
  auto all = [](const auto &rows) { return dtcc_range{0, static_cast<uint32_t>(rows.size())}; };
  dtcc_stage whole{name,        0,           all(arenas),  all(commands), all(phases), all(actions),
                   all(inputs), all(states), all(buckets), all(segments), {}};
  std::copy(std::begin(scalars), std::end(scalars), whole.scalars);
  place(header.stages, stages.empty() ? std::vector{whole} : stages, image);
  place(header.gpu_kernels, gpuKernels, image);
  place(header.gpu_modules, gpuModules, image);
  place(header.gpu_code, gpuCode, image);
  header.image_bytes = image.size() * 8;
  std::memcpy(image.data(), &header, sizeof(header));
  dtcc_seal(reinterpret_cast<dtcc_image_header *>(image.data()));
  return image;
}

dtcc_axes axesOf(std::vector<uint8_t> ids) {
  dtcc_axes axes{};
  axes.count = static_cast<uint8_t>(ids.size());
  std::copy(ids.begin(), ids.end(), axes.ids);
  return axes;
}

dtcc_dim dimOf(int64_t size, int64_t padded, std::vector<uint8_t> axes) {
  return {size, padded, axesOf(std::move(axes))};
}

} // namespace dtcc::rt::test
