//===- Driver.cpp - CUDA's driver, opened when a program needs it -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/driver/Driver.h"

#include "runtime/core/Error.h"

#include <cstdlib>
#include <dlfcn.h>

namespace dtcc::rt::cuda {

namespace {

/// Streams share the queues through which the driver gives work to a GPU: 8 unless this is said before cuInit. What
/// stands in a queue behind a send that waits for another rank would wait with it, and programs with messages have more
/// streams, NCCL's own counted. Before main: nobody reads the environment yet.
[[maybe_unused]] const int queues = setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", /*overwrite=*/0);

} // namespace

std::string openLibrary(std::initializer_list<const char *> names, std::initializer_list<Symbol> symbols) {
  return openLibrary(std::span(names.begin(), names.size()), symbols);
}

std::string openLibrary(std::span<const char *const> names, std::initializer_list<Symbol> symbols) {
  void *library = nullptr;
  // The loader says what is wrong with the one that is there; else, that the newest is not.
  std::string problem;
  for (const char *name : names) {
    if (library || (library = dlopen(name, RTLD_NOW | RTLD_LOCAL)))
      break;
    std::string said = dlerror();
    bool isMissing = said.starts_with(std::string(name) + ": cannot open shared object file: No such file");
    if (problem.empty() || !isMissing)
      problem = said;
  }
  if (!library)
    return "cannot load " + problem;
  for (const Symbol &symbol : symbols)
    if (!(*symbol.address = dlsym(library, symbol.name)))
      return std::string(names.front()) + " has no " + symbol.name;
  return {};
}

std::string Driver::text(CUresult error) const {
  const char *words = nullptr;
  if (errorString(error, &words) != 0 || !words)
    return "error " + std::to_string(error);
  return words;
}

/// Throws, again at every call, where there is no driver or no GPU.
static Driver openDriver() {
  auto missing = [](const std::string &what) {
    fail("this program runs on NVIDIA GPUs, and there is none here: ", what, "; --target=cpu compiles for processors");
  };
  Driver driver;
  std::string problem = openLibrary({"libcuda.so.1"}, {
#define DTCC_CUDA_FUNCTION(FIELD, SYMBOL, PARAMETERS) {#SYMBOL, reinterpret_cast<void **>(&driver.FIELD)},
#include "runtime/cuda/driver/Driver.def"
                                                      });
  if (!problem.empty())
    missing(problem);
  if (CUresult error = driver.initialize(0))
    missing("cuInit: " + driver.text(error));
  int count = 0;
  if (CUresult error = driver.deviceCount(&count); error != 0 || count == 0)
    missing(error ? "cuDeviceGetCount: " + driver.text(error) : "the driver sees no GPU");
  return driver;
}

const Driver &driver() {
  static const Driver opened = openDriver();
  return opened;
}

} // namespace dtcc::rt::cuda
