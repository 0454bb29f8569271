//===- States.cpp - States, buckets and segments of an image -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/States.h"
#include "dialects/graph/StateUpdate.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace dtcc;

static graph::OptimizerAttrInterface optimizerOf(exec::ProgramOp program) {
  return dyn_cast_or_null<graph::OptimizerAttrInterface>(program.getOptimizerAttr());
}

double dtcc::learningRate(exec::ProgramOp program) {
  graph::OptimizerAttrInterface optimizer = optimizerOf(program);
  return optimizer ? optimizer.getLearningRate() : 0;
}

SmallVector<std::string> dtcc::slotNames(graph::StateOp state, exec::ProgramOp program) {
  SmallVector<std::string> names;
  if (graph::OptimizerAttrInterface optimizer = optimizerOf(program))
    for (StringRef name : graph::updateOf(state, optimizer).optimizer.getSlotNames())
      names.push_back(name.str());
  if (program->hasAttr(graph::kAverageAttr))
    names.push_back(graph::kAverageSlot.str());
  return names;
}

/// A dense view at `offset` bytes of a bucket's buffer.
static dtcc_view denseView(exec::BufferOp buffer, uint32_t arena, Type element, int64_t offset,
                           ArrayRef<int64_t> sizes) {
  dtcc_view view = {};
  view.arena = arena;
  view.dtype = *exec::getDType(element);
  view.rank = sizes.size();
  view.offset = *buffer.getOffset() + offset;
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    view.sizes[i] = sizes[i];
    view.strides[i] = stride;
    stride *= sizes[i];
  }
  return view;
}

static void setInitial(graph::StateOp op, dtcc_state &state) {
  if (op.getValue()) {
    state.init = DTCC_INIT_FILE;
    return;
  }
  graph::InitAttr init = *op.getInit();
  switch (init.getKind()) {
  case graph::InitKind::zero:
    state.init = DTCC_INIT_ZERO;
    break;
  case graph::InitKind::constant:
    state.init = DTCC_INIT_CONSTANT;
    break;
  case graph::InitKind::normal:
    state.init = DTCC_INIT_NORMAL;
    break;
  case graph::InitKind::uniform:
    state.init = DTCC_INIT_UNIFORM;
    break;
  }
  state.init_a = init.getA();
  state.init_b = init.getB();
}

namespace {
class StateTable {
public:
  StateTable(ModuleOp module, exec::ProgramOp program, ImageTables &tables,
             const llvm::StringMap<exec::BufferOp> &buffers, const llvm::StringMap<uint32_t> &arenas,
             llvm::StringMap<uint32_t> &bucketIndices)
      : module(module), tables(tables), buffers(buffers), arenas(arenas), bucketIndices(bucketIndices),
        program(program) {}

  LogicalResult run() {
    for (auto op : module.getOps<spmd::BucketOp>())
      if (llvm::is_contained({spmd::BucketRole::Parameter, spmd::BucketRole::Buffer, spmd::BucketRole::Slot,
                              spmd::BucketRole::Factors, spmd::BucketRole::Compute},
                             op.getRole()) &&
          find(op))
        addBucket(op);
    for (auto op : module.getOps<graph::StateOp>())
      if (failed(addState(op)))
        return failure();
    for (auto op : module.getOps<spmd::BucketOp>())
      if (bucketIndices.count(op.getSymName())) {
        if (op.getRole() == spmd::BucketRole::Slot)
          addSlots(op);
        if (op.getRole() == spmd::BucketRole::Factors)
          addFactors(op);
        if (op.getRole() == spmd::BucketRole::Compute)
          addDerived(op, [](dtcc_state &state) { state.role = DTCC_STATE_COMPUTE; });
      }
    return success();
  }

private:
  exec::BufferOp find(spmd::BucketOp op) const { return buffers.lookup(op.getSymName()); }

  void addBucket(spmd::BucketOp op) {
    dtcc_bucket bucket = {};
    bucket.name = tables.string(op.getSymName());
    spmd::Axes flat = spmd::toAxes(op.getFlat());
    int64_t share = op.getLength() / tables.mesh.product(flat);
    exec::BufferOp buffer = find(op);
    bucket.view = tables.view(denseView(buffer, arenas.lookup(buffer.getArena()), op.getElementType(), 0, share));
    // Offsets of codes are those of the cells.
    auto of = op.getOf() ? module.lookupSymbol<spmd::BucketOp>(*op.getOf()) : spmd::BucketOp();
    bool isCoded = op.getRole() == spmd::BucketRole::Slot && op.getElementType().isInteger(8);
    bucket.length = isCoded ? of.getLength() : op.getLength();
    bucket.flat = tables.axes(flat);
    bucket.sharded = tables.axes(spmd::toAxes(op.getSharded()));
    bucket.role = op.getRole() == spmd::BucketRole::Slot      ? DTCC_STATE_SLOT
                  : op.getRole() == spmd::BucketRole::Factors ? DTCC_STATE_SLOT
                  : op.getRole() == spmd::BucketRole::Buffer  ? DTCC_STATE_BUFFER
                  : op.getRole() == spmd::BucketRole::Compute ? DTCC_STATE_COMPUTE
                                                              : DTCC_STATE_PARAMETER;
    bucket.parameters = op.getOf() && bucketIndices.count(*op.getOf()) ? bucketIndices.lookup(*op.getOf()) : DTCC_NONE;
    bucketIndices[op.getSymName()] = tables.buckets.size();
    tables.buckets.push_back(bucket);
  }

