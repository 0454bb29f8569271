//===- KernelApi.cpp - Emulated driver: modules and launches
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/cuda/Api.h"
#include <cstdlib>
#include <cstring>

namespace dtcc::emulator {
namespace {

struct LoadedModule;

/// CUfunction
struct Kernel {
  LoadedModule *module;
  std::string name;
  uint32_t mostDynamicShared = 48 << 10;
};

/// CUmodule
struct LoadedModule {
  Device *device;
  std::string text;
  std::unique_ptr<Machine> machine;
  std::map<std::string, std::unique_ptr<Kernel>> kernels;
};

std::set<LoadedModule *> &modules() {
  static auto *all = new std::set<LoadedModule *>;
  return *all;
}

constexpr int kArchitecture = 90;
constexpr uint32_t kMostShared = 227 << 10;
/// CUjit_option
constexpr int kErrorLog = 5, kErrorLogBytes = 6;

void load(LoadedModule **made, const void *image, std::string &problem) {
  Emulation &emulation = Emulation::get();
  Lock lock = emulation.hold();
  Device &device = emulation.current();
  auto *text = static_cast<const char *>(image);
  if (std::memcmp(text, "\177ELF", 4) == 0)
    throw CallError{kNoBinaryForGpu, "machine code, which the emulator does not run"};
  auto module = std::make_unique<LoadedModule>();
  module->device = &device;
  module->text = text;
  size_t target = module->text.find(".target sm_");
  if (target != std::string::npos && std::atoi(module->text.c_str() + target + 11) > kArchitecture)
    throw CallError{kNoBinaryForGpu, "PTX for a newer GPU than sm_" + std::to_string(kArchitecture)};
  try {
    module->machine = std::make_unique<Machine>(module->text, device.memory);
    // An assembler reads all of a module at once.
    for (const std::string &entry : module->machine->entries())
      module->machine->entry(entry);
  } catch (const PtxError &error) {
    problem = error.what();
    throw CallError{kInvalidPtx, problem};
  }
  *made = module.release();
  modules().insert(*made);
}

Kernel &kernelOf(void *function) {
  auto *kernel = static_cast<Kernel *>(function);
  for (LoadedModule *module : modules())
    for (const auto &[name, each] : module->kernels)
      if (each.get() == kernel)
        return *kernel;
  throw CallError{kInvalidHandle, "a kernel that is not there"};
}
} // namespace
} // namespace dtcc::emulator

using namespace dtcc::emulator;

extern "C" {

CUresult cuModuleLoadDataEx(LoadedModule **module, const void *image, unsigned count, int *options, void **values) {
  std::string problem;
  CUresult result = kSuccess;
  try {
    load(module, image, problem);
  } catch (const CallError &error) {
    std::fprintf(stderr, "emulated GPU: %s\n", error.what.c_str());
    result = error.code;
  }
  char *log = nullptr;
  size_t bytes = 0;
  for (unsigned i = 0; i < count; ++i)
    if (options[i] == kErrorLog)
      log = static_cast<char *>(values[i]);
    else if (options[i] == kErrorLogBytes)
      bytes = reinterpret_cast<size_t>(values[i]) & 0xffffffffu;
  if (log && bytes)
    std::snprintf(log, bytes, "%s", problem.c_str());
  return result;
}
CUresult cuModuleLoadData(LoadedModule **module, const void *image) {
  return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}
CUresult cuModuleUnload(LoadedModule *module) {
  return call([&](Emulation &emulation, Lock &lock) {
    require(modules().count(module), kInvalidHandle, "a module that is not there");
    emulation.forceAll(lock, *module->device);
    modules().erase(module);
    delete module;
  });
}
CUresult cuModuleGetFunction(Kernel **function, LoadedModule *module, const char *name) {
  return call([&](Emulation &, Lock &) {
    require(modules().count(module), kInvalidHandle, "a module that is not there");
    if (!module->machine->has(name))
      throw CallError{kNotFound, "no kernel '" + std::string(name) + "' in the module"};
    std::unique_ptr<Kernel> &kernel = module->kernels[name];
    if (!kernel)
      kernel = std::make_unique<Kernel>(Kernel{module, name});
    *function = kernel.get();
  });
}
CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, LoadedModule *module, const char *name) {
  return call([&](Emulation &, Lock &) {
    require(modules().count(module), kInvalidHandle, "a module that is not there");
    Range range = module->machine->variable(name);
    require(range.bytes, kNotFound, "a variable that is not in the module");
    if (address)
      *address = range.start;
    if (bytes)
      *bytes = range.bytes;
  });
}
/// CUfunction_attribute
CUresult cuFuncGetAttribute(int *value, int attribute, void *function) {
  return call([&](Emulation &, Lock &) {
    Kernel &kernel = kernelOf(function);
    const Program &program = kernel.module->machine->entry(kernel.name);
    switch (attribute) {
    case 0:
      *value = int(program.mostThreads);
      break;
    case 1:
      *value = int(program.sharedBytes);
      break;
    case 3:
      *value = int(program.localBytes);
      break;
    case 4:
      *value = int(std::min(program.registers, 255u));
      break;
    case 8:
      *value = int(kernel.mostDynamicShared);
      break;
    default:
      *value = 0;
    }
  });
}
CUresult cuFuncSetAttribute(void *function, int attribute, int value) {
  return call([&](Emulation &, Lock &) {
    Kernel &kernel = kernelOf(function);
    if (attribute != 8)
      return; // carve-outs and the like change nothing here
    uint32_t own = kernel.module->machine->entry(kernel.name).sharedBytes;
    require(value >= 0 && uint32_t(value) + own <= kMostShared, kInvalidValue,
            "more shared memory than a block can have");
    kernel.mostDynamicShared = uint32_t(value);
  });
}

