#include "tests/explore/fiber.h"

#include <cstring>
#include <new>
#include <utility>

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

namespace heddle::explore {
namespace {

/// The fiber that is being started: makecontext() passes integers only.
Fiber* g_starting = nullptr;

std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

Fiber::Fiber()
    : stack_(mmap(nullptr, kStack + page(), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
  if (stack_ == MAP_FAILED) throw std::bad_alloc();
  mprotect(stack_, page(), PROT_NONE);
}

Fiber::~Fiber() { munmap(stack_, kStack + page()); }

void Fiber::reset(std::function<void()> body) {
  body_ = std::move(body);
  exceptions_ = {};
  getcontext(&context_);
  context_.uc_stack.ss_sp = static_cast<std::byte*>(stack_) + page();
  context_.uc_stack.ss_size = kStack;
  context_.uc_link = nullptr;
  makecontext(&context_, &Fiber::start, 0);
}

void Fiber::start() { g_starting->body_(); }

void Fiber::change(Fiber& from, Fiber& to) {
  void* const exceptions = abi::__cxa_get_globals();
  std::memcpy(&from.exceptions_, exceptions, sizeof(Exceptions));
  std::memcpy(exceptions, &to.exceptions_, sizeof(Exceptions));
  g_starting = &to;
  swapcontext(&from.context_, &to.context_);
}

}  // namespace heddle::explore
