#include "tests/support/program_text.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "heddle/trace.h"

namespace heddle::support {
namespace {

template <class Value, std::size_t kCount>
using Names = std::array<std::pair<Value, std::string_view>, kCount>;

constexpr Names<EngineKind, 4> kEngines = {{{EngineKind::kThreaded, "threaded"},
                                            {EngineKind::kPooled, "pooled"},
                                            {EngineKind::kNaive, "naive"},
                                            {EngineKind::kExplore, "explore"}}};

constexpr Names<Ending, 7> kEndings = {{{Ending::kReturn, "return"},
                                        {Ending::kThrow, "throw"},
                                        {Ending::kThrowNumber, "throw_number"},
                                        {Ending::kDone, "done"},
                                        {Ending::kDoneElsewhere, "done_elsewhere"},
                                        {Ending::kFailElsewhere, "fail_elsewhere"},
                                        {Ending::kDrop, "drop"}}};

constexpr Names<Step::Kind, 7> kSteps = {{{Step::Kind::kPush, "push"},
                                          {Step::Kind::kDelete, "delete"},
                                          {Step::Kind::kClear, "clear"},
                                          {Step::Kind::kWaitForVar, "wait_for_var"},
                                          {Step::Kind::kWaitForUnused, "wait_for_unused"},
                                          {Step::Kind::kWaitForAll, "wait_for_all"},
                                          {Step::Kind::kCancel, "cancel"}}};

constexpr Names<Lane, 5> kLanes = {{{Lane::kCompute, "compute"},
                                    {Lane::kCopyIn, "copy_in"},
                                    {Lane::kCopyOut, "copy_out"},
                                    {Lane::kComm, "comm"},
                                    {Lane::kBlocking, "blocking"}}};

template <class Value, std::size_t kCount>
std::string_view name_of(const Names<Value, kCount>& names, Value value) {
  return std::find_if(names.begin(), names.end(),
                      [value](const auto& each) { return each.first == value; })
      ->second;
}

template <class Value, std::size_t kCount>
Value value_of(const Names<Value, kCount>& names, const std::string& name) {
  for (const auto& [value, its_name] : names) {
    if (its_name == name) return value;
  }
  throw std::invalid_argument("\"" + name + "\" is not known");
}

void write(std::ostream& out, const RandomOperation& operation) {
  const RandomOperation plain;
  out << "operation";
  if (operation.read_count != 0) out << " reads";
  for (const std::uint16_t index : operation.reads()) out << ' ' << index;
  if (operation.mutate_count != 0) out << " mutates";
  for (const std::uint16_t index : operation.mutates()) out << ' ' << index;
  if (operation.device != plain.device) out << " device " << operation.device.str();
  if (operation.lane != plain.lane) out << " lane " << name_of(kLanes, operation.lane);
  if (operation.priority != 0) out << " priority " << static_cast<int>(operation.priority);
  if (operation.ending != plain.ending) out << " ending " << name_of(kEndings, operation.ending);
  if (operation.overwrites) out << " overwrites";
  if (operation.try_first) out << " try";
  if (operation.group != plain.group) out << " group " << operation.group;
  if (operation.child != plain.child) out << " child " << operation.child;
  out << '\n';
}

/// The words of a line.
class Words {
 public:
  explicit Words(const std::string& line) : in_(line) {}

