"""A wrong include in a tree is caught, a right one is not."""

import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import check_includes  # noqa: E402


def violations(files, private=()):
    """Violations of a temporary tree that holds `files` (path to text)."""
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        for path, text in {**files, "cmake/private_headers.txt": "\n".join(private)}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        return check_includes.check_tree(root)[0]


def one(path, line):
    return violations({path: f"// A comment.\n{line}\n"})


class FolderRules(unittest.TestCase):
    def test_each_folder_sees_only_what_the_table_lists(self):
        libraries = ["core", "exec", "sims", "traces", "profiler", "study", "gui", "cli"]
        allowed = {"core": "", "exec": "core", "sims": "core", "traces": "core", "profiler": "core traces",
                   "study": "core exec sims traces profiler", "gui": "core traces",
                   "cli": "core exec sims traces profiler study gui"}
        for source in libraries:
            for target in libraries:
                legal = target == source or target in allowed[source].split()
                found = one(f"{source}/a.cpp", f'#include "{target}/b.h"')
                self.assertEqual(len(found), 0 if legal else 1, f"{source} includes {target}: {found}")

    def test_only_the_document_of_the_gui_reaches_studies_and_nothing_below(self):
        self.assertEqual(one("gui/document_edit.cpp", '#include "study/predictor.h"'), [])
        self.assertEqual(len(one("gui/timeline.cpp", '#include "study/predictor.h"')), 1)
        for engine in ("exec/session.h", "sims/predict.h", "profiler/capture_session.h"):
            self.assertEqual(len(one("gui/document.cpp", f'#include "{engine}"')), 1)

    def test_the_message_names_file_and_line(self):
        self.assertRegex(one("sims/a.cpp", '#include "exec/b.h"')[0], r"^sims/a\.cpp:2: .*exec/b\.h")

    def test_project_headers_are_named_from_the_root(self):
        self.assertEqual(len(one("core/a.cpp", '#include "graph.h"')), 1)
        self.assertEqual(len(one("core/a.cpp", '#include "../exec/b.h"')), 1)

    def test_a_comment_is_no_include(self):
        self.assertEqual(one("core/a.cpp", '// #include "exec/b.h"'), [])


class BackendRules(unittest.TestCase):
    def test_a_backend_is_included_by_itself_and_its_tests_alone(self):
        for path, legal in (("exec/session.cpp", False), ("exec/device.cpp", False), ("exec/kernels/a.cpp", False),
                            ("cli/devices.cpp", False), ("bench/a.cpp", False), ("exec/newchip/a.cpp", True),
                            ("exec/newchip/module/a.cu", True), ("tests/exec/newchip/a_test.cpp", True)):
            found = violations({"exec/newchip/backend.cpp": "", path: '#include "exec/newchip/device.h"\n'})
            self.assertEqual(len(found), 0 if legal else 1, f"{path}: {found}")

    def test_one_backend_does_not_include_another(self):
        tree = {"exec/a/backend.cpp": '#include "exec/b/device.h"\n', "exec/b/backend.cpp": ""}
        self.assertEqual(len(violations(tree)), 1)

    def test_a_folder_without_the_mark_is_no_backend(self):
        self.assertEqual(one("exec/session.cpp", '#include "exec/kernels/blas.h"'), [])

    def test_the_backend_of_this_tree_is_known(self):
        self.assertTrue((ROOT / "exec" / "cuda" / check_includes.BACKEND_MARK).is_file())


class ThirdPartyRules(unittest.TestCase):
    def expect(self, header, right, wrong):
        line = f"#include <{header}>"
        self.assertEqual(one(right, line), [])
        self.assertEqual(len(one(wrong, line)), 1, f"{header} in {wrong}")

    def test_every_rule(self):
        self.expect("cuda_runtime.h", "exec/device.cu", "exec/device.cpp")
        self.expect("cuda_runtime.h", "exec/device.cuh", "exec/device.h")
        self.expect("cublas_v2.h", "exec/linear.cu", "exec/linear.cpp")
        self.expect("cupti.h", "profiler/cupti_source.cpp", "profiler/capture.cpp")
        self.expect("sqlite3.h", "traces/sqlite.cpp", "cli/query.cpp")
        self.expect("imgui.h", "gui/panel.cpp", "cli/gui.cpp")
        self.expect("GLFW/glfw3.h", "gui/window.cpp", "core/window.cpp")
        self.expect("google/protobuf/text_format.h", "core/graph_io.cpp", "exec/session.cpp")
        self.expect("CLI/CLI.hpp", "cli/main.cpp", "core/options.cpp")
        self.expect("cblas.h", "exec/linear.cpp", "core/ops.cpp")
        self.expect("gtest/gtest.h", "tests/core/a_test.cpp", "core/a.cpp")


class PublicHeaders(unittest.TestCase):
    def test_public_headers_bring_in_no_private_dependency(self):
        for header in ("<nlohmann/json.hpp>", '"graph.pb.h"', "<google/protobuf/message.h>"):
            text = {"core/a.h": f"#include {header}\n"}
            self.assertEqual(len(violations(text)), 1, header)
            self.assertEqual(violations(text, private=["core/a.h"]), [])

    def test_public_headers_do_not_reach_private_ones(self):
        private = {"core/inner.h": "#include <nlohmann/json.hpp>\n", "core/ops/op.h": ""}
        for header in private:
            found = violations({**private, "core/a.h": f'#include "{header}"\n'}, private=["core/inner.h"])
            self.assertEqual(len(found), 1, found)

    def test_a_listed_header_must_exist(self):
        self.assertEqual(len(violations({"core/a.h": ""}, private=["core/gone.h"])), 1)


if __name__ == "__main__":
    unittest.main()
