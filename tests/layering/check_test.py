#!/usr/bin/env python3
"""The tests of check.py: each gives it a tree with one fault and expects that fault's line."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import check

TABLE = """
constexpr std::array<Variable, 3> kVariables = {{
    {"HEDDLE_KIND", "quick or slow", "The kind. quick (default): so. "
     "slow: so.", store_kind},
    {"HEDDLE_LIMIT", "an integer from 1 to 9",
     "A limit; 5 by default.",
     store_limit},
    {"HEDDLE_TRACE", "0 or 1", "1: more.", store_switch<&Environment::trace>},
}};
auto* text = getenv("HEDDLE_KIND");
"""
README = """
| Variable | Values | Meaning |
|---|---|---|
| `HEDDLE_KIND` | `quick`, `slow` | `quick` by default. |
| `HEDDLE_LIMIT` | 1 to 9 | A limit; 5 by default. |
| `HEDDLE_TRACE` | `0`, `1` | More. |
| `OMP_NUM_THREADS` | as OpenMP says | Another's. |
"""
OPTIONS = """
  /// HEDDLE_KIND
  EngineKind kind = EngineKind::kQuick;
  /// HEDDLE_LIMIT. A limit,
  /// which is one.
  std::chrono::milliseconds limit{5};
  /// HEDDLE_TRACE. More.
  bool trace = false;
  int other = 3;