  /// The next one, or "".
  std::string next() {
    std::string word;
    in_ >> word;
    return word;
  }
  int number() {
    const std::string word = next();
    std::size_t used = 0;
    int value = 0;
    try {
      value = std::stoi(word, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used == 0 || used != word.size()) {
      throw std::invalid_argument("\"" + word + "\" is not a number");
    }
    return value;
  }
  /// One that is not negative.
  int index() {
    const int value = number();
    if (value < 0) throw std::invalid_argument(std::to_string(value) + " is negative");
    return value;
  }
  bool has_number() {
    in_ >> std::ws;
    return in_.peek() >= '0' && in_.peek() <= '9';
  }

 private:
  std::istringstream in_;
};

Device parse_device(const std::string& word) {
  const std::size_t open = word.find('(');
  const std::string kind = word.substr(0, open);
  const int id = open == std::string::npos ? 0 : Words(word.substr(open + 1, 1)).index();
  if (kind == "gpu") return Device::gpu(id);
  if (kind == "cpu_pinned") return Device::cpu_pinned(id);
  if (kind == "cpu") return Device::cpu(id);
  throw std::invalid_argument("\"" + word + "\" is no device");
}

template <std::size_t kMost>
void parse_list(Words& words, std::array<std::uint16_t, kMost>& list, std::uint8_t& count) {
  for (count = 0; words.has_number(); ++count) {
    if (count == kMost) throw std::invalid_argument("too many variables");
    list.at(count) = static_cast<std::uint16_t>(words.index());
  }
}

RandomOperation parse_operation(Words& words) {
  RandomOperation operation;
  const std::map<std::string, std::function<void()>> parts = {
      {"reads", [&] { parse_list(words, operation.reads_, operation.read_count); }},
      {"mutates", [&] { parse_list(words, operation.mutates_, operation.mutate_count); }},
      {"device", [&] { operation.device = parse_device(words.next()); }},
      {"lane", [&] { operation.lane = value_of(kLanes, words.next()); }},
      {"priority", [&] { operation.priority = static_cast<std::int8_t>(words.number()); }},
      {"ending", [&] { operation.ending = value_of(kEndings, words.next()); }},
      {"overwrites", [&] { operation.overwrites = true; }},
      {"try", [&] { operation.try_first = true; }},
      {"group", [&] { operation.group = words.index(); }},
      {"child", [&] { operation.child = words.index(); }},
  };
  for (std::string word = words.next(); !word.empty(); word = words.next()) {
    const auto part = parts.find(word);
    if (part == parts.end()) throw std::invalid_argument("\"" + word + "\" is not known");
    part->second();
  }
  return operation;
}

void parse_engine(Words& words, EngineOptions& options) {
  options.kind = value_of(kEngines, words.next());
  for (std::string word = words.next(); !word.empty(); word = words.next()) {
    if (word == "workers") {
      options.cpu_workers = words.index();
    } else if (word == "max_pending") {
      options.max_pending = static_cast<std::size_t>(words.index());
    } else if (word == "seed") {
      options.seed = std::stoull(words.next());
    } else {
      throw std::invalid_argument("\"" + word + "\" is not known");
    }
  }
}

void parse_line(const std::string& line, ProgramText& text) {
  Words words(line);
  const std::string word = words.next();
  Program& program = text.program;
  if (word.empty() || word.starts_with('#')) return;
  if (word == "engine") return parse_engine(words, text.options);
  if (word == "variables") {
    program.shape.variables = words.index();
  } else if (word == "operation") {
    program.operations.push_back(parse_operation(words));
  } else if (word == "thread") {
    program.threads.emplace_back();
  } else {
    const Step::Kind kind = value_of(kSteps, word);
    if (program.threads.empty()) throw std::invalid_argument("a step before the first thread");
    const int index = kind == Step::Kind::kWaitForAll ? 0 : words.index();
    program.threads.back().push_back({kind, index});
  }
}

/// Counts what is named, and sees that it is there.
class Count {
 public:
  explicit Count(Program& program) : program_(program), pushes_(program.operations.size()) {}

  void run() {
    for (const RandomOperation& operation : program_.operations) count(operation);
    for (const std::vector<Step>& steps : program_.threads) {
      for (const Step& step : steps) count(step);
    }
    if (std::any_of(pushes_.begin(), pushes_.end(), [](int pushes) { return pushes > 1; })) {
      throw std::invalid_argument("an operation is pushed twice");
    }
    if (program_.threads.empty()) program_.threads.emplace_back();
    program_.shape.threads = static_cast<int>(program_.threads.size());
  }

 private:
  void count(const RandomOperation& operation) {
    for (const std::uint16_t index : operation.reads()) check_variable(index);
    for (const std::uint16_t index : operation.mutates()) check_variable(index);
    program_.groups = std::max(program_.groups, operation.group + 1);
    program_.shape.children |= operation.child != RandomOperation::kNone;
    if (operation.child != RandomOperation::kNone) count_push(operation.child);
  }
  void count(const Step& step) {
    if (step.kind == Step::Kind::kPush) {
      count_push(step.index);
    } else if (step.kind == Step::Kind::kCancel) {
      program_.groups = std::max(program_.groups, step.index + 1);
    } else {
      check_variable(step.index);
    }
  }
  void count_push(int operation) {
    check(operation, pushes_.size(), "operation ");
    ++pushes_[static_cast<std::size_t>(operation)];
  }
  void check_variable(int index) const {
    check(index, static_cast<std::size_t>(program_.shape.variables), "variable ");
  }
  static void check(int index, std::size_t count, const std::string& what) {
    if (index < static_cast<int>(count)) return;
    throw std::invalid_argument("there is no " + what + std::to_string(index));
  }

  Program& program_;
  std::vector<int> pushes_;
};

}  // namespace

std::string to_text(const Program& program, const EngineOptions& options) {
  std::ostringstream out;
  out << "engine " << name_of(kEngines, options.kind) << " workers " << options.cpu_workers
      << " max_pending " << options.max_pending << " seed " << options.seed << '\n';
  out << "variables " << program.shape.variables << '\n';
  for (const RandomOperation& operation : program.operations) write(out, operation);
  for (const std::vector<Step>& steps : program.threads) {
    out << "thread\n";
    for (const Step& step : steps) {
      out << name_of(kSteps, step.kind);
      if (step.kind != Step::Kind::kWaitForAll) out << ' ' << step.index;
      out << '\n';
    }
  }
  return out.str();
}

ProgramText parse_program(std::string_view text) {
  ProgramText result;
  std::istringstream in{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    try {
      parse_line(line, result);
    } catch (const std::exception& error) {
      throw std::invalid_argument("line " + std::to_string(number) + ": " + error.what());
    }
  }
  result.program.shape.children = false;
  Count(result.program).run();
  return result;
}

}  // namespace heddle::support