  LogicalResult addState(graph::StateOp op) {
    auto places = spmd::bucketsOf(op);
    auto layout = op->getAttrOfType<TypeAttr>(spmd::kLayoutAttr);
    auto type = layout ? dyn_cast<spmd::TensorType>(layout.getValue()) : spmd::TensorType();
    if (places.empty() || !type)
      return op.emitOpError("must have spmd.layout, spmd.bucket and spmd.offset");
    // A bucket that no command touches has no memory: nothing reads its states, or it is another stage's.
    auto place = llvm::find_if(places, [&](auto &each) { return bucketIndices.count(each.first.getValue()) != 0; });
    if (place == places.end())
      return success();
    FlatSymbolRefAttr bucketName = place->first;
    int64_t offset = place->second;
    auto bucket = module.lookupSymbol<spmd::BucketOp>(bucketName);
    if (!bucket)
      return op.emitOpError("must name an spmd.bucket, got: ") << bucketName;
    SmallVector<dtcc_dim> dims = dimsOf(type);
    for (size_t rank : {dims.size(), op.getSavedShape().size()})
      if (rank > DTCC_MAX_RANK)
        return op.emitError("state '") << op.getSavedName() << "' must have at most " << DTCC_MAX_RANK
                                       << " dimensions, got: " << rank;

    dtcc_state state = {};
    state.name = tables.string(op.getSavedName());
    state.rank = dims.size();
    state.role = op.getRole() == graph::StateRole::parameter ? DTCC_STATE_PARAMETER : DTCC_STATE_BUFFER;
    state.dtype = *exec::getDType(bucket.getElementType());
    state.bucket = bucketIndices.lookup(bucketName.getValue());
    state.parameter = DTCC_NONE;
    state.trainable = op.getTrainable();
    state.saved_rank = op.getSavedShape().size();
    llvm::copy(op.getSavedShape(), state.saved_sizes);
    setInitial(op, state);
    if (op.getSlots())
      startsFromFile.insert(op.getSavedName());
    state.bucket_offset = offset;
    SmallVector<int64_t> local;
    int64_t elements = 1;
    llvm::copy(dims, state.dims);
    for (const dtcc_dim &dim : dims) {
      local.push_back(dim.padded / extentOf(dim.axes));
      elements *= local.back();
    }
    state.view = DTCC_NONE;
    if (bucket.getFlat().empty()) {
      exec::BufferOp buffer = find(bucket);
      state.view = tables.view(denseView(buffer, arenas.lookup(buffer.getArena()), bucket.getElementType(),
                                         offset * getElementBytes(bucket.getElementType()), local));
    }
    if (state.role == DTCC_STATE_PARAMETER) {
      graph::OptimizerAttrInterface optimizer = optimizerOf(program);
      bool trains = state.trainable && optimizer;
      tables.segments.push_back({state.bucket, uint32_t(tables.states.size()), state.bucket_offset, elements,
                                 trains ? graph::updateOf(op, optimizer).decay : 0,
                                 trains ? graph::rateScaleOf(op, optimizer) : 0});
      if (trains) {
        graph::OptimizerAttrInterface own = graph::updateOf(op, optimizer).optimizer;
        optimizers[tables.states.size()] = own;
        slotsOf[tables.states.size()] = slotNames(op, program);
        factorsOf[tables.states.size()] = own.getFactors(op.getSavedShape());
      }
    }
    tables.states.push_back(state);
    return success();
  }

  /// The dimensions of a state. Where they are more than a row holds, one that is neither split nor padded is folded
  /// into the one around it, whose blocks then have so many cells more.
  SmallVector<dtcc_dim> dimsOf(spmd::TensorType type) {
    spmd::Layout plain = type.getLayout();
    SmallVector<dtcc_dim> dims;
    for (auto [i, size] : llvm::enumerate(type.getShape())) {
      int64_t padded = plain.padded.empty() ? size : plain.padded[i];
      bool isWhole = plain.dims[i].empty() && padded == size;
      if (type.getShape().size() > DTCC_MAX_RANK && isWhole && !dims.empty()) {
        dims.back().size *= size;
        dims.back().padded *= size;
      } else {
        dims.push_back({size, padded, tables.axes(plain.dims[i])});
      }
    }
    return dims;
  }

