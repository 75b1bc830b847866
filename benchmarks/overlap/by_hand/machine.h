#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <heddle/heddle.h>

#include "ops/matmul.h"

// What scripts by hand are written with, as CUDA has it: nothing orders the work but streams, and
// events that they wait for. The calls are thin: of a simulated GPU, on heddle's device layer, and
// of a real one, on CUDA's runtime.

namespace bench::overlap::by_hand {

/// Elements in the memory of a device or the host, from the start of the script to its end.
struct Buffer {
  float* data = nullptr;
  std::int64_t size = 0;
  heddle::Device device;
};

/// A point in the order of a stream: the one at which it was last recorded.
enum class Event : std::size_t {};

/// What becomes of two elements; of a gradient and a result of relu(), the gradient of its operand.
enum class Combination { kMaximum, kSum, kReluBackward };

/// An in-order queue of one GPU. No call waits for work.
class Stream {
 public:
  virtual ~Stream() = default;

  /// What is enqueued from now on runs behind the point at which `event` was recorded by now.
  virtual void wait(Event event) = 0;
  /// Records `event` behind what was enqueued so far.
  virtual void record(Event event) = 0;

  virtual void copy(const Buffer& from, const Buffer& to) = 0;
  /// out = a b, transposed as `sizes` says.
  virtual void multiply(const heddle::ops::MatmulSizes& sizes, const Buffer& a, const Buffer& b,
                        const Buffer& out) = 0;
  /// Element by element; `out` may be an operand.
  virtual void combine(Combination how, const Buffer& a, const Buffer& b, const Buffer& out) = 0;
  virtual void relu(const Buffer& x, const Buffer& out) = 0;
  /// out = x times the transpose of `weight`, plus `bias` in each row.
  virtual void fully_connected(const heddle::ops::MatmulSizes& sizes, const Buffer& x,
                               const Buffer& weight, const Buffer& bias, const Buffer& out) = 0;
  /// The gradients of what that has added up: weight = the transpose of `grad` times x, and bias =
  /// the sum of the rows of `grad`.
  virtual void weight_gradient(const heddle::ops::MatmulSizes& sizes, const Buffer& grad,
                               const Buffer& x, const Buffer& weight, const Buffer& bias) = 0;
  /// Of the mean of the cross entropies of softmax(logits), with a row for each label.
  virtual void loss_gradient(const Buffer& logits, const Buffer& labels, const Buffer& out) = 0;
  /// weight -= lr (first + second)
  virtual void update(const Buffer& first, const Buffer& second, const Buffer& weight,
                      double lr) = 0;
};

/// The GPUs of the process, apart from heddle's engine. Belongs to one thread.
class Machine {
 public:
  virtual ~Machine() = default;

  // These live as long as the machine.
  virtual Stream& make_stream(heddle::Device gpu, heddle::Lane lane) = 0;
  virtual Event make_event(heddle::Device gpu) = 0;  ///< for its streams to record, any to wait for
  virtual Buffer make_buffer(heddle::Device device, std::span<const float> values) = 0;

  /// Blocks until everything enqueued has ended.
  virtual void synchronize() = 0;
  /// With nothing enqueued.
  virtual std::vector<float> read(const Buffer& buffer) = 0;
  /// What has run since the last call, with nothing enqueued: where, and from when to when. Real
  /// GPUs tell of what ran alone only, and logical ones that share a real one as of one of them: to
  /// time work among other work costs some of the time.
  virtual std::vector<heddle::OpRecord> take_records() = 0;
  /// Until it is called again, real GPUs run each piece of work alone. With nothing enqueued, and
  /// when the scripts have run before: a piece must need nothing that waits for the whole GPU, as
  /// to load a kernel does.
  virtual void run_alone(bool /*alone*/) {}
};

/// Whether HEDDLE_GPUS, or heddle::configure(), says real ones.
bool on_real_gpus();
/// For the GPUs that they say.
std::unique_ptr<Machine> make_machine();

// The two kinds of it. The build chooses the file that defines the second.
std::unique_ptr<Machine> make_simulated_machine();
std::unique_ptr<Machine> make_cuda_machine();

}  // namespace bench::overlap::by_hand
