//===- Main.cpp - The entry point of compiled programs -------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compiled program's main calls dtcc_main with its image and kernels. Every error
// ends here as one message and an exit status (docs/exit-status.md).
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/Main.h"

#include "runtime/core/Error.h"
#include "runtime/core/Processor.h"
#include "runtime/core/Signals.h"
#include "runtime/launch/Program.h"

#include <iostream>
#include <new>

using namespace dtcc::rt;

extern "C" int dtcc_main(int argc, char **argv, const void *bytes, const dtcc_kernel *kernels, uint64_t kernelCount) {
  try {
    Image image(bytes, kernelCount);
    int status = 0;
    std::optional<Options> options = parseOptions(argc, argv, image, status);
    if (!options)
      return status;
    if (!options->info)
      checkProcessor(image.string(image.header().cpu));
    installSignalHandlers();
    return runProgram(image, {kernels, kernelCount}, *options);
  } catch (const Error &error) {
    std::cerr << "error: " << error.what() << std::endl;
    return static_cast<int>(error.status);
  } catch (const std::bad_alloc &) {
    std::cerr << "error: out of memory" << std::endl;
    return static_cast<int>(Status::Memory);
  } catch (const std::exception &error) {
    std::cerr << "error: " << error.what() << std::endl;
    return static_cast<int>(Status::BadInput);
  }
}