  void addSlots(spmd::BucketOp op) {
    size_t number = op.getSlot().value_or(0);
    addDerived(op, [&](dtcc_state &state) {
      const SmallVector<std::string> &names = slotsOf[state.parameter];
      std::string suffix = number < names.size() ? names[number] : "slot" + std::to_string(number);
      bool fromFile = suffix != graph::kAverageSlot && startsFromFile.contains(tables.stringAt(state.name));
      state.init = fromFile ? DTCC_INIT_FILE : DTCC_INIT_ZERO;
      state.name = tables.string((tables.stringAt(state.name) + "." + suffix).str());
      state.role = DTCC_STATE_SLOT;
      if (graph::OptimizerAttrInterface own = optimizers.lookup(state.parameter);
          own && number < own.getSlotNames().size())
        state.codes = own.getSlotCodes(number);
    });
  }

  /// The factors of all states of the bucket that `op` belongs to, in their order: every rank holds them whole.
  void addFactors(spmd::BucketOp op) {
    uint32_t bucket = bucketIndices.lookup(op.getSymName()), of = tables.buckets[bucket].parameters;
    exec::BufferOp buffer = find(op);
    int64_t offset = 0;
    for (size_t i = 0, end = tables.states.size(); i < end; ++i) {
      const dtcc_state parameter = tables.states[i];
      if (parameter.bucket != of || parameter.role != DTCC_STATE_PARAMETER)
        continue;
      for (const auto &[name, shape] : factorsOf[i]) {
        dtcc_state state = {};
        state.name = tables.string((tables.stringAt(parameter.name) + "." + name).str());
        state.rank = state.saved_rank = shape.size();
        state.role = DTCC_STATE_SLOT;
        state.dtype = DTCC_F32;
        state.bucket = bucket;
        state.bucket_offset = offset;
        state.parameter = i;
        state.init = DTCC_INIT_ZERO;
        llvm::copy(shape, state.saved_sizes);
        for (auto [dim, size] : llvm::zip(state.dims, shape))
          dim = {size, size, {}};
        state.view = tables.view(denseView(buffer, arenas.lookup(buffer.getArena()), op.getElementType(),
                                           offset * getElementBytes(op.getElementType()), shape));
        offset += llvm::product_of(shape);
        tables.states.push_back(state);
      }
    }
  }

  int64_t extentOf(const dtcc_axes &axes) const {
    int64_t extent = 1;
    for (uint8_t id : ArrayRef(axes.ids, axes.count))
      extent *= tables.mesh.axes[id].size;
    return extent;
  }

  /// One state per trainable state of the bucket that `op` belongs to, changed by `change`.
  void addDerived(spmd::BucketOp op, llvm::function_ref<void(dtcc_state &)> change) {
    uint32_t bucket = bucketIndices.lookup(op.getSymName()), of = tables.buckets[bucket].parameters;
    for (size_t i = 0, end = tables.states.size(); i < end; ++i) {
      dtcc_state state = tables.states[i];
      if (state.bucket != of || state.role != DTCC_STATE_PARAMETER || !state.trainable)
        continue;
      state.dtype = *exec::getDType(op.getElementType());
      state.bucket = bucket;
      state.parameter = i;
      state.trainable = 0;
      change(state);
      state.view = DTCC_NONE;
      if (op.getFlat().empty() && state.codes == DTCC_CODES_NONE) {
        SmallVector<int64_t> local;
        for (const dtcc_dim &dim : ArrayRef(state.dims, state.rank))
          local.push_back(dim.padded / extentOf(dim.axes));
        exec::BufferOp buffer = find(op);
        state.view = tables.view(denseView(buffer, arenas.lookup(buffer.getArena()), op.getElementType(),
                                           state.bucket_offset * getElementBytes(op.getElementType()), local));
      }
      tables.states.push_back(state);
    }
  }

  ModuleOp module;
  ImageTables &tables;
  const llvm::StringMap<exec::BufferOp> &buffers;
  const llvm::StringMap<uint32_t> &arenas;
  llvm::StringMap<uint32_t> &bucketIndices;
  exec::ProgramOp program;
  /// The optimizer of a state, by its row.
  llvm::DenseMap<size_t, graph::OptimizerAttrInterface> optimizers;
  /// Suffixes of the names under which the slots of a state are saved, by its row.
  llvm::DenseMap<size_t, SmallVector<std::string>> slotsOf;
  /// Factors of a state, by its row.
  llvm::DenseMap<size_t, SmallVector<graph::TensorFactor>> factorsOf;
  /// Names of parameters whose slots have values of their own.
  llvm::StringSet<> startsFromFile;
};
} // namespace

LogicalResult dtcc::addStates(ModuleOp module, exec::ProgramOp program, ImageTables &tables,
                              const llvm::StringMap<exec::BufferOp> &buffers, const llvm::StringMap<uint32_t> &arenas,
                              llvm::StringMap<uint32_t> &bucketIndices) {
  return StateTable(module, program, tables, buffers, arenas, bucketIndices).run();
}