CUresult cuLaunchKernel(void *function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                        unsigned blockY, unsigned blockZ, unsigned sharedBytes, CUstream handle, void **parameters,
                        void **extra) {
  return call([&](Emulation &emulation, Lock &lock) {
    Stream &stream = emulation.streamOf(handle);
    Kernel &kernel = kernelOf(function);
    require(!extra, kNotSupported, "cuLaunchKernel with parameters in one buffer");
    require(kernel.module->device == stream.device, kInvalidHandle, "a kernel of another device than the stream");
    const Program &program = kernel.module->machine->entry(kernel.name);
    uint64_t threads = uint64_t(blockX) * blockY * blockZ;
    require(gridX && gridY && gridZ && threads && gridY <= 65535 && gridZ <= 65535 && gridX <= 2147483647u &&
                blockX <= 1024 && blockY <= 1024 && blockZ <= 64 && threads <= 1024,
            kInvalidValue, "cuLaunchKernel with a grid or block that no GPU has");
    if (threads > program.mostThreads)
      throw CallError{kInvalidValue, "kernel " + kernel.name + " takes blocks of " +
                                         std::to_string(program.mostThreads) +
                                         " threads, got: " + std::to_string(threads)};
    require(sharedBytes <= kernel.mostDynamicShared && sharedBytes + program.sharedBytes <= kMostShared, kInvalidValue,
            "cuLaunchKernel with more dynamic shared memory than the kernel was allowed");
    require(parameters || program.parameters.empty(), kInvalidValue, "cuLaunchKernel without parameters");
    // The values as they are now: the caller's may change.
    std::vector<std::vector<char>> values;
    for (size_t i = 0; i < program.parameters.size(); ++i) {
      auto *value = static_cast<const char *>(parameters[i]);
      values.emplace_back(value, value + program.parameters[i].bytes);
    }
    Launch launch;
    launch.grid[0] = gridX, launch.grid[1] = gridY, launch.grid[2] = gridZ;
    launch.block[0] = blockX, launch.block[1] = blockY, launch.block[2] = blockZ;
    launch.dynamicShared = sharedBytes;
    launch.threads = emulation.kernelThreads;
    launch.seed = emulation.seed ? emulation.random() : 0;
    Machine *machine = kernel.module->machine.get();
    emulation.enqueue(lock, stream, [machine, name = kernel.name, launch, values] {
      std::vector<const void *> pointers;
      for (const std::vector<char> &value : values)
        pointers.push_back(value.data());
      Launch now = launch;
      now.parameters = pointers.data();
      machine->launch(name, now);
    });
    emulation.makeRoom(lock, stream);
  });
}
}
