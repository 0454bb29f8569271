//===- ProgramChecker.cpp - What must hold in a program's image
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As the runtime checks its own image, but without its code, which no tool links:
// only what a reader for people follows.
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/Checksum.h"
#include "runtime/abi/SectionRows.h"
#include "tools/program/ProgramFile.h"

using namespace dtcc;

static llvm::Error damaged(const llvm::Twine &message) {
  return llvm::createStringError("damaged program: " + message);
}

llvm::Error dtcc::checkHeader(const dtcc_image_header &header, uint64_t bytes) {
  if (header.magic != DTCC_ABI_MAGIC)
    return damaged("magic must be " + llvm::Twine(DTCC_ABI_MAGIC) + ", got: " + llvm::Twine(header.magic));
  if (header.abi_version != DTCC_ABI_VERSION)
    return llvm::createStringError("the program is of version " + llvm::Twine(header.abi_version) +
                                   " of the runtime's interface, and this is version " + llvm::Twine(DTCC_ABI_VERSION) +
                                   ": compile it again");
  if (header.header_checksum != dtcc_header_checksum(&header))
    return damaged("the header's checksum must be " + llvm::Twine(dtcc_header_checksum(&header)) +
                   ", got: " + llvm::Twine(header.header_checksum));
  if (header.image_bytes < sizeof header || header.image_bytes > bytes)
    return damaged("the image must have a header and at most the " + llvm::Twine(bytes) +
                   " bytes of its symbol, got: " + llvm::Twine(header.image_bytes));
  if (header.tables_checksum != dtcc_tables_checksum(&header))
    return damaged("the tables' checksum must be " + llvm::Twine(dtcc_tables_checksum(&header)) +
                   ", got: " + llvm::Twine(header.tables_checksum));
  if (std::optional<SectionRow> row = misplacedSection(header))
    return damaged("the section of " + llvm::Twine(row->name) + " must lie inside the image of " +
                   llvm::Twine(header.image_bytes) + " bytes, got: " + llvm::Twine(row->where.count) + " rows at " +
                   llvm::Twine(row->where.offset));
  const char *strings = reinterpret_cast<const char *>(&header) + header.strings.offset;
  if (header.strings.count == 0 || strings[header.strings.count - 1] != 0)
    return damaged("the strings must end with 0");
  return llvm::Error::success();
}

namespace {
/// Walks the tables; the first wrong row is kept as `problem`, and later checks do nothing.
class TableChecker {
public:
  explicit TableChecker(const ProgramFile &program) : program(program), header(program.header()) {}
  std::string run();

private:
  void require(bool holds, llvm::StringRef what, int64_t got) {
    if (!holds && problem.empty())
      problem = (llvm::Twine(table) + " " + llvm::Twine(row) + ": " + what + ", got: " + llvm::Twine(got)).str();
  }
  void index(uint32_t value, uint64_t count, llvm::StringRef what, bool optional = false) {
    require(value < count || (optional && value == DTCC_NONE), what, value);
  }
  void string(uint32_t offset) { index(offset, header.strings.count, "a name must be a string", true); }
  void range(uint64_t first, uint64_t length, uint64_t count, llvm::StringRef what) {
    require(length <= count && first <= count - length, what, first);
  }
  void axes(const dtcc_axes &set) {
    require(set.count <= DTCC_MAX_AXES, "a set must have at most 7 axes", set.count);
    for (int i = 0; problem.empty() && i < set.count; ++i) {
      index(set.ids[i], header.axes.count, "an axis must be one of the mesh");
      for (int j = 0; j < i; ++j)
        require(set.ids[j] != set.ids[i], "an axis must stand once in a set", set.ids[i]);
    }
  }
  void dims(const dtcc_dim *dims, uint32_t rank) {
    require(rank <= DTCC_MAX_RANK, "rank must be at most 16", rank);
    for (uint32_t i = 0; problem.empty() && i < rank; ++i) {
      axes(dims[i].axes);
      require(dims[i].size >= 0 && dims[i].padded >= dims[i].size, "padded size must be at least the size",
              dims[i].padded);
    }
  }
  /// Calls `check` for every row until there is a problem.
  template <typename T> void each(const char *name, llvm::ArrayRef<T> rows, llvm::function_ref<void(const T &)> check) {
    table = name;
    for (row = 0; problem.empty() && row < rows.size(); ++row) {
      check(rows[row]);
      if (!problem.empty())
        return;
    }
  }
  void mesh();
  void memory();
  void work();
  void state();

  const ProgramFile &program;
  const dtcc_image_header &header;
  const char *table = "";
  size_t row = 0;
  std::string problem;
};
} // namespace

void TableChecker::mesh() {
  int64_t cells = 1;
  each<dtcc_axis>("axis", program.axes(), [&](const dtcc_axis &axis) {
    string(axis.name);
    require(axis.kind <= DTCC_AXIS_TIME, "kind must be known", axis.kind);
    require(axis.size >= 1 && axis.size <= (int64_t(1) << 31) / cells,
            "size must be at least 1 and the product at most 2^31", axis.size);
    if (problem.empty())
      cells *= axis.size;
  });
  each<dtcc_communicator>("communicator", program.communicators(), [&](const dtcc_communicator &communicator) {
    string(communicator.name);
    axes(communicator.axes);
  });
}

