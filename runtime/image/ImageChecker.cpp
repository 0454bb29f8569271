//===- ImageChecker.cpp - Checks of all tables of an image -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/image/ImageChecker.h"

#include "runtime/abi/BlockCodes.h"
#include "runtime/abi/Checksum.h"
#include "runtime/abi/SectionRows.h"
#include "runtime/core/Error.h"
#include "runtime/image/CommandChecker.h"
#include "runtime/image/RowChecker.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string_view>

namespace dtcc::rt {
namespace {

/// Positions that labels lie behind their tokens.
constexpr int64_t mostShift = int64_t(1) << 31;

void checkView(const Image &image, size_t i) {
  RowChecker check(image, "view", i);
  const dtcc_view &view = image.views()[i];
  check.index(view.arena, image.arenas().size(), "arena must exist");
  check.require(view.dtype <= DTCC_BOOL, "element type must be known", int(view.dtype));
  check.require(view.rank <= DTCC_MAX_RANK, "rank must be at most 16", int(view.rank));
  int64_t width = dtcc_dtype_size(view.dtype);
  check.require(view.offset >= 0 && view.offset % width == 0, "offset must be a multiple of the element size",
                view.offset);
  check.require(view.slot_stride >= 0 && view.slot_stride % width == 0,
                "slot stride must be a multiple of the element size", view.slot_stride);
  check.require(view.block_of <= image.communicators().size(), "communicator of a block must exist",
                int(view.block_of));
  check.require(view.block_of == 0 || image.communicators()[view.block_of - 1].members == 0,
                "a block must be of a whole group", int(view.block_of));
  check.require(view.block_of == 0 || view.block_dim < view.rank, "dimension of a block must exist",
                int(view.block_dim));
  bool empty = false;
  int64_t elements = 1;
  Wide last = 0;
  for (int d = 0; d < view.rank; ++d) {
    check.require(view.sizes[d] >= 0, "size must be at least 0", view.sizes[d]);
    check.require(view.strides[d] >= 0, "stride must be at least 0", view.strides[d]);
    check.require(view.strides[d] <= mostElements, "stride must be at most 2^56", view.strides[d]);
    elements = check.product(elements, view.sizes[d], "sizes must multiply to at most 2^56");
    empty |= view.sizes[d] == 0;
    bool block = view.block_of != 0 && d == view.block_dim;
    Wide size = block ? view.sizes[d] * Wide(image.mesh().extent(image.communicators()[view.block_of - 1].axes))
                      : Wide(view.sizes[d]);
    check.require(size <= mostElements, "a box must have at most 2^56 elements", view.sizes[d]);
    last += (size - 1) * view.strides[d];
  }
  if (empty)
    last = -1;
  check.require(view.slots >= 0, "number of slots must be at least 0", view.slots);
  int64_t slots = view.slots > 0 ? std::min(view.slots, image.mesh().slots()) : image.mesh().slots();
  if (view.slot_order != 0) {
    check.require(view.slots > 0, "an order of slots must have at least one", view.slots);
    check.require(view.slot_order > 0, "order of slots must be at least 0", view.slot_order);
    check.range(static_cast<uint64_t>(view.slot_order - 1), static_cast<uint64_t>(view.slots),
                image.slotOrders().size(), "order of slots must exist");
    slots = 0;
    for (int64_t slot : image.slotOrders().subspan(size_t(view.slot_order - 1), size_t(view.slots))) {
      check.require(slot >= 0 && slot <= mostElements, "slot of memory must be from 0 to 2^56", slot);
      slots = std::max(slots, slot + 1);
    }
  }
  Wide end = Wide(view.offset) + Wide(slots - 1) * view.slot_stride + (last + 1) * width;
  check.require(end <= Wide(image.arenas()[view.arena].bytes), "the view must end inside its arena", int64_t(end));
}

void checkState(const Image &image, size_t i) {
  RowChecker check(image, "state", i);
  const dtcc_state &state = image.states()[i];
  check.string(state.name, "name must be a string");
  check.require(state.role <= DTCC_STATE_COMPUTE, "role must be known", state.role);
  check.require(state.init <= DTCC_INIT_FILE, "initial value must be known", state.init);
  check.require(state.codes <= DTCC_CODES_UNSIGNED, "codes must be known", state.codes);
  check.require((state.codes != DTCC_CODES_NONE) == (state.role == DTCC_STATE_SLOT && state.dtype == DTCC_I8),
                "slots of type i8 have codes, and nothing else has", state.codes);
  check.require(state.codes == DTCC_CODES_NONE || (state.view == DTCC_NONE && state.bucket_offset % codeBlock == 0),
                "codes must lie in blocks of their bucket alone", state.bucket_offset);
  check.require(state.dtype <= DTCC_BOOL, "element type must be known", state.dtype);
  check.dims(state.dims, state.rank, /*timeAllowed=*/false);
  check.require(state.saved_rank <= DTCC_MAX_RANK, "saved rank must be at most 16", state.saved_rank);
  int64_t saved = 1, whole = 1, block = 1;
  for (uint32_t d = 0; d < state.saved_rank; ++d)
    saved = check.product(saved, state.saved_sizes[d], "saved sizes must multiply to at most 2^56");
  for (uint32_t d = 0; d < state.rank; ++d) {
    whole *= state.dims[d].size;
    block *= state.dims[d].padded / image.mesh().extent(state.dims[d].axes);
  }
  check.require(saved == whole, "saved elements must be those of the whole", saved);
  check.index(state.view, image.views().size(), "view must exist", /*optional=*/true);
  check.index(state.parameter, image.states().size(), "parameter must exist", /*optional=*/true);
  check.index(state.bucket, image.buckets().size(), "bucket must exist", /*optional=*/state.view != DTCC_NONE);
  if (state.view == DTCC_NONE) {
    uint32_t share = image.buckets()[state.bucket].view;
    check.index(share, image.views().size(), "a state without a view must have its bucket's");
    check.require(image.views()[share].dtype == state.dtype, "the bucket must have the state's element type",
                  int(image.views()[share].dtype));
  }
  if (state.view != DTCC_NONE) {
    check.localSizes(state.dims, state.rank, state.view);
    check.require(image.views()[state.view].dtype == state.dtype, "the view must have the state's element type",
                  int(image.views()[state.view].dtype));
  }
  if (state.bucket != DTCC_NONE)
    check.require(state.bucket_offset >= 0 &&
                      Wide(state.bucket_offset) + block <= Wide(image.buckets()[state.bucket].length),
                  "the state must lie inside its bucket", state.bucket_offset);
}

void checkBucket(const Image &image, size_t i) {
  RowChecker check(image, "bucket", i);
  const dtcc_bucket &bucket = image.buckets()[i];
  check.string(bucket.name, "name must be a string");
  check.axes(bucket.flat, false);
  check.axes(bucket.sharded, false);
  check.require(bucket.length >= 0 && bucket.length <= mostElements &&
                    bucket.length % image.mesh().extent(bucket.flat) == 0,
                "length must be a multiple of the flat shares, at most 2^56", bucket.length);
  check.index(bucket.view, image.views().size(), "view must exist", true);
  check.index(bucket.parameters, image.buckets().size(), "parameters' bucket must exist", true);
  if (bucket.view == DTCC_NONE)
    return;
  const dtcc_view &view = image.views()[bucket.view];
  const int64_t share = bucket.length / image.mesh().extent(bucket.flat);
  const bool isCoded = bucket.role == DTCC_STATE_SLOT && view.dtype == DTCC_I8;
  check.require(!isCoded || share % codeBlock == 0, "shares of codes must be whole blocks", share);
  check.require(isContiguous(view) && elementCount(view) == (isCoded ? codedBytes(share) : share),
                "the view must be the rank's dense share", elementCount(view));
}

/// States of one stage have different names, but for compute copies, which have their parameter's; those of one name
/// are the same tensor.
void checkCopies(const Image &image) {
  std::map<std::string_view, const dtcc_state *> first;
  for (const dtcc_stage &stage : image.stages()) {
    std::set<std::string_view> names;
    for (uint32_t i = stage.states.first; i < stage.states.first + stage.states.count; ++i) {
      const dtcc_state &state = image.states()[i];
      std::string_view name = image.string(state.name);
      RowChecker check(image, "state", i);
      bool copies = state.role == DTCC_STATE_COMPUTE;
      check.require(names.insert(name).second != copies,
                    copies ? "a compute copy must have a parameter's name" : "names must differ", name);
      auto [known, isNew] = first.try_emplace(name, &state);
      bool same = (copies || known->second->dtype == state.dtype) && known->second->rank == state.rank;
      for (uint32_t d = 0; same && d < state.rank; ++d)
        same = known->second->dims[d].size == state.dims[d].size;
      check.require(same, "copies of a state must have one shape and type", name);
    }
  }
}

/// The rows of a stage exist, and its commands touch no memory of others.
void checkStage(const Image &image, size_t i) {
  RowChecker check(image, "stage", i);
  const dtcc_image_header &header = image.header();
  const dtcc_stage &stage = image.stages()[i];
  check.string(stage.name, "name must be a string");
  auto rows = [&](const dtcc_range &range, const dtcc_section &section) {
    check.range(range.first, range.count, section.count, "rows must exist");
  };
#define DTCC_STAGE_SECTION(FIELD, TYPE) rows(stage.FIELD, header.FIELD);
#include "runtime/abi/Sections.def"
  check.require(stage.evaluation <= stage.actions.count, "an evaluation must consist of the stage's actions",
                stage.evaluation);
  auto own = [&](uint32_t index, const dtcc_range &range, const char *what) {
    check.require(index - range.first < range.count, what, index);
  };
  auto ownView = [&](uint32_t view) {
    if (view != DTCC_NONE)
      own(image.views()[view].arena, stage.arenas, "memory must be the stage's own");
  };
  for (const dtcc_action &action : rowsOf(stage.actions, image.actions()))
    own(action.phase, stage.phases, "actions must be of the stage's phases");
  for (const dtcc_phase &phase : rowsOf(stage.phases, image.phases()))
    if (phase.command_count > 0) {
      own(phase.first_command, stage.commands, "phases must hold the stage's commands");
      own(phase.first_command + phase.command_count - 1, stage.commands, "phases must hold the stage's commands");
    }
  for (const dtcc_command &command : rowsOf(stage.commands, image.commands())) {
    ownView(command.predicate);
    for (uint32_t view : image.operands(command))
      ownView(view);
    for (const dtcc_wait &wait : image.waits(command))
      own(wait.command, stage.commands, "a wait must name a command of the stage");
  }
  for (const dtcc_input &input : rowsOf(stage.inputs, image.inputs()))
    if (input.view == DTCC_NONE || input.view < image.views().size())
      ownView(input.view);
  for (uint32_t which = 0; which < DTCC_SCALAR_COUNT; ++which) {
    RowChecker scalar(image, "scalar", which);
    uint32_t index = stage.scalars[which];
    scalar.index(index, image.views().size(), "view must exist", true);
    if (index == DTCC_NONE)
      continue;
    ownView(index);
    const dtcc_view &view = image.views()[index];
    scalar.require(view.dtype == (which == DTCC_SCALAR_STEP ? DTCC_I64 : DTCC_F32), "element type must fit",
                   int(view.dtype));
    scalar.require(elementCount(view) == 1 || (which == DTCC_SCALAR_PREDICTION && view.rank == 1 && isContiguous(view)),
                   "the view must hold one element", elementCount(view));
  }
}

void checkInput(const Image &image, size_t i) {
  RowChecker check(image, "input", i);
  const dtcc_input &input = image.inputs()[i];
  check.string(input.name, "name must be a string");
  check.require(input.role <= DTCC_INPUT_POSITIONS, "role must be known", input.role);
  check.require(input.rank >= 1, "an input must have a dimension of samples, rank at least 1", input.rank);
  check.dims(input.dims, input.rank, /*timeAllowed=*/true);
  check.index(input.view, image.views().size(), "view must exist", true);
  if (input.view != DTCC_NONE)
    check.localSizes(input.dims, input.rank, input.view);
}

/// GPUs reach memory of their host over a link: for state that an update takes once a step, and for what waits there.
void checkHostMemory(const Image &image) {
  auto onHost = [&](uint32_t view) {
    return view != DTCC_NONE && image.isOnHost(image.arenas()[image.views()[view].arena]);
  };
  auto isDense = [&](uint32_t view) { return isContiguous(image.views()[view]); };
  constexpr const char *what = "memory of the host must be touched by updates and by copies of dense views alone";
  for (size_t i = 0; i < image.commands().size(); ++i) {
    RowChecker check(image, "command", i);
    const dtcc_command &command = image.commands()[i];
    check.require(!onHost(command.predicate), what, command.predicate);
    auto views = image.operands(command);
    bool copies = command.kind == DTCC_COPY && std::all_of(views.begin(), views.end(), isDense);
    if (!copies && (command.kind != DTCC_LIBRARY || !dtcc_streams(command.op)))
      for (uint32_t view : views)
        check.require(!onHost(view), what, view);
  }
  for (size_t i = 0; i < image.inputs().size(); ++i)
    RowChecker(image, "input", i).require(!onHost(image.inputs()[i].view), what, image.inputs()[i].view);
  for (const dtcc_stage &stage : image.stages())
    for (uint32_t which = 0; which < DTCC_SCALAR_COUNT; ++which)
      RowChecker(image, "scalar", which).require(!onHost(stage.scalars[which]), what, stage.scalars[which]);
}

void checkGpuCode(const Image &image) {
  for (size_t i = 0; i < image.gpuCode().modules.size(); ++i) {
    RowChecker check(image, "module", i);
    const dtcc_gpu_module &module = image.gpuCode().modules[i];
    check.require(module.kind <= DTCC_GPU_CUBIN, "kind of code must be known", module.kind);
    check.range(module.offset, module.bytes, image.header().gpu_code.count, "code must exist");
    if (module.kind == DTCC_GPU_PTX)
      check.require(module.bytes > 0 && image.gpuCode().of(module).back() == 0, "PTX must end with 0", module.bytes);
  }
  for (size_t i = 0; i < image.gpuCode().kernels.size(); ++i) {
    RowChecker check(image, "kernel", i);
    const dtcc_gpu_kernel &kernel = image.gpuCode().kernels[i];
    check.string(kernel.name, "name must be a string");
    check.require(kernel.block >= 1 && kernel.block <= 1024, "threads of a block must be 1 to 1024", kernel.block);
    check.require(kernel.grid >= 1 && kernel.grid < int64_t(1) << 31, "blocks must be 1 to 2^31 - 1", kernel.grid);
  }
  // Memory is that of the one device that the executor asks, or of its host.
  for (size_t i = 0; i < image.arenas().size(); ++i)
    RowChecker(image, "arena", i)
        .require(image.arenas()[i].kind == DTCC_MEMORY_HOST || image.isForGpus(),
                 "memory kind must be that of the program", image.arenas()[i].kind);
}

/// The rows of the header that are no table of their own, and the axes, which messages count to it.
void checkTop(const Image &image) {
  const dtcc_image_header &header = image.header();
  RowChecker top(image, "header", 0);
  for (uint32_t offset : {header.model, header.plan, header.cpu, header.weights, header.machine, header.tensors,
                          header.precision, header.gradients})
    top.string(offset, "name must be a string");
  top.require(header.training.label_shift >= 0 && header.training.label_shift <= mostShift,
              "labels must lie 0 to 2^31 positions behind their tokens", header.training.label_shift);
  uint64_t outer = 0;
  if (std::string_view model = image.onnxModel(); !model.empty()) {
    top.require(model.size() >= sizeof outer, "the ONNX model must have two parts", static_cast<int64_t>(model.size()));
    std::memcpy(&outer, model.data(), sizeof outer);
    top.require(outer <= model.size() - sizeof outer, "the ONNX model's first part must exist",
                static_cast<int64_t>(outer));
  }
  for (const dtcc_axis &axis : image.axes()) {
    top.string(axis.name, "axis name must be a string");
    top.require(axis.kind <= DTCC_AXIS_TIME, "axis kind must be known", axis.kind);
  }
}

void checkCommunicator(const Image &image, size_t i) {
  RowChecker check(image, "communicator", i);
  const dtcc_communicator &communicator = image.communicators()[i];
  check.string(communicator.name, "name must be a string");
  check.axes(communicator.axes, /*timeAllowed=*/false);
  if (communicator.members == 0)
    return;
  int64_t size = communicator.axes.count ? image.mesh().axes[communicator.axes.ids[0]].size : 0;
  check.require(size >= 64 || communicator.members >> size == 0, "members must be coordinates of the first axis",
                communicator.members);
}

void checkArena(const Image &image, size_t i) {
  RowChecker check(image, "arena", i);
  const dtcc_arena &arena = image.arenas()[i];
  check.string(arena.name, "name must be a string");
  check.require(arena.kind <= DTCC_MEMORY_DEVICE, "memory kind must be known", arena.kind);
  check.require(arena.bytes <= uint64_t(1) << 46, "bytes must be at most 2^46", arena.bytes);
}

/// Checks that the mesh axis over which the stages are distributed exists, and that the program has one stage for each
/// coordinate on it. A program without such an axis must have exactly one stage.
void checkStageAxis(const Image &image) {
  const uint32_t axis = image.header().stage_axis;
  RowChecker top(image, "header", 0);
  bool staged = axis != DTCC_NONE;
  if (staged) {
    top.index(axis, image.axes().size(), "the axis of the stages must exist");
    top.require(image.axes()[axis].kind == DTCC_AXIS_RANK, "the axis of the stages must number ranks", axis);
  }
  top.require(Wide(image.stages().size()) == (staged ? image.axes()[axis].size : 1),
              "there must be one stage, or one per coordinate of their axis", image.stages().size());
}

void checkPhase(const Image &image, size_t i) {
  RowChecker check(image, "phase", i);
  const dtcc_phase &phase = image.phases()[i];
  check.string(phase.name, "name must be a string");
  check.range(phase.first_command, phase.command_count, image.commands().size(), "commands must exist");
  check.require(phase.use <= DTCC_PHASE_GATHERS_PARAMETERS, "use must be known", phase.use);
}

void checkAction(const Image &image, size_t i) {
  RowChecker check(image, "action", i);
  check.index(image.actions()[i].phase, image.phases().size(), "phase must exist");
  check.index(image.actions()[i].slot, static_cast<uint64_t>(image.mesh().slots()), "slot must be a micro-batch");
}

void checkSegment(const Image &image, size_t i) {
  RowChecker check(image, "segment", i);
  const dtcc_segment &segment = image.segments()[i];
  check.index(segment.bucket, image.buckets().size(), "bucket must exist");
  check.index(segment.state, image.states().size(), "state must exist");
  check.require(segment.offset >= 0 && segment.length >= 0 &&
                    Wide(segment.offset) + segment.length <= Wide(image.buckets()[segment.bucket].length),
                "the segment must lie inside its bucket", segment.offset);
}

/// Calls a check for each row of a table.
template <typename Rows, typename Check> void eachRow(const Rows &rows, const Image &image, Check check) {
  for (size_t i = 0; i < rows.size(); ++i)
    check(image, i);
}

} // namespace

void checkHeader(const dtcc_image_header &header) {
  if (header.magic != DTCC_ABI_MAGIC)
    fail("damaged program: magic must be ", DTCC_ABI_MAGIC, ", got: ", header.magic);
  if (header.abi_version != DTCC_ABI_VERSION)
    fail("the program was compiled for version ", header.abi_version,
         " of the runtime's interface, and this is version ", DTCC_ABI_VERSION, ": compile it again");
  if (header.header_checksum != dtcc_header_checksum(&header))
    fail("damaged program: the header's checksum must be ", dtcc_header_checksum(&header),
         ", got: ", header.header_checksum);
  if (header.image_bytes < sizeof header)
    fail("damaged program: the image must have a header of ", sizeof header, " bytes, got: ", header.image_bytes);
  if (header.tables_checksum != dtcc_tables_checksum(&header))
    fail("damaged program: the tables' checksum must be ", dtcc_tables_checksum(&header),
         ", got: ", header.tables_checksum);
  if (std::optional<SectionRow> row = misplacedSection(header))
    fail("damaged program: section of ", row->name, " must lie inside the image of ", header.image_bytes,
         " bytes, got: offset ", row->where.offset, ", count ", row->where.count);
  const char *strings = reinterpret_cast<const char *>(&header) + header.strings.offset;
  if (header.strings.count != 0 && strings[header.strings.count - 1] != 0)
    fail("damaged program: the strings must end with 0, got: ", int(strings[header.strings.count - 1]));
}

void checkTables(const Image &image, uint64_t kernelCount) {
  // A check may rely on those before it: views name arenas that exist, commands name views.
  checkTop(image);
  eachRow(image.communicators(), image, checkCommunicator);
  eachRow(image.arenas(), image, checkArena);
  checkGpuCode(image);
  eachRow(image.views(), image, checkView);
  checkStageAxis(image);
  eachRow(image.commands(), image, [&](const Image &image, size_t i) { checkCommand(image, i, kernelCount); });
  eachRow(image.phases(), image, checkPhase);
  eachRow(image.actions(), image, checkAction);
  eachRow(image.stages(), image, checkStage);
  eachRow(image.inputs(), image, checkInput);
  eachRow(image.buckets(), image, checkBucket);
  eachRow(image.states(), image, checkState);
  checkCopies(image);
  checkHostMemory(image);
  eachRow(image.segments(), image, checkSegment);
}

} // namespace dtcc::rt
