#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/device.h"
#include "heddle/ndarray.h"
#include "heddle/sample.h"
#include "heddle/shape.h"

/// Input: sources of records, and pipelines that make batches of them ahead of use.
namespace heddle::io {

class Reader;

/// A set of records, each an array of record_shape() and one label. A handle; copies, and sources
/// opened from the same unchanged files, share one reader and its memory.
///
/// Thread safety: as a std::shared_ptr to something immutable.
class Source {
 public:
  /// Refers to nothing; every use but assignment and destruction is std::invalid_argument.
  Source() = default;
  explicit Source(std::shared_ptr<const Reader> reader) : reader_(std::move(reader)) {}

  /// Number of records.
  std::int64_t size() const;
  /// (C, H, W) or (F).
  const Shape& record_shape() const;
  const std::shared_ptr<const Reader>& reader() const { return reader_; }

  friend bool operator==(const Source&, const Source&) = default;  ///< share a reader

 private:
  std::shared_ptr<const Reader> reader_;
};

/// The images (N x 1 x H x W, values 0..255) and labels of two IDX files of unsigned bytes, each
/// plain or gzip by its content. Blocks while both are read into memory as bytes. Every check is
/// made here: a file that is missing, cut short, too long or of another kind, or whose number of
/// labels is not that of the images, is an Error that names file, offset and what was expected.
Source idx(const std::string& images, const std::string& labels);

/// The rows of `data` (N x C x H x W, N x F, …) and of `label` (N or N x 1), of any types and
/// devices: a snapshot as of this place in the program, float32, on the CPU. Does not block. An
/// error that poisons the arrays reaches next(). Shapes that do not fit: std::invalid_argument.
Source in_memory(const NDArray& data, const NDArray& label);

/// Part `index` of `count`: every count-th record of the epoch's order, from the index-th on.
struct Shard {
  int index = 0;
  int count = 1;
  friend bool operator==(const Shard&, const Shard&) = default;
};

/// What becomes of the records that are left when no whole batch is.
enum class LastBatch : std::uint8_t {
  kKeep,      ///< a smaller batch
  kPad,       ///< a batch filled up from the epoch's start; Batch::pad says by how many
  kDiscard,   ///< nothing
  kRollOver,  ///< they open the next epoch
};

/// What becomes of a damaged record. Without effect in this build: the records of idx and in_memory
/// cannot be damaged, as their sources check everything when they are opened.
enum class OnCorrupt : std::uint8_t {
  kThrow,       ///< next() throws, after the batches before it
  kSkip,        ///< it is left out
  kSubstitute,  ///< another record of the shard takes its place
};

struct PipelineOptions {
  int batch_size = 1;
  bool shuffle = false;  ///< one permutation of the whole source per (seed, epoch)
  std::uint64_t seed = 0;
  Shard shard = {};
  LastBatch last_batch = LastBatch::kKeep;
  std::vector<Transform> transforms = {};  ///< applied in order
  int decode_threads = 1;                  ///< batches assembled at the same time, at most
  int prefetch = 4;                        ///< batches assembled and copied ahead of use
  std::vector<Device> devices = {};  ///< batch k of an epoch lies on devices[k % size]; {}: CPU
  OnCorrupt on_corrupt = OnCorrupt::kThrow;
  int max_corrupt = 0;  ///< 0: no limit; n: the (n + 1)th damaged record throws
};

/// Belongs to whoever got it: valid and unchanged while a handle lives, also without the pipeline.
struct Batch {
  NDArray data;   ///< N x record_shape, float32
  NDArray label;  ///< N, float32
  int pad = 0;    ///< of the N, how many at the end repeat others
  std::int64_t epoch = 0;
  std::int64_t index = 0;  ///< in the epoch
};

/// A consumer's position, with what it is a position in. A value.
struct State {
  std::int64_t epoch = 0;
  std::int64_t index = 0;    ///< of the batch that next() delivers next
  std::int64_t carried = 0;  ///< records rolled over into this epoch
  std::int64_t records = 0;  ///< of the source
  int batch_size = 1;
  bool shuffle = false;
  std::uint64_t seed = 0;
  Shard shard = {};
  LastBatch last_batch = LastBatch::kKeep;

  /// One line of text.
  std::string str() const;
  /// The inverse of str(). Throws std::invalid_argument for any other text.
  static State parse(std::string_view text);
  friend bool operator==(const State&, const State&) = default;
};

/// Counts since the pipeline was made.
struct Meters {
  std::int64_t batches = 0;          ///< delivered by next()
  std::int64_t records = 0;          ///< in them, without padding
  std::int64_t corrupt = 0;          ///< damaged records met
  std::int64_t bytes_read = 0;       ///< from files, by the source's reader, for all its pipelines
  double consumer_wait_seconds = 0;  ///< next() waited for a batch to be assembled
  double producer_wait_seconds = 0;  ///< all batches ahead were ready, and none was asked for
};

/// Delivers a source's records in batches, epoch after epoch, and prepares up to `prefetch` of
/// them ahead. Which records a batch holds, and their transformed values, depend on the source,
/// seed, shard, batch_size, last_batch and transforms only, never on threads or timing. Keeps
/// prefetch batches ahead and, until they are out of use, the prefetch + 1 delivered last.
///
/// Thread safety: every member may be called from any thread; concurrent calls of next() get a
/// batch each. Not from inside operations or transforms, but for meters().
///
/// The destructor, reset() and restore() never wait for a transform that is slow: it goes on
/// alone, so whatever a transform refers to must outlive it (the destructor grants it 20 ms).
class Pipeline {
 public:
  /// Starts to prefetch; blocks while the engine's max_pending operations are pending, as next()
  /// may. std::invalid_argument: no source, batch_size, decode_threads or prefetch
  /// below 1, a shard outside its count, an empty transform, max_corrupt below 0.
  Pipeline(Source source, PipelineOptions options);
  /// `other` may then be assigned to or destroyed only.
  Pipeline(Pipeline&& other) noexcept;
  Pipeline& operator=(Pipeline&&) noexcept;
  ~Pipeline();

  /// The next batch, or nullopt once at the end of each epoch; the call after that begins the
  /// following one. Blocks until the batch is assembled; its copy to a device may be under way.
  /// Throws what a transform or the reader threw, again and again until reset() or restore(); the
  /// batches before are delivered first.
  ///
  /// Holding batches never blocks. But so that a program which never waits does not run ahead
  /// without bound, the call also blocks until the operations pushed so far on the data that
  /// prefetch + 1 calls ago delivered have ended, and throws the error that poisons that data.
  std::optional<Batch> next();

  /// Drops the rest of the epoch that next() has begun; without one, does nothing.
  void reset();

  State state() const;
  /// Continues at `state`, taken from a pipeline over as many records with the same batch_size,
  /// shuffle, seed, shard and last_batch; std::invalid_argument if it cannot be such a state.
  void restore(const State& state);

  /// Of the epoch that next() is in or will begin. Varies with kRollOver only.
  std::int64_t batches_per_epoch() const;
  const Source& source() const;
  Meters meters() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace heddle::io