void TableChecker::memory() {
  each<dtcc_arena>("arena", program.arenas(), [&](const dtcc_arena &arena) {
    string(arena.name);
    require(arena.bytes <= uint64_t(1) << 46, "bytes must be at most 2^46", arena.bytes);
  });
  each<dtcc_view>("view", program.views(), [&](const dtcc_view &view) {
    index(view.arena, header.arenas.count, "arena must exist");
    require(view.dtype <= DTCC_BOOL, "element type must be known", view.dtype);
    require(view.rank <= DTCC_MAX_RANK, "rank must be at most 16", view.rank);
    for (int i = 0; problem.empty() && i < view.rank; ++i)
      require(view.sizes[i] >= 0, "size must be at least 0", view.sizes[i]);
  });
}

void TableChecker::work() {
  each<dtcc_command>("command", program.commands(), [&](const dtcc_command &command) {
    require(command.kind <= DTCC_RECEIVE, "kind must be known", command.kind);
    range(command.first_operand, command.operand_count, header.operands.count, "operands must exist");
    range(command.first_attribute, command.attribute_count, header.attributes.count, "attributes must exist");
    range(command.first_wait, command.wait_count, header.waits.count, "waits must exist");
    require(command.seconds >= 0 && std::isfinite(command.seconds), "seconds must be a time", int64_t(command.seconds));
    if (command.kind == DTCC_SEND || command.kind == DTCC_RECEIVE)
      require(command.attribute_count == (command.kind == DTCC_SEND ? 2 : 1), "a message must have a peer",
              command.attribute_count);
    if (!problem.empty())
      return;
    for (uint32_t view : program.operands(command))
      index(view, header.views.count, "an operand must be a view");
    bool communicates = command.kind == DTCC_COLLECTIVE || command.kind == DTCC_SEND || command.kind == DTCC_RECEIVE;
    index(command.communicator, header.communicators.count, "communicator must exist", !communicates);
    if (command.kind == DTCC_COLLECTIVE)
      require(command.op <= DTCC_COMBINE_ROWS, "collective must be known", command.op);
  });
  each<dtcc_gpu_kernel>("kernel", program.gpuKernels(), [&](const dtcc_gpu_kernel &kernel) { string(kernel.name); });
  each<dtcc_gpu_module>("module", program.gpuModules(), [&](const dtcc_gpu_module &module) {
    require(module.kind <= DTCC_GPU_CUBIN, "kind of code must be known", module.kind);
    range(module.offset, module.bytes, header.gpu_code.count, "code must exist");
  });
  each<dtcc_phase>("phase", program.phases(), [&](const dtcc_phase &phase) {
    string(phase.name);
    range(phase.first_command, phase.command_count, header.commands.count, "commands must exist");
    require(phase.use <= DTCC_PHASE_GATHERS_PARAMETERS, "use must be known", phase.use);
  });
  each<dtcc_action>("action", program.actions(), [&](const dtcc_action &action) {
    index(action.phase, header.phases.count, "phase must exist");
    index(action.slot, program.product(DTCC_AXIS_TIME), "slot must be a micro-batch");
  });
}

void TableChecker::state() {
  each<dtcc_stage>("stage", program.stages(), [&](const dtcc_stage &stage) {
    string(stage.name);
    auto rows = [&](const dtcc_range &range, const dtcc_section &section) {
      this->range(range.first, range.count, section.count, "rows must exist");
    };
#define DTCC_STAGE_SECTION(FIELD, TYPE) rows(stage.FIELD, header.FIELD);
#include "runtime/abi/Sections.def"
#include <cmath>
#include <string>
  });
  each<dtcc_input>("input", program.inputs(), [&](const dtcc_input &input) {
    string(input.name);
    dims(input.dims, input.rank);
  });
  each<dtcc_bucket>("bucket", program.buckets(), [&](const dtcc_bucket &bucket) {
    string(bucket.name);
    axes(bucket.flat);
    axes(bucket.sharded);
  });
  each<dtcc_state>("state", program.states(), [&](const dtcc_state &state) {
    string(state.name);
    require(state.role <= DTCC_STATE_COMPUTE, "role must be known", state.role);
    require(state.dtype <= DTCC_BOOL, "element type must be known", state.dtype);
    dims(state.dims, state.rank);
    index(state.bucket, header.buckets.count, "bucket must exist", true);
  });
}

std::string TableChecker::run() {
  table = "header";
  for (uint32_t name : {header.model, header.plan, header.cpu, header.weights, header.machine, header.tensors,
                        header.precision, header.gradients})
    string(name);
  for (auto check : {&TableChecker::mesh, &TableChecker::memory, &TableChecker::work, &TableChecker::state})
    if (problem.empty())
      (this->*check)();
  return problem;
}

llvm::Error dtcc::checkTables(const ProgramFile &program) {
  std::string problem = TableChecker(program).run();
  return problem.empty() ? llvm::Error::success() : damaged(problem);
}
