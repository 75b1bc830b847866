#include "engine/access_check.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "heddle/error.h"

#include "engine/var_state.h"

namespace heddle::detail {
namespace {

std::size_t digest_of(const void* bytes, std::size_t size) {
  return std::hash<std::string_view>()({static_cast<const char*>(bytes), size});
}

/// "'a', 'b'" of the variables declared for reading only, or for writing; "nothing".
std::string names(const std::vector<AccessCheck::Declared>& declared, bool write) {
  std::string text;
  for (const AccessCheck::Declared& each : declared) {
    if (each.write != write) continue;
    text += (text.empty() ? "'" : ", '") + each.var->name + "'";
  }
  return text.empty() ? "nothing" : text;
}

}  // namespace

AccessCheck::AccessCheck(std::string_view name, std::uint64_t sequence,
                         std::vector<Declared> declared)
    : who_("'" + std::string(name) + "' #" + std::to_string(sequence)),
      declared_(std::move(declared)) {}

bool AccessCheck::touch(const VarState& var, bool to_write) {
  const auto found = std::find_if(declared_.begin(), declared_.end(),
                                  [&var](const Declared& each) { return each.var == &var; });
  if (found == declared_.end()) refuse(var, "touches, but does not declare,");
  if (to_write && !found->write) refuse(var, "writes, but declares for reading only,");
  return found->write;
}

void AccessCheck::guard(const VarState& var, const void* bytes, std::size_t size) {
  const bool known = std::any_of(guarded_.begin(), guarded_.end(), [&](const Guarded& each) {
    return each.bytes == bytes && each.size == size;
  });
  if (!known) guarded_.push_back({&var, bytes, size, digest_of(bytes, size)});
}

void AccessCheck::finish() {
  for (const Guarded& each : std::exchange(guarded_, {})) {
    if (digest_of(each.bytes, each.size) != each.digest) {
      refuse(*each.var, "has written, but declares for reading only,");
    }
  }
  if (!refused_.empty()) throw AccessViolation(refused_);
}

void AccessCheck::refuse(const VarState& var, std::string_view what) {
  const std::string message = "operation " + who_ + " " + std::string(what) +
                              " the array of variable '" + var.name + "': it reads " +
                              names(declared_, false) + " and mutates " + names(declared_, true);
  if (refused_.empty()) refused_ = message;
  throw AccessViolation(message);
}

}  // namespace heddle::detail
