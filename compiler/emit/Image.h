//===- Image.h - A program as the runtime reads it -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns an exec.program, or those of the stages of a pipeline, with states, buckets and
// mesh into the bytes of runtime/abi/dtcc_rt.h. Nothing is decided here: one op, one row.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_EMIT_IMAGE_H
#define DTCC_COMPILER_EMIT_IMAGE_H

#include "dialects/exec/Exec.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/abi/dtcc_rt.h"
#include <string>
#include <vector>

namespace dtcc {

/// All kernels of a program for one architecture of GPUs (90: sm_90).
struct GpuModule {
  uint32_t architecture = 0;
  dtcc_gpu_code kind = DTCC_GPU_PTX;
  std::string code;
};

/// Contents of the image besides the program.
struct ImageOptions {
  std::string model; /* name, for people */
  std::string plan;  /* JSON */
  std::string cpu;   /* the processor of the kernels; for GPUs empty */
  dtcc_memory memory = DTCC_MEMORY_HOST;
  std::string weights; /* as in dtcc_image_header */
  std::string tensors; /* the table of the model's tensors (compiler/training/SavedTensors.h) */
  int64_t labelShift = 0;
  uint64_t seed = 0;
  bool tf32 = false;
  std::string precision, gradients; /* types of products and of gradients, as in dtcc_image_header */
  double devicePeak = 0;            /* FLOP/s of the device of a rank; 0: not known */
  std::string machine;              /* that the commands' seconds are of, for people; empty: they have none */
  /// The kernels for GPUs: then the module's are marked `nvvm.kernel`, and the image has no table of pointers.
  std::vector<GpuModule> gpuModules;
};

struct Image {
  std::vector<char> bytes;
  /// Symbols of the kernels in the order of the table.
  std::vector<std::string> kernels;
};

/// `programs`: one, or one per stage in order. Fails with a located message where the program does not fit the format
/// (a rank above 8, an unplanned buffer, an unknown symbol).
mlir::FailureOr<Image> buildImage(llvm::ArrayRef<exec::ProgramOp> programs, mlir::ModuleOp module,
                                  const ImageOptions &options);

} // namespace dtcc

#endif // DTCC_COMPILER_EMIT_IMAGE_H
