//===- CudaDevice.cpp - Commands on a GPU --------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/CudaDevice.h"

#include "runtime/abi/GpuWorkspace.h"
#include "runtime/core/Error.h"
#include "runtime/cuda/Tuning.h"
#include "runtime/cuda/collective/Exchange.h"
#include "runtime/image/RowCommand.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>
#include <utility>

namespace dtcc::rt::cuda {

CudaDevice::CudaDevice(const DeviceSetup &setup)
    : setup(setup), gpu(setup.rank.abi.rank, setup.ordinal), launcher(gpu, setup.rank.abi.rank),
      arenas(setup.rank.image.arenas().size()), states(arenas.size()), bound(setup.rank.stage.commands.count),
      groups(this->setup, gpu), graphs(gpu, setup.graphs) {
  Rank &rank = setup.rank;
  const Image &image = rank.image;
  if (setup.ownAttention)
    launcher.useOwnAttention();
  for (uint32_t i = 0; i < rank.stage.arenas.count; ++i) {
    uint32_t number = rank.stage.arenas.first + i;
    const dtcc_arena &row = image.arenas()[number];
    std::string what = message("the arena '", image.string(row.name), "'");
    if (isOnHost(number)) {
      // The host's address and the GPU's address are of the same bytes.
      rank.arenas[number] = gpu.allocateLocked(row.bytes, what);
      arenas[number] = reinterpret_cast<CUdeviceptr>(rank.arenas[number]);
      mirrors.emplace_back(0);
      continue;
    }
    arenas[number] = gpu.allocate(row.bytes, what);
    rank.arenas[number] = mirrors.emplace_back(row.bytes).data();
    if (image.string(row.name) == gpu_workspace::arenaName)
      launcher.lendWorkspace(arenas[number], row.bytes);
    if (image.string(row.name) == gpu_workspace::messagesName)
      groups.lendMessages(arenas[number], row.bytes);
  }
  auto holds = [&](uint32_t view) {
    if (view == DTCC_NONE)
      return;
    Range &all = states[image.views()[view].arena], one = rangeOf(view);
    all = all.end == 0 ? one : Range{std::min(all.begin, one.begin), std::max(all.end, one.end)};
  };
  for (const dtcc_state &state : rank.states())
    holds(state.view);
  for (const dtcc_bucket &bucket : rowsOf(rank.stage.buckets, image.buckets()))
    holds(bucket.view);
  recordBytes = sizeof(dtcc_rank) + rank.coordinates.size() * sizeof(int64_t);
  const uint64_t limitAt = recordBytes * static_cast<uint64_t>(image.mesh().slots());
  hostRecords.resize(limitAt + sizeof(float) + sizeof(int32_t));
  records = gpu.allocate(hostRecords.size(), "the record of the rank");
  setup.rank.gradNormLimitOnGpu = reinterpret_cast<const float *>(records + limitAt);
  if (setup.hasGradNorms) {
    hostSquares.resize(GradSquaresOnGpu::ofState + image.states().size());
    CUdeviceptr found = gpu.allocate(hostSquares.size() * sizeof(double), "the squares of gradients");
    setup.rank.gradSquaresOnGpu = {reinterpret_cast<const void *>(records + limitAt + sizeof(float)),
                                   reinterpret_cast<double *>(found)};
  }
  loadProgram();
  // Made with the others, not in the middle of a step.
  uint32_t last = 0;
  for (const dtcc_command &command : rowsOf(rank.stage.commands, image.commands()))
    last = std::max(last, command.stream);
  for (uint32_t stream = 0; stream <= last; ++stream)
    streams.push_back({gpu.stream(stream), gpu.event()});
}

/// Assembled code of the same major architecture that is no newer than the GPU, else PTX that is no newer; of
/// several the newest.
void CudaDevice::loadProgram() {
  const Image &image = setup.rank.image;
  const dtcc_gpu_module *best = nullptr;
  uint32_t oldest = UINT32_MAX;
  auto mine = static_cast<uint32_t>(gpu.info().architecture);
  for (const dtcc_gpu_module &module : image.gpuCode().modules) {
    oldest = std::min(oldest, module.architecture);
    bool assembled = module.kind == DTCC_GPU_CUBIN;
    if (module.architecture > mine || (assembled && module.architecture / 10 != mine / 10))
      continue;
    auto rank = [](const dtcc_gpu_module &row) { return std::pair(row.kind == DTCC_GPU_CUBIN, row.architecture); };
    if (!best || rank(module) > rank(*best))
      best = &module;
  }
  if (!best)
    fail("the program was compiled for GPUs from sm_", oldest, " on, and ", gpu.info().title, " is sm_", mine,
         ": compile it again with --gpu-arch=sm_", mine);
  program = gpu.load(image.gpuCode().of(*best).data(), "the program's kernels");
}

bool CudaDevice::isOnHost(uint32_t arena) const { return setup.rank.image.arenas()[arena].kind == DTCC_MEMORY_HOST; }

CudaDevice::Range CudaDevice::rangeOf(uint32_t view) const {
  const dtcc_view &row = setup.rank.image.views()[view];
  int64_t last = 0;
  for (int d = 0; d < row.rank; ++d) {
    if (row.sizes[d] == 0)
      return {};
    last += (row.sizes[d] - 1) * row.strides[d];
  }
  auto begin = static_cast<uint64_t>(setup.rank.offset(view));
  return {begin, begin + static_cast<uint64_t>((last + 1) * dtcc_dtype_size(row.dtype))};
}

CUdeviceptr CudaDevice::address(uint32_t view, int64_t slot) const {
  const Rank &rank = setup.rank;
  uint32_t arena = rank.image.views()[view].arena;
  auto mirrored = static_cast<std::byte *>(rank.address(view, slot)) - rank.arenas[arena];
  return arenas[arena] + static_cast<CUdeviceptr>(mirrored);
}

void CudaDevice::bind(uint32_t number) {
  Rank &rank = setup.rank;
  const dtcc_command &command = rank.image.commands()[number];
  uint32_t first = rank.stage.commands.first;
  Bound &made = bound[number - first];
  made.name = rank.image.string(command.name);
  gpu.nowDoing(made.name);
  launcher.bindFor(command.stream);
  parameters.resize(std::max<size_t>(parameters.size(), 2 + command.operand_count));
  switch (command.kind) {
  case DTCC_KERNEL:
    made.kernel = gpu.function(program, rank.image.string(rank.image.gpuCode().kernels[command.op].name).data());
    break;
  case DTCC_LIBRARY:
  case DTCC_COPY:
  case DTCC_FILL:
    made.op = createCudaOp(command, rank, launcher);
    break;
  case DTCC_COLLECTIVE:
    if (GpuRows::takes(command))
      made.rows = GpuRows::bind(rowExchangeOf(command, rank.image), launcher);
    break;
  default:
    break;
  }
  for (const dtcc_wait &wait : rank.image.waits(command))
    if (Bound &other = bound[wait.command - first]; rank.image.commands()[wait.command].stream != command.stream)
      other.done = other.done ? other.done : gpu.event();
}

/// Whether a step can be kept: nothing in it needs the host, or a stream that outlives a part.
void CudaDevice::checkGraphs() {
  const Image &image = setup.rank.image;
  if (setup.trace)
    return graphs.refuse("--profile times each command");
  // The driver makes a graph ready behind all work on the GPU, where a kernel of NCCL may wait for this rank.
  if (groups.shareGpu())
    return graphs.refuse("ranks share a GPU (NCCL_MULTI_RANK_GPU_ENABLE=1)");
  for (const dtcc_command &command : rowsOf(setup.rank.stage.commands, image.commands())) {
    if (command.communicator == DTCC_NONE)
      continue;
    if (groups.goesThroughHost(command) || command.predicate != DTCC_NONE)
      return graphs.refuse(message("'", image.string(command.name), "' goes through the host"));
    // A message leaves on a stream that nothing joins before the message is taken, but a capture needs all of its
    // streams joined. If they were joined within the part of a step, stages would wait for each other.
    if (command.kind == DTCC_SEND || command.kind == DTCC_RECEIVE)
      return graphs.refuse(message("'", image.string(command.name), "' is a message between stages"));
    if (GpuRows::takes(command))
      return graphs.refuse(message("the host must know how many rows '", image.string(command.name), "' sends"));
  }
}

std::vector<void *> CudaDevice::buffersOf(size_t number) const {
  const Image &image = setup.rank.image;
  std::vector<void *> buffers;
  for (uint32_t view : image.operands(image.commands()[setup.rank.stage.commands.first + number]))
    buffers.push_back(reinterpret_cast<void *>(address(view, 0)));
  return buffers;
}

/// Libraries load a kernel when it is first used, and the driver then waits for all that stands on the GPU. That may be
/// a kernel of NCCL which waits for another rank, and that one for what this rank has not come to. Before there are
/// states, as tune().
void CudaDevice::loadLibraries() {
  if (!groups.useNccl())
    return;
  std::set<std::string_view> loaded;
  for (size_t i = 0; i < bound.size(); ++i) {
    CudaOp *op = bound[i].op.get();
    if (!op || op->loads().empty() || !loaded.insert(op->loads()).second)
      continue;
    gpu.nowDoing(bound[i].name);
    const uint32_t stream = setup.rank.image.commands()[setup.rank.stage.commands.first + i].stream;
    op->run(setup.rank, {gpu.firstStream(), buffersOf(i).data(), nullptr, streams[stream].workspace});
  }
  gpu.synchronize(gpu.firstStream());
}

/// Runs before the states are filled. Products of zeros leave zeros, and attention's results are written anew later.
void CudaDevice::tune() {
  Rank &rank = setup.rank;
  std::vector<TuningSite> sites;
  for (size_t i = 0; i < bound.size(); ++i)
    if (auto *op = dynamic_cast<TunableOp *>(bound[i].op.get())) {
      const uint32_t stream = rank.image.commands()[rank.stage.commands.first + i].stream;
      sites.push_back({op, stream, streams[stream].workspace, buffersOf(i)});
    }
  std::unique_ptr<Communicator> all;
  if (setup.transport) {
    std::vector<int64_t> members(static_cast<size_t>(rank.image.mesh().ranks()));
    std::iota(members.begin(), members.end(), int64_t{0});
    all = setup.transport->group("tuning", members, rank.abi.rank);
  }
  chosen = cuda::tune(sites, setup.tuning, gpu, launcher, rank, all.get());
}

void CudaDevice::prepare() {
  Rank &rank = setup.rank;
  gpu.nowDoing("starting");
  groups.open();
  for (const dtcc_command &command : rowsOf(rank.stage.commands, rank.image.commands()))
    if (command.communicator != DTCC_NONE && groups.goesThroughHost(command))
      reserveExchange(rank, command);
  checkGraphs();
  for (size_t i = 0; i < bound.size(); ++i)
    if (uint32_t stream = rank.image.commands()[rank.stage.commands.first + i].stream; bound[i].op)
      streams[stream].workspace = launcher.workspace(stream);
  if (setup.tuning.isAsked())
    tune();
  loadLibraries();
}

void CudaDevice::begin() {
  const Rank &rank = setup.rank;
  uploadStates();
  std::vector<uint32_t> scalars;
  std::copy_if(std::begin(rank.stage.scalars), std::end(rank.stage.scalars), std::back_inserter(scalars),
               [](uint32_t view) { return view != DTCC_NONE; });
  download(scalars, 0);
}

void CudaDevice::upload(uint32_t view, int64_t slot) {
  if (isOnHost(setup.rank.image.views()[view].arena))
    return;
  Range range = rangeOf(view);
  gpu.copyToDevice(address(view, slot), setup.rank.address(view, slot), range.end - range.begin, gpu.firstStream());
}

std::byte *CudaDevice::lend(uint64_t bytes) {
  const Rank &rank = setup.rank;
  for (const dtcc_input &input : rowsOf(rank.stage.inputs, rank.image.inputs()))
    if (input.view != DTCC_NONE && isOnHost(rank.image.views()[input.view].arena))
      return nullptr;
  std::byte *memory = nullptr;
  try {
    memory = gpu.allocateLocked(bytes, "the samples of the next step");
  } catch (const Error &error) {
    // The program works without it, only slower.
    if (error.status != Status::Memory)
      throw;
    return nullptr;
  }
  lent.push_back({memory, bytes, gpu.newStream(), gpu.event(), gpu.event()});
  return memory;
}

CudaDevice::Lent &CudaDevice::lentAt(const std::byte *place) {
  return *std::ranges::find_if(
      lent, [place](const Lent &each) { return place >= each.memory && place < each.memory + each.bytes; });
}

void CudaDevice::reserveAhead(uint64_t spare) {
  uint64_t bytes = 0;
  for (const Lent &each : lent)
    bytes = std::max(bytes, each.bytes);
  if (bytes == 0 || gpu.freeBytes() < bytes + spare)
    return;
  try {
    ahead.memory = gpu.allocate(bytes, "the samples of the next step");
  } catch (const Error &error) {
    // Another process may have been faster. The program works without the memory, only slower.
    if (error.status != Status::Memory)
      throw;
    return;
  }
  ahead.arrived = gpu.event();
  ahead.left = gpu.event();
  gpu.record(ahead.left, gpu.firstStream()); // which clears the memory
}

/// The copy waits for nothing that the step computes: `left` stands at the begin of a slot. It also waits for the copy
/// before, which is still on its way on another stream if nobody took those samples.
bool CudaDevice::sendAhead(const std::byte *memory) {
  if (ahead.memory == 0)
    return true;
  const Lent &from = lentAt(memory);
  ahead.holds = nullptr;
  if (!gpu.copyBeside(ahead.memory, from.memory, from.bytes, from.stream, {ahead.left, ahead.arrived}, ahead.arrived))
    return false;
  ahead.holds = from.memory;
  return true;
}

/// Between what stands on the first stream, which may still read the view, and what comes there next.
void CudaDevice::uploadFrom(const std::byte *source, uint32_t view, int64_t slot) {
  Range range = rangeOf(view);
  if (range.begin == range.end)
    return;
  Lent &from = lentAt(source);
  if (ahead.holds == from.memory) {
    gpu.wait(gpu.firstStream(), ahead.arrived);
    gpu.copyWithin(address(view, slot), ahead.memory + static_cast<CUdeviceptr>(source - from.memory),
                   range.end - range.begin, gpu.firstStream());
    gpu.record(ahead.left, gpu.firstStream());
    return;
  }
  gpu.record(from.before, gpu.firstStream());
  gpu.wait(from.stream, from.before);
  gpu.copyToDevice(address(view, slot), source, range.end - range.begin, from.stream);
  gpu.record(from.after, from.stream);
  gpu.wait(gpu.firstStream(), from.after);
}

void CudaDevice::awaitUploads(const std::byte *memory) {
  gpu.nowDoing("the samples of the next step");
  gpu.synchronize(lentAt(memory).stream);
}

void CudaDevice::download(std::span<const uint32_t> views, int64_t slot) {
  gpu.nowDoing("end of the step");
  for (uint32_t view : views) {
    if (isOnHost(setup.rank.image.views()[view].arena))
      continue;
    Range range = rangeOf(view);
    gpu.copyToHost(setup.rank.address(view, slot), address(view, slot), range.end - range.begin, gpu.firstStream());
  }
  gpu.synchronize(gpu.firstStream());
}

template <typename Fn> void CudaDevice::forEachState(Fn fn) {
  const Rank &rank = setup.rank;
  for (uint32_t i = 0; i < rank.stage.arenas.count; ++i) {
    uint32_t number = rank.stage.arenas.first + i;
    if (Range range = states[number]; !isOnHost(number))
      fn(arenas[number] + range.begin, mirrors[i], range);
  }
}

void CudaDevice::downloadStates() {
  forEachState([&](CUdeviceptr onDevice, HostMirror &mirror, Range range) {
    gpu.copyToHost(mirror.data() + range.begin, onDevice, range.end - range.begin, gpu.firstStream());
  });
  gpu.synchronize(gpu.firstStream());
}

void CudaDevice::uploadStates() {
  forEachState([&](CUdeviceptr onDevice, HostMirror &mirror, Range range) {
    gpu.copyToDevice(onDevice, mirror.data() + range.begin, range.end - range.begin, gpu.firstStream());
    gpu.synchronize(gpu.firstStream());
    mirror.discard(range.begin, range.end);
  });
}

/// The records of all slots at once, so that no copy stands between the actions of a step.
void CudaDevice::beginStep() {
  Rank &rank = setup.rank;
  for (int64_t slot = 0; slot < rank.image.mesh().slots(); ++slot) {
    rank.enterSlot(slot);
    auto offset = recordBytes * static_cast<uint64_t>(slot);
    dtcc_rank seen = rank.abi;
    seen.coordinates = reinterpret_cast<const int64_t *>(records + offset + sizeof seen);
    std::memcpy(hostRecords.data() + offset, &seen, sizeof seen);
    // A rank of no mesh has none.
    std::ranges::copy(std::as_bytes(std::span(rank.coordinates)),
                      hostRecords.begin() + static_cast<std::ptrdiff_t>(offset + sizeof seen));
  }
  const int32_t isAsked = rank.gradSquares != nullptr;
  std::byte *behind = hostRecords.data() + hostRecords.size() - sizeof isAsked;
  std::memcpy(behind - sizeof(float), &rank.gradNormLimit, sizeof(float));
  std::memcpy(behind, &isAsked, sizeof isAsked);
  gpu.copyToDevice(records, hostRecords.data(), hostRecords.size(), gpu.firstStream());
  if (rank.gradSquares) {
    std::ranges::fill(hostSquares, 0.0);
    gpu.copyToDevice(reinterpret_cast<CUdeviceptr>(rank.gradSquaresOnGpu.found), hostSquares.data(),
                     hostSquares.size() * sizeof(double), gpu.firstStream());
  }
}

void CudaDevice::endGradSquares() {
  Rank &rank = setup.rank;
  if (!rank.gradSquares)
    return;
  gpu.nowDoing("norms of gradients");
  gpu.copyToHost(hostSquares.data(), reinterpret_cast<CUdeviceptr>(rank.gradSquaresOnGpu.found),
                 hostSquares.size() * sizeof(double), gpu.firstStream());
  gpu.synchronize(gpu.firstStream());
  rank.gradSquares->unit = hostSquares[GradSquaresOnGpu::unit];
  rank.gradSquares->isLeftOut = hostSquares[GradSquaresOnGpu::isLeftOut] != 0;
  rank.gradSquares->ofState.assign(hostSquares.begin() + GradSquaresOnGpu::ofState, hostSquares.end());
}

/// Waits: for messages, which no kernel sends.
bool CudaDevice::isSet(const void *predicate, CUstream stream) {
  int32_t value = 1;
  if (predicate) {
    gpu.copyToHost(&value, reinterpret_cast<CUdeviceptr>(predicate), sizeof value, stream);
    gpu.synchronize(stream);
  }
  return value != 0;
}

void CudaDevice::launchKernel(uint32_t number, void *const *buffers, const void *predicate) {
  const Rank &rank = setup.rank;
  const dtcc_command &command = rank.image.commands()[number];
  const dtcc_gpu_kernel &kernel = rank.image.gpuCode().kernels[command.op];
  LaunchShape shape;
  shape.grid[0] = static_cast<unsigned>(kernel.grid);
  shape.block[0] = kernel.block;
  CUdeviceptr record = records + recordBytes * static_cast<uint64_t>(rank.abi.slot);
  parameters[0] = &record;
  parameters[1] = &predicate;
  for (uint32_t i = 0; i < command.operand_count; ++i)
    parameters[2 + i] = const_cast<void **>(&buffers[i]);
  gpu.launch(bound[number - rank.stage.commands.first].kernel, streams[command.stream].handle, shape,
             parameters.data());
}

/// Lets a side stream wait for all earlier commands of the compute stream, as on processors. The compute stream waits
/// only for events of the table.
void CudaDevice::fork(Stream &stream) {
  if (std::exchange(stream.used, true) && stream.forkedFrom == issued)
    return;
  if (std::exchange(recordedAt, issued) != issued)
    gpu.record(streams[0].end, streams[0].handle);
  gpu.wait(stream.handle, streams[0].end);
  stream.forkedFrom = issued;
}

void CudaDevice::expect(std::span<const uint32_t> receives) { groups.expect(receives, streams[0].handle); }

void CudaDevice::run(uint32_t number, void *const *buffers, const void *predicate) {
  Rank &rank = setup.rank;
  const dtcc_command &command = rank.image.commands()[number];
  uint32_t first = rank.stage.commands.first;
  Bound &made = bound[number - first];
  Stream &stream = streams[command.stream];
  gpu.nowDoing(made.name);
  if (command.stream == 0)
    ++issued;
  else
    fork(stream);
  // A command of the last slot alone has no end in others.
  for (const dtcc_wait &wait : rank.image.waits(command))
    if (const Bound &other = bound[wait.command - first];
        other.done && other.action == action && rank.image.commands()[wait.command].stream != command.stream)
      gpu.wait(stream.handle, other.done);
  const bool isTraced = setup.trace && setup.trace->records(rank.abi.step);
  auto begin = isTraced ? Trace::Clock::now() : Trace::Clock::time_point();
  if (made.op)
    gpu.issuing([&] { made.op->run(rank, {stream.handle, buffers, predicate, stream.workspace}); });
  else if (made.kernel)
    gpu.issuing([&] { launchKernel(number, buffers, predicate); });
  else if (isSet(predicate, stream.handle))
    groups.run(rank.image.commands()[number], made.rows.get(), stream.handle, buffers);
  if (isTraced) {
    // A trace shows how long a command takes, at the price of what would have run beside it.
    gpu.synchronize(stream.handle);
    setup.trace->add({number, static_cast<uint32_t>(rank.abi.slot), rank.abi.step, begin, Trace::Clock::now()});
  }
  made.action = action;
  if (made.done)
    gpu.record(made.done, stream.handle);
}

void CudaDevice::runPart(uint32_t number, const std::function<void()> &run) {
  graphs.run(number, [this, &run] {
    // A failed capture may have stopped half way: start again with no stream in use.
    for (Stream &stream : streams)
      stream.used = false;
    ++issued;
    ++action;
    run();
  });
}

void CudaDevice::endAction() {
  for (size_t i = 1; i < streams.size(); ++i)
    if (std::exchange(streams[i].used, false)) {
      gpu.record(streams[i].end, streams[i].handle);
      gpu.wait(streams[0].handle, streams[i].end);
    }
  ++issued;
  ++action;
}

} // namespace dtcc::rt::cuda

dtcc::rt::Device *dtcc_create_cuda_device(const dtcc::rt::DeviceSetup &setup) {
  return std::make_unique<dtcc::rt::cuda::CudaDevice>(setup).release();
}
