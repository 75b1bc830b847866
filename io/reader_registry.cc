#include "io/reader_registry.h"

#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>

#include "heddle/error.h"

namespace heddle::io {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<const Reader>> readers;
};

Registry& registry() {
  static auto* const made = new Registry;  // sources in static objects may outlive any order
  return *made;
}

std::string identity(const std::string& reader, const std::string& file) {
  std::error_code code;
  const std::filesystem::path path = std::filesystem::canonical(file, code);
  if (code) throw Error("[" + reader + "] '" + file + "': cannot open: " + code.message());
  const auto size = std::filesystem::file_size(path, code);
  if (code) throw Error("[" + reader + "] '" + file + "': is not a regular file");
  const auto changed = std::filesystem::last_write_time(path, code);
  if (code) throw Error("[" + reader + "] '" + file + "': cannot open: " + code.message());
  return path.native() + '\0' + std::to_string(size) + '\0' +
         std::to_string(changed.time_since_epoch().count()) + '\0';
}

}  // namespace

std::shared_ptr<const Reader> shared_reader(
    const std::string& reader, std::span<const std::string> files,
    const std::function<std::shared_ptr<const Reader>()>& open) {
  std::string key = reader + '\0';
  for (const std::string& file : files) key += identity(reader, file);
  Registry& shared = registry();
  const std::lock_guard lock(shared.mutex);
  std::erase_if(shared.readers, [](const auto& entry) { return entry.second.expired(); });
  if (const auto known = shared.readers.find(key); known != shared.readers.end()) {
    if (auto alive = known->second.lock()) return alive;
  }
  auto opened = open();
  shared.readers[key] = opened;
  return opened;
}

}  // namespace heddle::io
