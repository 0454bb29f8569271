//===- Device.h - Where the commands of a rank run ------------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The executor walks the command table; a device owns the memory and runs the commands:
// the processor's cores (HostDevice), or a GPU (runtime/cuda). Both keep one promise: the
// result is that of all commands of an action in program order, then the next action's.
//
// The host reads and writes arenas at Rank::address: inputs, states, scalars. A device
// whose memory the host cannot reach gives it a mirror of the arenas, and moves what
// differs by upload and download; to others these cost nothing.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_DEVICE_DEVICE_H
#define DTCC_RUNTIME_DEVICE_DEVICE_H

#include "runtime/image/Rank.h"
#include "runtime/image/Trace.h"
#include "runtime/tuning/Tuning.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace dtcc::rt {

class Transport;

/// Whether a GPU's launches are kept as graphs: where they can be, always (else the program stops), never.
enum class GraphUse { Auto, On, Off };

/// Inputs from which a device is made. All of them outlive the device.
struct DeviceSetup {
  Rank &rank;
  std::span<const dtcc_kernel> kernels; /* of a program for processors */
  Transport *transport = nullptr;       /* null: a rank alone in a test */
  Trace *trace = nullptr;               /* null: no trace */
  Trace *traceOfStreams = nullptr;      /* of commands that run beside those of the first stream */
  int64_t ordinal = 0;                  /* of the rank among those of its machine: which GPU it gets */
  GraphUse graphs = GraphUse::Auto;
  TuningRequest tuning = {};
  bool ownAttention = false; /* by kernels of ours, also where a library has it */
  bool hasGradNorms = false; /* some steps are asked for norms of gradients (Rank::gradSquares) */
};

class Device {
public:
  virtual ~Device() = default;

  /// Address at which commands reach arena `number` of the image. Arenas are zeroed when the device is made, and
  /// Rank::arenas is set to the addresses at which the host reaches them.
  virtual std::byte *arena(uint32_t number) const = 0;
  /// Lets streams run at the same time, where their waits allow; before the first step.
  virtual void overlap() = 0;

  /// Makes what a command of the rank's stage (numbered in the image) needs. The rank's communicators are in place.
  virtual void bind(uint32_t command) = 0;
  /// After the last bind, while all arenas are zero; what runs here leaves them so. Chooses ways to compute commands,
  /// if that is asked for. All ranks call it together.
  virtual void prepare() {}
  /// The choices that any rank has taken, as text (runtime/tuning/Choices.h); empty: none.
  virtual const std::string &choices() const {
    static const std::string none;
    return none;
  }
  /// After prepare(): all states are what they are at Rank::address.
  virtual void begin() {}

  /// Makes the host's writes to a view in `slot` visible to the commands that follow. The host may write there again
  /// when the call has returned.
  virtual void upload(uint32_t /*view*/, int64_t /*slot*/) {}
  /// Memory of the host for `bytes` of inputs, which uploadFrom reads beside what the host does next. Null: this device
  /// gains nothing by it, or has none. It lives as long as the device.
  virtual std::byte *lend(uint64_t /*bytes*/) { return nullptr; }
  /// As upload, but takes the view's bytes from `source`, a place in lent memory, and leaves those at Rank::address
  /// alone. The host may write to that memory again after awaitUploads.
  virtual void uploadFrom(const std::byte * /*source*/, uint32_t /*view*/, int64_t /*slot*/) {}
  /// Reserves memory of the device that takes the bytes of lent memory while earlier commands run: as much as the
  /// largest lent memory. The device goes on without this memory if fewer than `spare` bytes would stay free. Call it
  /// last, when everything else has been allocated.
  virtual void reserveAhead(uint64_t /*spare*/) {}
  /// Begins to copy the lent memory that begins at `memory` to the device. Until the next call, uploadFrom takes the
  /// bytes of this lent memory as they are now. A device without memory of reserveAhead ignores the call. Any thread
  /// may call it, but not while another call of it or of uploadFrom runs. False if the device refuses: uploadFrom must
  /// then not use this lent memory, and the rank's thread meets the error in its own calls.
  virtual bool sendAhead(const std::byte * /*memory*/) { return true; }
  /// Waits until no upload, and no sendAhead, reads the lent memory that begins at `memory`.
  virtual void awaitUploads(const std::byte * /*memory*/) {}
  /// Makes writes of the commands so far to these views in `slot` visible to the host.
  virtual void download(std::span<const uint32_t> /*views*/, int64_t /*slot*/ = 0) {}
  /// All states, for the host.
  virtual void downloadStates() {}
  /// All states, as the host has written them anew.
  virtual void uploadStates() {}

  /// A step begins: Rank::abi has its number.
  virtual void beginStep() {}
  /// Consecutive actions of a step, between which the host writes nothing: `run` calls run and endAction for them.
  /// `number` is theirs in every step. A device may keep what they come to and do it again without being told.
  virtual void runPart(uint32_t /*number*/, const std::function<void()> &run) { run(); }
  /// The next action has these receives, in this order: a device may let their messages come while the commands of this
  /// action run. All actions of a step are told, in their order.
  virtual void expect(std::span<const uint32_t> /*receives*/) {}
  /// Runs a command, or lets it run when what it waits for is done. `buffers`: the address of each operand's view in
  /// the rank's slot (Rank::abi); it lives until endAction. `predicate`: the address of one i32, the command runs if it
  /// is not 0; or null.
  virtual void run(uint32_t command, void *const *buffers, const void *predicate) = 0;
  virtual void endAction() = 0;
  /// Behind a step that was asked for squares of gradients: Rank::gradSquares has them.
  virtual void endGradSquares() {}
  /// Seconds since the last beginStep in which the calling thread exchanged data with other ranks, or waited for them.
  /// Empty where commands run later than the host gives them.
  virtual std::optional<double> exchangeSeconds() const { return std::nullopt; }
};

} // namespace dtcc::rt

/// Makes the GPU of a rank, a device that the caller owns. Weak: the compiler links it into programs for GPUs alone, by
/// this name, so that others do not carry the runtime's kernels for GPUs (some megabytes).
extern "C" [[gnu::weak]] dtcc::rt::Device *dtcc_create_cuda_device(const dtcc::rt::DeviceSetup &setup);

#endif // DTCC_RUNTIME_DEVICE_DEVICE_H
