#include "engine/device/machine.h"

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/temporary_folder.h"

namespace heddle::device {
namespace {

using Catch::Matchers::Contains;
using std::chrono::microseconds;

double speed(const Machine& machine, std::size_t from, std::size_t to) {
  return machine.links_of(from, machine.gpus).at(to).bytes_per_second;
}

std::string parse_error(const std::string& text) {
  try {
    parse_machine("file", text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("each GPU of a p3.16xlarge has six NVLinks, and all links are symmetric") {
  const Machine machine = machine_preset("p3.16xlarge");
  REQUIRE(machine.gpus == 8);
  for (std::size_t from = 0; from < 8; ++from) {
    double nv_links = 0;
    for (std::size_t to = 0; to < 8; ++to) {
      if (to == from) continue;
      CHECK(speed(machine, from, to) == speed(machine, to, from));
      if (speed(machine, from, to) > machine.peer.bytes_per_second) {
        nv_links += speed(machine, from, to) / 23e9;
      }
    }
    CHECK(nv_links == 6);
  }
  CHECK(speed(machine, 0, 4) == 46e9);
  CHECK(speed(machine, 0, 7) == machine.peer.bytes_per_second);
}

TEST_CASE("behind a switch all GPUs are equally far") {
  for (const char* name : {"pcie", "dgx-a100", "hgx-h100"}) {
    CHECK(machine_preset(name).links.empty());
    CHECK(machine_preset(name).peer.bytes_per_second > 1e10);
  }
}

TEST_CASE("an unknown machine is an error that lists those there are") {
  CHECK_THROWS_WITH(machine_preset("p4"), Contains("\"p4\"") &&
                                              Contains("pcie, p3.16xlarge, dgx-a100, hgx-h100") &&
                                              Contains("topology file"));
}

TEST_CASE("a topology file says speeds, latency and the link of each pair") {
  const Machine machine = parse_machine("file",
                                        "# three GPUs\n"
                                        "host 10GB/s\n"
                                        "latency 5us   # of all links\n"
                                        "flops 2TFLOP/s\n"
                                        "hbm 500GB/s\n"
                                        "launch 3us\r\n"
                                        "\n"
                                        "gpu - 20GB/s 30GB/s\n"
                                        "gpu 20GB/s - 40GB/s\n"
                                        "gpu\t30GB/s 40GB/s -");
  CHECK(machine.gpus == 3);
  CHECK(machine.host == LinkSpeed{10e9, microseconds(5)});
  CHECK(machine.compute == ComputeSpeed{2e12, 500e9, microseconds(3)});
  CHECK(speed(machine, 0, 1) == 20e9);
  CHECK(speed(machine, 0, 2) == 30e9);
  CHECK(speed(machine, 2, 1) == 40e9);
  CHECK(machine.links_of(1, 2)[0].latency == microseconds(5));
}

TEST_CASE("GPUs behind a switch share the links of the first of them") {
  const std::string table = "\ngpu - 1GB/s 1GB/s\ngpu 1GB/s - 1GB/s\ngpu 1GB/s 1GB/s -";
  const Machine machine = parse_machine("file", "switch 2 1" + table);
  CHECK(machine.ports == std::vector<std::size_t>{0, 1, 1});
  CHECK(parse_machine("file", table).ports.empty());
  CHECK(machine_preset("p3.16xlarge").ports == std::vector<std::size_t>{0, 0, 2, 2, 4, 4, 6, 6});
}

TEST_CASE("links that do not make a symmetric table of speeds are one line that names the link") {
  const auto [text, expected] = GENERATE(table<std::string, std::string>({
      {"", "one per GPU"},
      {"host 1GB/s", "one per GPU"},
      {"gpu - 1GB/s\ngpu 2GB/s -", "link 0 to 1 is not as fast as 1 to 0"},
      {"gpu - -1GB/s\ngpu -1GB/s -", "\"gpu -1GB/s\": expected a value as 23GB/s"},
      {"gpu - 0GB/s\ngpu 0GB/s -", "expected a value as 23GB/s"},
      {"gpu - nanGB/s\ngpu nanGB/s -", "expected a value as 23GB/s"},
      {"gpu - 1\ngpu 1 -", "expected a value as 23GB/s"},
      {"gpu 1GB/s -\ngpu - 1GB/s", "link 0 to 0"},
      {"gpu - 1GB/s\ngpu 1GB/s", "gpu 1 has 1 links"},
      {"gpu - 1GB/s", "gpu 0 has 2 links: expected one to each of the 1 GPUs"},
      {"gpu -\ngpu 1GB/s -", "gpu 0 has 1 links"},
      {"host fast\ngpu -", "11.5GB/s"},
      {"host\ngpu -", "11.5GB/s"},
      {"host 1GB/s 2GB/s\ngpu -", "takes one value"},
      {"switch\ngpu -", "takes the numbers of the GPUs"},
      {"switch x\ngpu -", "\"switch x\": expected the number of a GPU"},
      {"switch 0 0\ngpu -", "GPU 0 is behind a switch already"},
      {"switch 0 1\ngpu -", "GPU 1 is behind a switch: there are 1 GPUs"},
      {"speed 1GB/s\ngpu -", "file:1: \"speed\" is not one of host, latency"},
  }));
  CHECK_THAT(parse_error(text), Contains("file:") && Contains(expected) && !Contains("\n"));
}

TEST_CASE("a topology file that is not there is an error that names it") {
  const support::TemporaryFolder folder;
  CHECK_THROWS_WITH(read_machine(folder.path("none")),
                    Contains(folder.path("none")) && Contains("cannot be read"));
}

TEST_CASE("a folder for a topology file is an error that names it") {
  CHECK_THROWS_WITH(read_machine("/"), Contains("/: cannot be read"));
}

}  // namespace
}  // namespace heddle::device
