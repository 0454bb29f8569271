//===- ImageTables.cpp - The tables of an image, being filled -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/ImageTables.h"
#include "runtime/abi/Checksum.h"
#include <algorithm>

using namespace dtcc;

ImageTables::ImageTables(const spmd::Mesh &mesh) : mesh(mesh) {
  for (const spmd::MeshAxis &axis : mesh.axes)
    meshAxes.push_back({string(axis.name), uint32_t(axis.time ? DTCC_AXIS_TIME : DTCC_AXIS_RANK), axis.size});
}

uint32_t ImageTables::string(llvm::StringRef text) {
  auto [entry, isNew] = stringOffsets.try_emplace(text, uint32_t(strings.size()));
  if (isNew)
    strings.append(text.data(), text.size()).push_back('\0');
  return entry->second;
}

dtcc_axes ImageTables::axes(const spmd::Axes &names) const {
  dtcc_axes result = {};
  for (const std::string &name : names)
    for (size_t i = 0; i < mesh.axes.size() && result.count < DTCC_MAX_AXES; ++i)
      if (mesh.axes[i].name == name)
        result.ids[result.count++] = uint8_t(i);
  return result;
}

uint32_t ImageTables::view(const dtcc_view &view) {
  std::string key(reinterpret_cast<const char *>(&view), sizeof view);
  auto [entry, isNew] = viewIndices.try_emplace(key, uint32_t(views.size()));
  if (isNew)
    views.push_back(view);
  return entry->second;
}

uint32_t ImageTables::append(std::vector<uint32_t> &section, llvm::ArrayRef<uint32_t> values) {
  uint32_t first = section.size();
  section.insert(section.end(), values.begin(), values.end());
  return first;
}

std::vector<char> ImageTables::serialize(dtcc_image_header header) const {
  std::vector<char> bytes(sizeof header);
  auto add = [&](dtcc_section &where, const auto &section) {
    bytes.resize((bytes.size() + 7) / 8 * 8);
    where = {bytes.size(), section.size()};
    const char *begin = reinterpret_cast<const char *>(section.data());
    bytes.insert(bytes.end(), begin, begin + section.size() * sizeof(section[0]));
  };
  add(header.strings, strings);
  add(header.axes, meshAxes);
  add(header.communicators, communicators);
  add(header.arenas, arenas);
  add(header.views, views);
  add(header.slot_orders, slotOrders);
  add(header.operands, operands);
  add(header.attributes, attributes);
  add(header.waits, waits);
  add(header.commands, commands);
  add(header.phases, phases);
  add(header.actions, actions);
  add(header.inputs, inputs);
  add(header.states, states);
  add(header.buckets, buckets);
  add(header.segments, segments);
  add(header.stages, stages);
  add(header.gpu_kernels, gpuKernels);
  add(header.gpu_modules, gpuModules);
  add(header.gpu_code, gpuCode);
  add(header.onnx_model, onnxModel);
  bytes.resize((bytes.size() + 7) / 8 * 8);
  header.magic = DTCC_ABI_MAGIC;
  header.abi_version = DTCC_ABI_VERSION;
  header.image_bytes = bytes.size();
  std::copy_n(reinterpret_cast<const char *>(&header), sizeof header, bytes.data());
  dtcc_seal(reinterpret_cast<dtcc_image_header *>(bytes.data()));
  return bytes;
}
