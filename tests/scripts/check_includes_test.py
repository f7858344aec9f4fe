# SPDX-License-Identifier: Apache-2.0
"""A wrong include in a tree is caught, a right one is not."""

import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import check_includes  # noqa: E402


def violations(files):
    """Violations of a temporary tree that holds `files` (path to text)."""
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        for path, text in files.items():
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
        room = {"core": "core/base", "exec": "exec/device", "sims": "sims/engine", "study": "study/base", "traces": "traces/store",
                "gui": "gui/model"}
        for source in libraries:
            for target in libraries:
                legal = target == source or target in allowed[source].split()
                found = one(f"{room.get(source, source)}/a.cpp", f'#include "{room.get(target, target)}/b.h"')
                self.assertEqual(len(found), 0 if legal else 1, f"{source} includes {target}: {found}")

    def test_only_the_document_of_the_gui_reaches_studies_and_nothing_below(self):
        self.assertEqual(one("gui/document/document_edit.cpp", '#include "study/predict/predictor.h"'), [])
        self.assertEqual(len(one("gui/model/timeline.cpp", '#include "study/predict/predictor.h"')), 1)
        for engine in ("exec/run/session.h", "sims/predict/predict.h", "profiler/capture_session.h"):
            self.assertEqual(len(one("gui/document/document.cpp", f'#include "{engine}"')), 1)

    def test_the_message_names_file_and_line(self):
        self.assertRegex(one("sims/engine/a.cpp", '#include "exec/run/b.h"')[0], r"^sims/engine/a\.cpp:2: .*exec/run/b\.h")

    def test_project_headers_are_named_from_the_root(self):
        self.assertEqual(len(one("core/base/a.cpp", '#include "graph.h"')), 1)
        self.assertEqual(len(one("core/base/a.cpp", '#include "../exec/b.h"')), 1)

    def test_a_comment_is_no_include(self):
        self.assertEqual(one("core/base/a.cpp", '// #include "exec/b.h"'), [])


class BackendRules(unittest.TestCase):
    def test_a_backend_is_included_by_itself_and_its_tests_alone(self):
        for path, legal in (("exec/run/session.cpp", False), ("exec/device/device.cpp", False), ("exec/kernels/a.cpp", False),
                            ("cli/devices.cpp", False), ("bench/a.cpp", False), ("exec/newchip/a.cpp", True),
                            ("exec/newchip/module/a.cu", True), ("tests/exec/newchip/a_test.cpp", True)):
            found = violations({"exec/newchip/backend.cpp": "", path: '#include "exec/newchip/device.h"\n'})
            self.assertEqual(len(found), 0 if legal else 1, f"{path}: {found}")

    def test_one_backend_does_not_include_another(self):
        tree = {"exec/a/backend.cpp": '#include "exec/b/device.h"\n', "exec/b/backend.cpp": ""}
        self.assertEqual(len(violations(tree)), 1)

    def test_a_folder_without_the_mark_is_no_backend(self):
        self.assertEqual(one("exec/run/session.cpp", '#include "exec/kernels/blas.h"'), [])

    def test_the_backend_of_this_tree_is_known(self):
        self.assertTrue((ROOT / "exec" / "cuda" / check_includes.BACKEND_MARK).is_file())


class ThirdPartyRules(unittest.TestCase):
    def expect(self, header, right, wrong):
        line = f"#include <{header}>"
        self.assertEqual(one(right, line), [])
        self.assertEqual(len(one(wrong, line)), 1, f"{header} in {wrong}")

    def test_every_rule(self):
        self.expect("cuda_runtime.h", "exec/kernels/a.cu", "exec/kernels/a.cpp")
        self.expect("cuda_runtime.h", "exec/kernels/a.cuh", "exec/device/device.h")
        self.expect("cublas_v2.h", "exec/kernels/linear.cu", "exec/kernels/linear.cpp")
        self.expect("cupti.h", "profiler/cupti_source.cpp", "profiler/capture.cpp")
        self.expect("sqlite3.h", "traces/store/sqlite.cpp", "cli/query.cpp")
        self.expect("imgui.h", "gui/app/panel.cpp", "cli/gui.cpp")
        self.expect("GLFW/glfw3.h", "gui/platform/window.cpp", "core/base/window.cpp")
        self.expect("google/protobuf/text_format.h", "core/graph/graph_io.cpp", "exec/run/session.cpp")
        self.expect("CLI/CLI.hpp", "cli/main.cpp", "core/base/options.cpp")
        self.expect("cblas.h", "exec/kernels/linear.cpp", "core/graph/ops.cpp")
        self.expect("gtest/gtest.h", "tests/core/a_test.cpp", "core/base/a.cpp")


class Namespaces(unittest.TestCase):
    def test_a_folder_declares_its_names_in_its_own_namespace(self):
        for path, namespace, legal in (("sims/engine/a.h", "lanescope::sims", True), ("sims/engine/a.h", "lanescope", False),
                                       ("sims/engine/a.h", "lanescope::simsalabim", False), ("core/graph/a.h", "lanescope", True),
                                       ("exec/loops/a.h", "lanescope::exec::loops", True), ("tests/sims/a.h", "lanescope", False),
                                       ("tests/support/a.h", "lanescope::test", True)):
            found = one(path, f"namespace {namespace} {{")
            self.assertEqual(len(found), 0 if legal else 1, found)

    def test_what_others_define_may_be_named_beside_that(self):
        text = "namespace lanescope::exec {\nclass Session;\n}\nnamespace lanescope::study {\n}\n"
        self.assertEqual(violations({"study/base/a.h": text}), [])


