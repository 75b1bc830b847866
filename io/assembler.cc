#include "io/assembler.h"

#include <algorithm>
#include <utility>

#include "heddle/engine.h"

#include "io/priority.h"
#include "io/reader.h"

namespace heddle::io {
namespace {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

constexpr std::int64_t kReadAhead = 4;  // records

std::int64_t record_of(const Piece& piece, const Order* order, std::int64_t i) {
  const std::int64_t position = piece.first + i * piece.stride;
  return order != nullptr ? order->records[static_cast<std::size_t>(position)] : position;
}

std::vector<Device> devices_of(const PipelineOptions& options) {
  return options.devices.empty() ? std::vector<Device>{Device::cpu()} : options.devices;
}

std::uint64_t bytes_of(const NDArray& array) {
  return static_cast<std::uint64_t>(array.size()) * dtype_size(array.dtype());
}

/// (rows, record's dimensions …)
Shape batch_shape(std::int64_t rows, const Shape& record) {
  std::vector<std::int64_t> dims = {rows};
  dims.insert(dims.end(), record.dims().begin(), record.dims().end());
  return Shape(std::span<const std::int64_t>(dims));
}

}  // namespace

/// Counts an assembly as running.
class Assembler::Running {
 public:
  explicit Running(Assembler& assembler) : assembler_(assembler) {
    const std::lock_guard lock(assembler_.mutex_);
    ++assembler_.running_;
  }
  ~Running() {
    const std::lock_guard lock(assembler_.mutex_);
    if (--assembler_.running_ == 0) assembler_.idle_.notify_all();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  Assembler& assembler_;
};

Assembler::Assembler(std::shared_ptr<const Reader> reader, const PipelineOptions& options)
    : reader_(std::move(reader)),
      transforms_(options.transforms),
      seed_(options.seed),
      devices_(devices_of(options)),
      orders_(reader_->size(), options.seed),
      shuffle_(options.shuffle) {
  for (int i = 0; i < options.decode_threads; ++i) {
    decoders_.push_back(Engine::get().new_variable("io.decoder"));
  }
}

std::shared_ptr<Assembly> Assembler::push(const Cursor& cursor, Plan plan) {
  auto assembly = std::make_shared<Assembly>();
  assembly->cursor = cursor;
  assembly->batch.pad = plan.pad;
  assembly->batch.epoch = cursor.epoch;
  assembly->batch.index = cursor.index;
  make_arrays(*assembly, plan.rows);
  assembly->pieces = std::move(plan.pieces);

  const std::span<const Var> variables = reader_->variables();
  std::vector<Var> reads(variables.begin(), variables.end());
  for (const Piece& piece : assembly->pieces) {
    assembly->orders.push_back(shuffle_ ? orders_.of(piece.epoch) : nullptr);
    if (shuffle_) reads.push_back(assembly->orders.back()->var);
  }
  PushOptions options;
  options.priority = kPriority;
  options.name = "io.assemble";
  options.overwrites = true;
  // Each value is read and written once to decode it, and once by each transform.
  options.bytes = 2 * (1 + transforms_.size()) *
                  (bytes_of(assembly->host_data) + bytes_of(assembly->host_label));
  const Var& decoder = decoders_[next_decoder_++ % decoders_.size()];
  Engine::get().push([self = shared_from_this(), assembly] { self->run(*assembly); }, reads,
                     {assembly->host_data.var(), assembly->host_label.var(), decoder}, options);
  return assembly;
}

void Assembler::make_arrays(Assembly& assembly, std::int64_t rows) const {
  const Device device = devices_[static_cast<std::size_t>(assembly.cursor.index) % devices_.size()];
  const Device host = device.is_gpu() ? Device::cpu_pinned() : device;
  const Shape shape = batch_shape(rows, reader_->record_shape());
  assembly.host_data = NDArray(shape, host);
  assembly.host_label = NDArray({rows}, host);
  assembly.batch.data = device.is_gpu() ? NDArray(shape, device) : assembly.host_data;
  assembly.batch.label = device.is_gpu() ? NDArray({rows}, device) : assembly.host_label;
}

void Assembler::run(Assembly& assembly) {
  const Running running(*this);
  try {
    if (fill(assembly) && assembly.batch.data.device().is_gpu()) {
      assembly.batch.data.copy_from(assembly.host_data);
      assembly.batch.label.copy_from(assembly.host_label);
    }
  } catch (...) {
    assembly.error = std::current_exception();
  }
  assembly.finished.store(now_ns());
}

bool Assembler::fill(Assembly& assembly) const {
  const auto width = static_cast<std::size_t>(reader_->record_shape().size());
  auto* data = assembly.host_data.data<float>();
  auto* label = assembly.host_label.data<float>();
  for (std::size_t p = 0; p < assembly.pieces.size(); ++p) {
    const Piece& piece = assembly.pieces[p];
    const Order* order = assembly.orders[p].get();
    for (std::int64_t i = 0; i < piece.count; ++i) {
      if (assembly.cancelled.load()) return false;
      if (i + kReadAhead < piece.count) reader_->prefetch(record_of(piece, order, i + kReadAhead));
      fill_row(piece.epoch, record_of(piece, order, i), {data, width}, *label);
      data += width;
      ++label;
    }
  }
  return true;
}

void Assembler::fill_row(std::int64_t epoch, std::int64_t id, std::span<float> data,
                         float& label) const {
  reader_->read(id, data, label);
  if (transforms_.empty()) return;
  Sample sample{data, reader_->record_shape(), label, id, RandomStream(seed_, epoch, id)};
  for (const Transform& transform : transforms_) transform(sample);
}

void Assembler::wait_idle(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  idle_.wait_for(lock, limit, [this] { return running_ == 0; });
}

}  // namespace heddle::io
