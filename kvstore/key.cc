#include <stdexcept>

#include "heddle/kvstore.h"

namespace heddle {

namespace {

std::string_view checked(const char* name) {
  if (name == nullptr) throw std::invalid_argument("[kvstore] a null pointer is no key");
  return name;
}

}  // namespace

Key::Key(const char* name) : Key(checked(name)) {}

Key::Key(std::string_view name) : name_(std::string(name)) {}

std::string Key::str() const {
  const int* number = std::get_if<int>(&name_);
  return number != nullptr ? std::to_string(*number) : std::get<std::string>(name_);
}

void Key::refuse_number(const std::string& number) {
  throw std::invalid_argument("[kvstore] key " + number + ": expected a number that fits an int");
}

}  // namespace heddle
