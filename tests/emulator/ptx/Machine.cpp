//===- Machine.cpp - A module of PTX, and its launches
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/ptx/Machine.h"
#include "tests/emulator/ptx/Warp.h"
#include <atomic>
#include <cstring>
#include <exception>
#include <thread>

namespace dtcc::emulator {

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void DeviceMemory::add(const Range &range) {
  std::unique_lock guard(lock);
  ranges[range.start] = range;
}
void DeviceMemory::remove(uint64_t start) {
  std::unique_lock guard(lock);
  ranges.erase(start);
}
Range DeviceMemory::find(uint64_t address) const {
  Range last = before(address);
  return last.holds(address, 1) ? last : Range();
}
Range DeviceMemory::before(uint64_t address) const {
  std::shared_lock guard(lock);
  auto after = ranges.upper_bound(address);
  if (after == ranges.begin())
    return {};
  return std::prev(after)->second;
}
char *DeviceMemory::locate(uint64_t address, uint64_t bytes) const {
  Range range = find(address);
  return range.holds(address, bytes) ? reinterpret_cast<char *>(address + range.shift) : nullptr;
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

Machine::Machine(std::string_view text, DeviceMemory &memory) : module(parse(text)), memory(memory) {
  for (const Variable &variable : module.variables) {
    if (variable.space == Space::Shared)
      continue;
    if (variable.external)
      throw PtxError(Fault::Text,
                     "PTX line " + std::to_string(variable.line) + ": '" + variable.name + "' is defined elsewhere");
    size_t align = std::max<size_t>(variable.align, 64);
    void *bytes = std::aligned_alloc(align, (variable.bytes + align) / align * align);
    std::memset(bytes, 0, variable.bytes);
    std::memcpy(bytes, variable.initial.data(), variable.initial.size());
    storage.push_back(bytes);
    memory.add(bytes, variable.bytes);
    addresses[variable.name] = reinterpret_cast<uint64_t>(bytes);
    sizes[variable.name] = variable.bytes;
  }
  for (const Variable &variable : module.variables)
    for (const Variable::Reference &reference : variable.references) {
      auto found = addresses.find(reference.name);
      if (found == addresses.end())
        throw PtxError(Fault::Text,
                       "PTX line " + std::to_string(variable.line) + ": no variable '" + reference.name + "'");
      uint64_t address = found->second + uint64_t(reference.offset);
      std::memcpy(reinterpret_cast<char *>(addresses.at(variable.name)) + reference.at, &address, sizeof address);
    }
}

Machine::~Machine() {
  for (void *bytes : storage) {
    memory.remove(reinterpret_cast<uint64_t>(bytes));
    std::free(bytes);
  }
}

bool Machine::has(const std::string &entry) const {
  auto found = module.functions.find(entry);
  return found != module.functions.end() && found->second.entry;
}

std::vector<std::string> Machine::entries() const {
  std::vector<std::string> names;
  for (const auto &[name, function] : module.functions)
    if (function.entry)
      names.push_back(name);
  return names;
}

Range Machine::variable(const std::string &name) const {
  auto found = addresses.find(name);
  return found == addresses.end() ? Range() : Range{found->second, sizes.at(name)};
}

const Program &Machine::entry(const std::string &name) {
  std::lock_guard guard(lock);
  std::unique_ptr<Program> &program = programs[name];
  if (!program) {
    if (!has(name))
      throw PtxError(Fault::Text, "no kernel '" + name + "'");
    program = decode(module, name, addresses);
  }
  return *program;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

uint64_t Machine::launch(const std::string &entry, const Launch &launch) {
  const Program &program = this->entry(entry);
  uint64_t threads = uint64_t(launch.block[0]) * launch.block[1] * launch.block[2];
  uint64_t blocks = uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  auto refuse = [&](const std::string &why) { throw PtxError(Fault::Launch, "kernel " + entry + ": " + why); };
  if (threads == 0 || blocks == 0)
    refuse("a launch of no threads");
  if (threads > program.mostThreads || threads > 1024)
    refuse("a launch with blocks of " + std::to_string(threads) + " threads; the kernel takes " +
           std::to_string(program.mostThreads));
  std::vector<char> parameters(program.parameterBytes + 16);
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    if (!launch.parameters || !launch.parameters[i])
      refuse("parameter " + std::to_string(i) + " is missing");
    std::memcpy(parameters.data() + program.parameters[i].offset, launch.parameters[i], program.parameters[i].bytes);
  }
  std::atomic<uint64_t> next = 0, executed = 0;
  std::exception_ptr failure;
  std::mutex failureLock;
  auto work = [&] {
    try {
      Block block(program, launch, memory, parameters.data());
      for (uint64_t i; (i = next++) < blocks;)
        block.run(launch.seed & 2 ? blocks - 1 - i : i);
      executed += block.executed;
    } catch (...) {
      std::lock_guard guard(failureLock);
      if (!failure)
        failure = std::current_exception();
      next = blocks;
    }
  };
  std::vector<std::thread> helpers;
  for (unsigned i = 1; i < launch.threads && i < blocks; ++i)
    helpers.emplace_back(work);
  work();
  for (std::thread &helper : helpers)
    helper.join();
  if (failure)
    std::rethrow_exception(failure);
  return executed;
}

std::string problemOf(std::string_view text, DeviceMemory &memory, const std::string &entry, const Launch &launch) {
  try {
    Machine(text, memory).launch(entry, launch);
  } catch (const PtxError &error) {
    return error.what();
  }
  return "";
}

} // namespace dtcc::emulator