class RoomRules(unittest.TestCase):
    def test_a_room_sees_only_what_the_table_lists(self):
        for folder, rooms in check_includes.ROOMS.items():
            for source, allowed in rooms.items():
                for target in rooms:
                    found = one(f"{folder}/{source}/a.cpp", f'#include "{folder}/{target}/b.h"')
                    self.assertEqual(len(found), 0 if target == source or target in allowed else 1, found)

    def test_rooms_depend_on_each_other_in_one_direction(self):
        for rooms in check_includes.ROOMS.values():
            for room, allowed in rooms.items():
                for below in allowed:
                    self.assertLessEqual(rooms[below], allowed - {below}, f"{room} includes {below}")

    def test_what_lies_deeper_belongs_to_the_room(self):
        self.assertEqual(len(one("core/graph/ops/a.cpp", '#include "core/machine/machine.h"')), 1)
        self.assertEqual(one("core/place/a.cpp", '#include "core/graph/ops/window.h"'), [])

    def test_the_rules_end_at_the_folder(self):
        self.assertEqual(one("traces/store/a.cpp", '#include "core/runs/run_view.h"'), [])

    def test_every_file_lies_in_a_room_that_is_known(self):
        self.assertEqual(len(one("core/a.cpp", "")), 1)
        self.assertEqual(len(one("core/attic/a.cpp", "")), 1)
        self.assertEqual(one("gui/gui.h", ""), [])


class SharedHeaders(unittest.TestCase):
    def test_shared_headers_bring_in_no_private_dependency(self):
        for header in ("<nlohmann/json.hpp>", '"graph.pb.h"', "<google/protobuf/message.h>"):
            text = f"#pragma once\n#include {header}\n"
            self.assertEqual(len(violations({"core/graph/a.h": text})), 1, header)
            self.assertEqual(violations({"core/graph/a.h": "// Shapes. Internal to core.\n" + text}), [])
            self.assertEqual(len(violations({"core/graph/a.h": text + "// Internal to core.\n"})), 1, header)

    def test_internal_headers_stay_with_those_that_they_name(self):
        for said, users in (("Internal to traces.", "traces"), ("Internal to traces, gui and\n// cli.", "traces gui cli"),
                            ("Internal to traces/read.", "traces/read")):
            for user in ("traces/read", "traces/report", "gui/model", "cli", "study/base", "tests/gui", "bench"):
                found = violations({"traces/read/a.h": f"// Rows. {said}\n#pragma once\n",
                                    f"{user}/b.cpp": '#include "traces/read/a.h"\n'})
                folders = [user, user.split("/")[0], "tests" if user.startswith("tests") else "", "bench" if user == "bench" else ""]
                legal = user.startswith(("tests", "bench")) or any(folder in users.split() for folder in folders)
                self.assertEqual([message for message in found if "internal to" in message] == [], legal, f"{said} {user}: {found}")

    def test_shared_headers_do_not_reach_private_ones(self):
        private = {"core/graph/inner.h": "// Internal to core.\n#include <nlohmann/json.hpp>\n", "core/graph/ops/op.h": ""}
        for header in private:
            found = violations({**private, "core/graph/a.h": f'#include "{header}"\n'})
            self.assertEqual(len(found), 1, found)

    def test_shared_are_headers_of_a_folder_or_of_its_rooms(self):
        for header in ("exec/run/a.h", "traces/read/a.h"):
            self.assertEqual(len(one(header, "#include <sqlite3.h>") + one(header, "#include <nlohmann/json.hpp>")),
                             3 if header.startswith("exec/") else 2, header)
        for header in ("exec/kernels/a.h", "core/graph/ops/a.h"):
            self.assertEqual(one(header, "#include <nlohmann/json.hpp>"), [], header)


class PublicHeaders(unittest.TestCase):
    TREE = {"core/graph/a.h": '#include "core/graph/b.h"\n', "core/graph/b.h": "#include <vector>\n",
            "core/graph/inner.h": "// Internal to core.\n"}

    def messages(self, *listed, **more):
        return violations({**self.TREE, **more, check_includes.PUBLIC_HEADERS: "".join(f"{line}\n" for line in listed)})

    def test_what_is_installed_includes_what_is_installed_alone(self):
        self.assertEqual(self.messages("core/graph/a.h", "core/graph/b.h"), [])
        self.assertEqual(self.messages("core/graph/b.h"), [])
        [message] = self.messages("core/graph/a.h")
        self.assertRegex(message, r"^core/graph/a\.h:1: .*core/graph/b\.h, which is not installed")

    def test_the_list_names_headers_of_libraries_in_order_each_once(self):
        for wrong in ("core/graph/none.h", "core/graph/inner.h"):
            self.assertEqual(len(self.messages("core/graph/b.h", wrong)), 1, wrong)
        self.assertEqual(len(self.messages("core/graph/b.h", "core/graph/a.h")), 1)
        self.assertEqual(len(self.messages("core/graph/b.h", "core/graph/b.h")), 1)

    def test_this_tree_has_such_a_list(self):
        self.assertGreater(len(check_includes.public_headers(ROOT)), 1)


if __name__ == "__main__":
    unittest.main()
