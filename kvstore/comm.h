#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heddle/device.h"
#include "heddle/ndarray.h"

namespace heddle::kvstore {

/// A range of a value's elements and the device that keeps and sums them.
struct Part {
  std::int64_t begin = 0;
  std::int64_t size = 0;
  Device device;
};

/// How arrays that lie on several devices meet, and how a value gets back to them.
///
/// All operations carry the caller's priority; nothing waits. Thread safety: the caller serializes
/// the calls.
class Comm {
 public:
  Comm() = default;
  virtual ~Comm() = default;
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  /// Where a value that was given on `device` is kept until something is pushed to it.
  virtual Device home(Device device) const = 0;

  /// Where a value is kept, and what is pushed to it is summed, once arrays on `devices` are pushed
  /// to it: parts in order that make up all its `size` elements of `width` bytes. One part unless
  /// `divisible`. Called once per value.
  virtual std::vector<Part> place(std::int64_t size, std::size_t width,
                                  std::span<const Device> devices, bool divisible) = 0;

  /// Arrays that a kernel on the part's device reads where they are and whose sum, in order, is the
  /// sum of the part of `values`. `buffers` belongs to the part: it grows to hold what has to
  /// be moved, and is used again by the next call for it.
  virtual std::vector<NDArray> gather(const Part& part, std::span<const NDArray* const> values,
                                      std::vector<NDArray>& buffers, int priority);

  /// The elements of the part, as a view.
  static NDArray slice(const NDArray& value, const Part& part);

  /// Copies a value, given by its parts, to `out`.
  virtual void broadcast(std::span<const NDArray> parts, const NDArray& out, int priority);

 protected:
  /// Equal parts, but for a few elements, on `devices` in their order. At least one.
  static std::vector<Part> split(std::int64_t size, std::span<const Device> devices);
  /// What place() returns if all arrays are in the CPU's memory: parts on `device`, so many that
  /// the CPU's workers can share the work if that is worth it.
  static std::vector<Part> place_on_cpu(std::int64_t size, std::size_t width, Device device,
                                        bool divisible);
};

}  // namespace heddle::kvstore
