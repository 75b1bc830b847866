#include <array>
#include <cstddef>
#include <new>

#include "tests/relacy/model.h"

// Relacy replaces the operators new and delete by inline ones, which find leaks and what is deleted
// twice. Where every call of them is inlined the standard library would call its own: here they are
// asked for by address.

namespace {

[[gnu::used]] const std::array<void* (*)(std::size_t), 2> kNew{&::operator new, &::operator new[] };
[[gnu::used]] const std::array<void (*)(void*) noexcept, 2> kDelete{&::operator delete,
                                                                    &::operator delete[] };

}  // namespace

void operator delete(void* block, std::size_t /*bytes*/) noexcept { ::operator delete(block); }
void operator delete[](void* block, std::size_t /*bytes*/) noexcept { ::operator delete[](block); }
