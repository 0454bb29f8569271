//===- Main.cpp - The entry point of compiled programs -------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compiled program's main calls dtcc_main with its worlds. Every error
// ends here as one message and an exit status (docs/exit-status.md).
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/Main.h"

#include "runtime/core/Error.h"
#include "runtime/core/Processor.h"
#include "runtime/core/Signals.h"
#include "runtime/launch/Program.h"
#include "runtime/launch/arguments/Arguments.h"
#include "runtime/launch/options/ParseOptions.h"

#include <iostream>
#include <new>

using namespace dtcc::rt;

extern "C" int dtcc_main(int argc, char **argv, const dtcc_world *first, const dtcc_world *last) {
  try {
    Worlds worlds({first, last});
    Launch launch;
    // With one world a launch that cannot be is found after wrong options.
    if (worlds.all().size() > 1)
      detectLauncher(launch);
    const dtcc_world &world = worlds.choose(launch, ranksAsked(argc, argv));
    Image image(world.image, world.kernel_count);
    int status = 0;
    std::optional<Options> options = parseOptions(argc, argv, image, worlds, status);
    if (!options)
      return status;
    if (!options->info)
      checkProcessor(image.string(image.header().cpu));
    installSignalHandlers();
    return runProgram(worlds, image, {world.kernels, world.kernel_count}, *options);
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
