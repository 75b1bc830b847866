#include "engine/device/cuda_early_blocks.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "heddle/error.h"

#include "engine/device/cuda_stream.h"
#include "engine/device/size_class.h"

namespace heddle::device {

void* CudaEarlyBlocks::allocate(std::size_t bytes) {
  try {
    return pool_.allocate(bytes);
  } catch (const OutOfMemory&) {
    if (!settle_done()) throw;
  }
  return pool_.allocate(bytes);
}

void* CudaEarlyBlocks::allocate_for(CudaStream* stream, std::size_t bytes) {
  if (void* const block = stream != nullptr ? take(bytes, *stream) : nullptr) return block;
  try {
    return allocate(bytes);
  } catch (const OutOfMemory&) {
    CudaStream::flush_held();  // before that nothing comes back of what it used
    if (void* const block = stream != nullptr ? take_and_wait(bytes, *stream) : nullptr) {
      return block;
    }
    throw;
  }
}

CudaEarlyBlocks::Ticket CudaEarlyBlocks::add(void* block, std::size_t bytes,
                                             std::span<const Token> tokens) {
  const std::size_t size = block_size(bytes);
  Early early{
      .ticket = 0, .block = block, .bytes = bytes, .tokens = {tokens.begin(), tokens.end()}};
  const std::lock_guard lock(mutex_);
  early.ticket = last_ticket_ + 1;
  by_size_[size].push_back(std::move(early));
  bytes_.fetch_add(size, std::memory_order_relaxed);
  return ++last_ticket_;
}

void CudaEarlyBlocks::add_until_end(CudaPiece& piece, void* block, std::size_t bytes,
                                    std::span<const Token> tokens) {
  piece.endings.reserve(piece.endings.size() + 1);
  try {
    const Ticket ticket = add(block, bytes, tokens);
    piece.endings.emplace_back([this, ticket, bytes] { settle(ticket, bytes); });
  } catch (const std::bad_alloc&) {  // nobody can be told: it comes back when the work is done
    piece.endings.emplace_back([this, block, bytes] { pool_.deallocate(block, bytes); });
  }
}

void CudaEarlyBlocks::settle(Ticket ticket, std::size_t bytes) noexcept {
  void* block = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto entry = by_size_.find(block_size(bytes));
    if (entry == by_size_.end()) return;
    Blocks& blocks = entry->second;
    const auto place = std::find_if(blocks.begin(), blocks.end(),
                                    [&](const Early& early) { return early.ticket == ticket; });
    if (place == blocks.end()) return;
    block = remove(entry->first, blocks, place).block;
  }
  pool_.deallocate(block, bytes);
}

void* CudaEarlyBlocks::take(std::size_t bytes, const CudaStream& stream) {
  const std::lock_guard lock(mutex_);
  const auto entry = by_size_.find(block_size(bytes));
  if (entry == by_size_.end()) return nullptr;
  Blocks& blocks = entry->second;
  const auto sees = [&](Token token) { return stream.has_seen(token) || is_reached(token); };
  const auto last = std::find_if(blocks.rbegin(), blocks.rend(), [&](const Early& early) {
    return std::all_of(early.tokens.begin(), early.tokens.end(), sees);
  });
  if (last == blocks.rend()) return nullptr;
  return remove(entry->first, blocks, std::prev(last.base())).block;
}

void* CudaEarlyBlocks::take_and_wait(std::size_t bytes, CudaStream& stream) {
  const std::lock_guard lock(mutex_);
  const auto entry = by_size_.find(block_size(bytes));
  if (entry == by_size_.end()) return nullptr;
  Blocks& blocks = entry->second;
  // To wait for what a thread holds back could mean to wait for one that wants the mutex.
  const auto first = std::find_if(blocks.begin(), blocks.end(), [](const Early& early) {
    return std::all_of(early.tokens.begin(), early.tokens.end(), is_submitted);
  });
  if (first == blocks.end()) return nullptr;
  stream.wait_for(first->tokens);
  return remove(entry->first, blocks, first).block;
}

bool CudaEarlyBlocks::settle_done() {
  std::vector<Early> done;
  {
    const std::lock_guard lock(mutex_);
    std::size_t count = 0;
    for (const auto& [size, blocks] : by_size_) count += blocks.size();
    done.reserve(count);  // so that none that has left is lost
    for (auto& [size, blocks] : by_size_) {
      for (auto place = blocks.begin(); place != blocks.end();) {
        if (std::all_of(place->tokens.begin(), place->tokens.end(), is_done)) {
          done.push_back(remove(size, blocks, place));
        } else {
          ++place;
        }
      }
    }
  }
  for (const Early& early : done) pool_.deallocate(early.block, early.bytes);
  return !done.empty();
}

CudaEarlyBlocks::Early CudaEarlyBlocks::remove(std::size_t size, Blocks& blocks,
                                               Blocks::iterator place) {
  Early early = std::move(*place);
  blocks.erase(place);
  bytes_.fetch_sub(size, std::memory_order_relaxed);
  return early;
}

}  // namespace heddle::device
