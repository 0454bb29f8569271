//===- MpiLoader.cpp - Finding and opening the MPI plugin ----- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/Communicator.h"
#include "runtime/core/Error.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

#ifndef DTCC_PLUGIN_PATH
#error "the build passes the folders of the plugin, separated by colons"
#endif

namespace dtcc::rt {
namespace {

constexpr const char *pluginName = "libdtcc_mpi.so";

/// The plugin that DTCC_MPI_PLUGIN names; else the first that is found beside the
/// program, in the build's or the installed library folder.
std::string findPlugin(const Launch &launch) {
  if (const char *given = std::getenv("DTCC_MPI_PLUGIN"))
    return given;
  std::error_code ignored;
  auto program = std::filesystem::canonical("/proc/self/exe", ignored);
  std::vector<std::filesystem::path> folders{program.parent_path()};
  std::string path = DTCC_PLUGIN_PATH;
  for (size_t begin = 0; begin <= path.size();) {
    size_t end = std::min(path.find(':', begin), path.size());
    folders.emplace_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  std::string tried;
  for (const auto &folder : folders) {
    if (std::filesystem::exists(folder / pluginName, ignored))
      return (folder / pluginName).string();
    tried += (tried.empty() ? "" : ", ") + folder.string();
  }
  fail("started by ", launch.launcher, " as ", launch.processes, " processes, which needs ", pluginName,
       " (not in: ", tried, "): build it with an MPI, or name it in DTCC_MPI_PLUGIN");
}

} // namespace

std::unique_ptr<Transport> createMpiTransport(const Launch &launch) {
  if (launch.launcher.empty())
    return nullptr;
  std::string path = findPlugin(launch);
  // MPI implementations look their own components up in the global scope. The
  // plugin stays open: MPI cannot be unloaded.
  void *plugin = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!plugin)
    fail("cannot open the MPI plugin: ", dlerror());
  using Create = Transport *(*)(const Launch *);
  auto create = reinterpret_cast<Create>(dlsym(plugin, "dtcc_mpi_transport_v5"));
  if (!create)
    fail("the MPI plugin ", path, " is of another version of dtcc: build it again");
  return std::unique_ptr<Transport>(create(&launch));
}

} // namespace dtcc::rt
