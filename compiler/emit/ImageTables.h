//===- ImageTables.h - The tables of an image, being filled -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_EMIT_IMAGETABLES_H
#define DTCC_COMPILER_EMIT_IMAGETABLES_H

#include "dialects/exec/Exec.h"
#include "dialects/spmd/Spmd.h"
#include "runtime/abi/dtcc_rt.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include <map>
#include <vector>

namespace dtcc {

class ImageTables {
public:
  explicit ImageTables(const spmd::Mesh &mesh);

  /// Offset of the string in the string section.
  uint32_t string(llvm::StringRef text);
  llvm::StringRef stringAt(uint32_t offset) const { return strings.data() + offset; }
  dtcc_axes axes(const spmd::Axes &names) const;
  /// Index of an equal view, added if there is none.
  uint32_t view(const dtcc_view &view);
  /// Appends to a section of plain values and returns the index of the first.
  uint32_t append(std::vector<uint32_t> &section, llvm::ArrayRef<uint32_t> values);

  /// The image, with `header` completed by the sections.
  std::vector<char> serialize(dtcc_image_header header) const;

  std::vector<dtcc_communicator> communicators;
  std::vector<dtcc_arena> arenas;
  std::vector<dtcc_view> views;
  std::vector<int64_t> slotOrders;
  std::vector<uint32_t> operands;
  std::vector<int64_t> attributes;
  std::vector<dtcc_wait> waits;
  std::vector<dtcc_command> commands;
  std::vector<dtcc_phase> phases;
  std::vector<dtcc_action> actions;
  std::vector<dtcc_input> inputs;
  std::vector<dtcc_state> states;
  std::vector<dtcc_bucket> buckets;
  std::vector<dtcc_segment> segments;
  std::vector<dtcc_stage> stages;
  std::vector<dtcc_gpu_kernel> gpuKernels;
  std::vector<dtcc_gpu_module> gpuModules;
  std::string gpuCode, onnxModel;

  spmd::Mesh mesh;

private:
  std::vector<dtcc_axis> meshAxes;
  std::string strings;
  llvm::StringMap<uint32_t> stringOffsets;
  std::map<std::string, uint32_t> viewIndices; /* by their bytes */
};

} // namespace dtcc

#endif // DTCC_COMPILER_EMIT_IMAGETABLES_H
