//===- ConfigFuzz.cpp - Files of options ---------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/console/ConfigFile.h"
#include "tests/fuzz/Target.h"
#include <cstdlib>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const dtcc::fuzz::Folder folder;
  std::string path = folder.write("options.toml", dtcc::fuzz::textOf(data, size)), error;
  auto options = dtcc::readConfig(path, error);
  // Either options, each of a place in the file, or one message.
  if (options ? !error.empty() : error.empty() || error.find(path) == std::string::npos)
    std::abort();
  for (size_t i = 0; options && i < options->size(); ++i)
    if ((*options)[i].place.rfind(path + ":", 0) != 0 || ((*options)[i].isFlag && !(*options)[i].values.empty()))
      std::abort();
  return 0;
}