"""
GOOD_TREE = {
    "README.md": README,
    "include/heddle/options.h": OPTIONS,
    "include/heddle/heddle.h": '#include "heddle/engine.h"\n#include "heddle/io.h"\n',
    "include/heddle/engine.h": "#include <vector>\n",
    "include/heddle/ndarray.h": '#include "heddle/engine.h"\n',
    "include/heddle/io.h": '#include "heddle/ndarray.h"\n',
    "engine/engine.cc": '#include "heddle/engine.h"\n#include "engine/tracker.h"\n',
    "engine/flag.h": "bool is() const { return is_.load(std::memory_order_acquire); }\n",
    "engine/flag.cc": "is_.store(true, std::memory_order_release);\n",
    "engine/MEMORY_ORDERS.md": "# Orders\n\n## Flag: `flag.h`, `flag.cc`\n\n- `is_`: a flag.\n",
    "engine/base/environment.cc": TABLE,
    "engine/device/cuda_devices.cc": "#include <cuda_runtime_api.h>\n",
    "ops/dot.cu": '#include <cublas_v2.h>\n#include "ndarray/block.h"\n',
    "ops/dot.cc": "#include <cblas.h>\n",
    "kvstore/local.cc": '#include "ops/sum.h"\n#include "heddle/ndarray.h"\n',
    "io/record_io.cc": '#include <dmlc/recordio.h>\n#include "heddle/ndarray.h"\n',
    "tests/io/io_test.cc": '#include "io/reader.h"\nauto* was = getenv("HEDDLE_GPUS");\n',
    "examples/01_engine.cc": "#include <heddle/heddle.h>\n",
}


def write_tree(tree, folder):
    for name, text in tree.items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def problems_of(tree):
    with tempfile.TemporaryDirectory() as folder:
        write_tree(tree, folder)
        return list(check.tree_problems(Path(folder)))


class CheckTest(unittest.TestCase):
    def assert_refused(self, file, text, expected):
        problems = problems_of({**GOOD_TREE, file: text})
        self.assertEqual(len(problems), 1, problems)
        self.assertIn(file, problems[0])
        self.assertIn(expected, problems[0])

    def test_a_good_tree_has_no_problems(self):
        self.assertEqual(problems_of(GOOD_TREE), [])

    def test_no_layer_includes_one_above_it(self):
        order = ["engine", "ndarray", "ops", "kvstore"]
        for low, layer in enumerate(order):
            for above in order[low + 1 :]:
                self.assert_refused(
                    f"{layer}/x.cc", f'#include "{above}/y.h"\n', f"is of layer {above}"
                )

    def test_io_includes_neither_ops_nor_kvstore_and_none_of_them_includes_io(self):
        for layer in ["ops", "kvstore"]:
            self.assert_refused("io/x.h", f'#include "{layer}/y.h"\n', f"is of layer {layer}")
        for layer in ["engine", "ndarray", "ops", "kvstore"]:
            self.assert_refused(f"{layer}/x.h", '#include "io/y.h"\n', "is of layer io")

    def test_public_headers_belong_to_layers_too(self):
        self.assert_refused("engine/x.cc", '#include "heddle/ndarray.h"\n', "of layer ndarray")
        self.assert_refused("io/x.cc", "#include <heddle/kvstore.h>\n", "of layer kvstore")
        self.assert_refused(
            "include/heddle/engine.h", '#include "heddle/io.h"\n', "is of layer io"
        )

    def test_a_public_header_must_be_given_a_layer(self):
        self.assert_refused("include/heddle/new.h", "", "without a layer")

    def test_private_headers_stay_out_of_the_public_ones_and_of_examples(self):
        self.assert_refused("include/heddle/var.h", '#include "engine/y.h"\n', "is private")
        self.assert_refused("examples/x.cc", '#include "ops/y.h"\n', "is private")

    def test_public_headers_include_no_library_but_the_standard_one(self):
        self.assert_refused("include/heddle/var.h", "#include <cblas.h>\n", "standard library")

    def test_cuda_headers_stay_in_cuda_files(self):
        self.assert_refused("ops/x.cc", "#include <cuda_fp16.h>\n", "*cuda*")
        self.assert_refused("tests/ops/x.cc", "#include <nccl.h>\n", "*cuda*")

    def test_dmlc_headers_stay_in_the_sources_of_io(self):
        self.assert_refused("io/x.h", "#include <dmlc/io.h>\n", ".cc files of io/")
        self.assert_refused("ndarray/x.cc", "#include <dmlc/io.h>\n", ".cc files of io/")

    def test_includes_do_not_climb(self):
        self.assert_refused("tests/ops/x.cc", '#include "../y.h"\n', "climbs")

    def test_the_environment_is_read_in_one_file(self):
        self.assert_refused("ops/x.cc", 'auto* v = std::getenv("X");\n', "environment.cc only")

    def test_nothing_is_a_fence_or_hides_from_a_sanitizer(self):
        fence = "std::atomic_thread_fence(std::memory_order_seq_cst);\n"
        self.assert_refused("ops/x.cc", fence, "a fence")
        self.assert_refused("tests/x.cc", '__attribute__((no_sanitize("thread")))\n', "suppressed")
        hook = "const char* __tsan_default_suppressions();\n"
        self.assert_refused("tests/x.cc", hook, "suppressed")

    def test_an_explicit_memory_order_is_explained(self):
        for code in [
            "count_.load(std::memory_order_relaxed);",
            "return count_[f(i, 0)].load(std::memory_order::relaxed);",
            "now_.at(i).store(2); x.count_.at(i).store(is_.load(),\n  std::memory_order_release);",
            "state(x)->count_.fetch_add(g(), std::memory_order_relaxed);",
        ]:
            self.assert_refused("engine/flag.cc", code, "expected `count_` in a section")
        self.assert_refused("engine/x.h", "is_.load(std::memory_order_relaxed);", "expected `x.h`")
        self.assert_refused("engine/x.h", "using L = S<std::memory_order_acquire>;", "`x.h`")

    def test_an_order_is_explained_where_its_file_is_named(self):
        orders = GOOD_TREE["engine/MEMORY_ORDERS.md"] + "\n## Other: `x.h`\n\n- Nothing.\n"
        tree = {**GOOD_TREE, "engine/MEMORY_ORDERS.md": orders}
        tree["engine/x.h"] = "is_.load(std::memory_order_relaxed);\n"
        problems = problems_of(tree)
        self.assertEqual(len(problems), 1, problems)
        self.assertIn("expected `is_` in a section", problems[0])

    def test_a_default_order_need_not_be_explained(self):
        tree = {**GOOD_TREE, "engine/x.cc": "count_.store(other_.load()); wait(lock);\n"}
        self.assertEqual(problems_of(tree), [])

    def test_what_the_explanation_names_is_there(self):
        orders = GOOD_TREE["engine/MEMORY_ORDERS.md"]
        for more, expected in {
            "See `gone.h`.\n": "`gone.h` is not there",
            "See `tests/relacy/gone_test.cc`.\n": "`tests/relacy/gone_test.cc` is not there",
            "- `gone_`: a hint.\n": "`gone_` is in none of the files",
        }.items():
            self.assert_refused("engine/MEMORY_ORDERS.md", orders + more, expected)

    def test_files_stay_short_blank_lines_apart(self):
        self.assert_refused("ops/x.h", "int x;\n" * 201, "201 lines")
        self.assert_refused("tests/x.cc", "int x;\n" * 401, "401 lines")
        self.assertEqual(problems_of({**GOOD_TREE, "ops/x.h": "int x;\n\n" * 200}), [])

    def assert_differs(self, file, before, after, expected):
        self.assertEqual(GOOD_TREE[file].count(before), 1)
        self.assert_refused(file, GOOD_TREE[file].replace(before, after), expected)

    def test_the_readme_has_a_row_for_each_variable_and_for_no_other(self):
        row = "| `HEDDLE_TRACE` | `0`, `1` | More. |\n"
        self.assert_differs("README.md", row, "", "no row is about HEDDLE_TRACE")
        self.assert_differs("README.md", row, row + row, "two rows")
        other = "| `HEDDLE_OTHER` | `0`, `1` | More. |\n"
        self.assert_differs("README.md", row, row + other, "HEDDLE_OTHER is no variable")

    def test_the_readme_says_the_values_and_defaults_of_the_table(self):
        self.assert_differs("README.md", "5 by", "6 by", 'HEDDLE_LIMIT is "6" by default')
        self.assert_differs("README.md", "; 5 by default", "", 'HEDDLE_LIMIT is "" by default')
        self.assert_differs("README.md", "More", "More; 1 by default", 'HEDDLE_TRACE is "1"')
        self.assert_differs("README.md", "1 to 9", "1 to 8", 'HEDDLE_LIMIT takes "1 to 8"')
        self.assert_differs("README.md", "| More", "| Reserved: more", "HEDDLE_TRACE is reserved")

    def test_the_fields_of_the_options_have_the_defaults_of_the_table(self):
        file = "include/heddle/options.h"
        self.assert_differs(file, "kQuick", "kSlow", 'HEDDLE_KIND is "slow"')
        self.assert_differs(file, "{5}", "{6}", 'HEDDLE_LIMIT is "6"')
        self.assert_differs(file, "false", "true", 'HEDDLE_TRACE is "1"')
        self.assert_differs(file, "HEDDLE_TRACE. ", "", "no field's comment names HEDDLE_TRACE")
        self.assert_differs(file, "int other", "/// HEDDLE_OTHER\n  int other", "is no variable")

    def test_a_table_that_is_not_understood_is_refused(self):
        self.assert_differs("engine/base/environment.cc", "Variable, 3", "Variable, 4", "not all")

    def test_the_exit_status_tells_whether_there_were_problems(self):
        for header, status in {"vector": 0, "cblas.h": 1}.items():
            with tempfile.TemporaryDirectory() as folder:
                write_tree({**GOOD_TREE, "include/heddle/var.h": f"#include <{header}>\n"}, folder)
                with contextlib.redirect_stdout(io.StringIO()):
                    self.assertEqual(check.main([folder]), status)


if __name__ == "__main__":
    unittest.main()
