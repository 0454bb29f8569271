//===- ProgramFile.h - The image inside a compiled program
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program is an ELF executable with a symbol dtcc_image for each of its worlds (runtime/abi/World.h).
// Files come from anywhere: every offset and index that a reader of this class may
// follow is checked once, when the file is read.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_PROGRAM_PROGRAMFILE_H
#define DTCC_TOOLS_PROGRAM_PROGRAMFILE_H

#include "runtime/abi/dtcc_rt.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace dtcc {

class ProgramFile {
public:
  /// Reads and checks the program in `bytes`: its worlds, by ascending number of ranks. `path` is named in errors, of
  /// which there is one message: that this is no program, or which row of which table is damaged.
  static llvm::Expected<std::vector<ProgramFile>> readWorlds(llvm::StringRef path, llvm::StringRef bytes);

  const dtcc_image_header &header() const { return *reinterpret_cast<const dtcc_image_header *>(image.data()); }
  /// The string at `offset`; empty for DTCC_NONE.
  llvm::StringRef string(uint32_t offset) const;

  llvm::ArrayRef<dtcc_axis> axes() const { return section<dtcc_axis>(header().axes); }
  llvm::ArrayRef<dtcc_communicator> communicators() const { return section<dtcc_communicator>(header().communicators); }
  llvm::ArrayRef<dtcc_arena> arenas() const { return section<dtcc_arena>(header().arenas); }
  llvm::ArrayRef<dtcc_view> views() const { return section<dtcc_view>(header().views); }
  llvm::ArrayRef<dtcc_command> commands() const { return section<dtcc_command>(header().commands); }
  llvm::ArrayRef<dtcc_wait> waits() const { return section<dtcc_wait>(header().waits); }
  llvm::ArrayRef<int64_t> attributes() const { return section<int64_t>(header().attributes); }
  llvm::ArrayRef<dtcc_phase> phases() const { return section<dtcc_phase>(header().phases); }
  llvm::ArrayRef<dtcc_action> actions() const { return section<dtcc_action>(header().actions); }
  llvm::ArrayRef<dtcc_input> inputs() const { return section<dtcc_input>(header().inputs); }
  llvm::ArrayRef<dtcc_state> states() const { return section<dtcc_state>(header().states); }
  llvm::ArrayRef<dtcc_segment> segments() const { return section<dtcc_segment>(header().segments); }
  llvm::ArrayRef<dtcc_bucket> buckets() const { return section<dtcc_bucket>(header().buckets); }
  llvm::ArrayRef<dtcc_stage> stages() const { return section<dtcc_stage>(header().stages); }
  llvm::ArrayRef<dtcc_gpu_kernel> gpuKernels() const { return section<dtcc_gpu_kernel>(header().gpu_kernels); }
  llvm::ArrayRef<dtcc_gpu_module> gpuModules() const { return section<dtcc_gpu_module>(header().gpu_modules); }
  /// Whether an arena of a program for GPUs is in host memory.
  bool isOnHost(const dtcc_arena &arena) const { return !gpuModules().empty() && arena.kind == DTCC_MEMORY_HOST; }
  /// "znver4", or "GPUs from sm_80 on (sm_90 assembled)".
  std::string processor() const;
  /// The rows of a section that belong to a stage.
  template <typename T> static llvm::ArrayRef<T> rowsOf(const dtcc_range &range, llvm::ArrayRef<T> rows) {
    return rows.slice(range.first, range.count);
  }
  /// View indices of a command.
  llvm::ArrayRef<uint32_t> operands(const dtcc_command &command) const {
    return section<uint32_t>(header().operands).slice(command.first_operand, command.operand_count);
  }

  /// Product of the sizes of a set of axes.
  int64_t extent(const dtcc_axes &set) const;
  /// "dp,tp"; empty for none.
  std::string names(const dtcc_axes &set) const;
  /// Product of the sizes of all axes of a kind: ranks, or micro-batches.
  int64_t product(dtcc_axis_kind kind) const;

private:
  static llvm::Expected<ProgramFile> readImage(llvm::StringRef path, llvm::StringRef bytes);
  template <typename T> llvm::ArrayRef<T> section(const dtcc_section &where) const {
    return {reinterpret_cast<const T *>(reinterpret_cast<const char *>(image.data()) + where.offset),
            size_t(where.count)};
  }
  /// Words, because the tables are aligned to 8 and a file is not.
  std::vector<uint64_t> image;
};

/// Bytes of the elements of a view.
uint64_t viewBytes(const dtcc_view &view);

/// Bytes of the arenas of a stage: those on the device of a rank, or those in the memory of its host.
uint64_t arenaBytes(const ProgramFile &program, const dtcc_stage &stage, bool onHost = false);

/// Checks that all of ProgramFile's accessors are safe. The message begins with "damaged
/// program". `bytes` is the size of the memory that holds the image.
llvm::Error checkHeader(const dtcc_image_header &header, uint64_t bytes);
llvm::Error checkTables(const ProgramFile &program);

} // namespace dtcc

#endif // DTCC_TOOLS_PROGRAM_PROGRAMFILE_H
