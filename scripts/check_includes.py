#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Enforces who may include whom (docs/architecture.md, "Folders"), from the #include lines alone, and that names live in
the namespace of their folder.

Usage: check_includes.py [ROOT]. Prints one line a violation; exit status 1 if there are any.
"""

import pathlib
import re
import sys

FOLDERS = ("core", "graphs", "exec", "sims", "traces", "profiler", "study", "gui", "cli", "python", "tests", "bench",
           "samples")
ANYTHING = frozenset(FOLDERS)

# A folder of exec with such a file is a backend (exec/device/backends.h): only itself and its tests include it.
BACKEND_MARK = "backend.cpp"

# Which folders a folder may include beside itself.
MAY_INCLUDE = {
    "core": frozenset(),
    "graphs": frozenset({"core"}),
    "exec": frozenset({"core"}),
    "sims": frozenset({"core"}),
    "traces": frozenset({"core"}),
    "profiler": frozenset({"core", "traces"}),
    "study": frozenset({"core", "exec", "sims", "traces", "profiler"}),
    "gui": frozenset({"core", "traces"}),
    "cli": ANYTHING,
    "python": frozenset({"core", "exec", "sims", "traces", "study"}),
    "tests": ANYTHING,
    "bench": ANYTHING,
    "samples": frozenset({"core", "graphs", "exec", "sims", "traces", "study"}),
}
# The one part of the GUI that edits, predicts and runs.
GUI_DOCUMENT = "gui/document/"
GUI_DOCUMENT_EXTRA = frozenset({"study"})

# What lies beside the rooms of its folder: the one header that both timelines, the real and the missing one, provide.
NO_ROOM = frozenset({"gui/gui.h"})
# Folders that consist of rooms, and which rooms of its folder a room may include beside itself; what lies deeper than a
# room belongs to it.
ROOMS = {
    "core": {
        "base": frozenset(),
        "time": frozenset({"base", "machine"}),
        "graph": frozenset({"base"}),
        "machine": frozenset({"base"}),
        "place": frozenset({"base", "graph", "machine"}),
        "collective": frozenset({"base", "time", "graph", "machine", "place"}),
        "expand": frozenset({"base", "graph", "machine", "time", "place", "collective"}),
        "schedule": frozenset({"base", "graph", "machine", "time", "place", "collective"}),
        "inputs": frozenset({"base", "graph", "machine", "time", "place", "collective", "expand", "schedule"}),
        "strategies": frozenset({"base", "graph", "machine", "time", "place", "collective", "expand", "schedule", "inputs"}),
        "record": frozenset({"base", "graph", "machine", "time", "place", "collective", "schedule"}),
        "runs": frozenset({"base", "graph", "machine", "time", "place", "collective", "schedule", "record"}),
    },
    "exec": {
        "functors": frozenset(),
        "loops": frozenset({"functors"}),
        "resources": frozenset({"functors"}),
        "readers": frozenset(),
        "device": frozenset({"functors", "resources"}),
        "kernels": frozenset({"functors", "loops", "resources", "readers", "device"}),
        "stream": frozenset({"functors", "resources", "device"}),
        "messages": frozenset({"functors", "resources", "device"}),
        "measure": frozenset({"functors", "loops", "resources", "readers", "device", "kernels", "messages"}),
        "calls": frozenset({"functors", "resources", "device", "messages"}),
        "run": frozenset({"functors", "loops", "resources", "readers", "device", "kernels", "stream", "messages", "calls"}),
        "serve": frozenset({"functors", "loops", "resources", "readers", "device", "kernels", "stream", "messages", "calls",
                            "run"}),
    },
    "sims": {
        "engine": frozenset(),
        "steps": frozenset({"engine"}),
        "effects": frozenset({"engine", "steps"}),
        "cost": frozenset({"engine", "steps", "effects"}),
        "fit": frozenset({"engine", "steps", "effects", "cost"}),
        "predict": frozenset({"engine", "steps", "effects", "cost", "fit"}),
        "search": frozenset({"engine", "steps", "effects", "cost", "fit", "predict"}),
        "plans": frozenset(),
        "megatron": frozenset({"plans"}),
    },
    "study": {
        "base": frozenset(),
        "workload": frozenset({"base"}),
        "job": frozenset({"base", "workload"}),
        "measure": frozenset({"base", "workload", "job"}),
        "predict": frozenset({"base", "workload", "job", "measure"}),
        "compare": frozenset({"base", "workload", "job", "measure", "predict"}),
        "gate": frozenset({"base", "workload", "job", "measure", "predict"}),
    },
    "traces": {
        "store": frozenset(),
        "record": frozenset({"store"}),
        "read": frozenset({"store"}),
        "report": frozenset({"store", "read"}),
        "replay": frozenset({"store", "read"}),
        "import": frozenset({"store", "read"}),
        "export": frozenset({"store", "read"}),
    },
    "gui": {
        "model": frozenset(),
        "document": frozenset({"model"}),
        "platform": frozenset(),
        "app": frozenset({"model", "document", "platform"}),
        "stub": frozenset(),
    },
}

# What a backend may include of exec beside itself; its folder is one more room there.
BACKEND_MAY_INCLUDE = frozenset({"functors", "loops", "resources", "readers", "device", "kernels"})
# Rooms whose headers their own library sees alone, whatever they say of themselves; so it is with backends.
INTERNAL_ROOMS = frozenset({"exec/functors", "exec/loops", "exec/kernels", "exec/calls", "exec/serve", "core/time",
                            "sims/megatron"})
# The headers that are installed, one a line.
PUBLIC_HEADERS = "cmake/public_headers.txt"
# Of these, what the build makes.
MADE_HEADERS = frozenset({"graphs/ops.h"})

CUDA_SOURCE = re.compile(r"(\.cuh?$)|(^(tests/)?profiler/cupti\w*\.(h|cpp)$)")

# Third-party headers: what they are, and which files may include them.
THIRD_PARTY = (
    ("CUDA", re.compile(r"(cuda|cublas|cudnn|cupti|nvrtc|nccl|curand|cooperative_groups)[\w/]*\.(h|hpp|cuh)$"),
     lambda path: CUDA_SOURCE.search(path)),
    ("SQLite", re.compile(r"sqlite3(ext)?\.h$"), lambda path: path.startswith(("traces/", "tests/", "bench/"))),
    ("ImGui and GLFW", re.compile(r"(imgui|imstb_|GLFW/|GL/|EGL/|backends/imgui)"),
     lambda path: path.startswith(("gui/", "tests/gui/"))),
    ("protobuf", re.compile(r"(google/protobuf/|.*\.pb\.h$)"), lambda path: path.startswith(("core/", "tests/core/"))),
    ("CLI11", re.compile(r"CLI/"), lambda path: path.startswith(("cli/", "tests/cli/"))),
    ("BLAS", re.compile(r"(cblas|openblas_config|f77blas)\.h$"), lambda path: path.startswith(("exec/", "bench/"))),
    ("nanobind", re.compile(r"nanobind/"), lambda path: path.startswith("python/")),
    ("GoogleTest", re.compile(r"(gtest|gmock)/"), lambda path: path.startswith("tests/")),
    ("Google Benchmark", re.compile(r"benchmark/"), lambda path: path.startswith("bench/")),
)
# What a header that several libraries see must not bring in.
NOT_IN_SHARED = re.compile(r"(google/protobuf/|.*\.pb\.h$|nlohmann/|simdjson\.h$|sqlite3\.h$|CLI/)")

# Folders whose names are in lanescope::FOLDER; those of core are in lanescope itself.
NAMESPACES = frozenset({"graphs", "exec", "sims", "traces", "profiler", "study", "gui", "cli", "python"})
NAMESPACE = re.compile(r"^namespace (lanescope[\w:]*) \{", re.MULTILINE)
# "Internal to traces and gui.", in the comment that a header begins with; it may be broken anywhere.
INTERNAL = re.compile(r"\bInternal to\s+(?://\s*)?([\w/]+(?:(?:,|\s+(?://\s*)?and)\s+(?://\s*)?[\w/]+)*)")
INCLUDE = re.compile(r'^\s*#\s*include\s*(<([^>]+)>|"([^"]+)")', re.MULTILINE)
SUFFIXES = {".h", ".cpp", ".cu", ".cuh", ".inc"}


def includes_of(text):
    """Yields (line number, header, is it in quotes) of every #include line."""
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start(1)) + 1
        yield line, match.group(2) or match.group(3), match.group(3) is not None


def folders_of_internal(text):
    """The folders to whom a header's first comment says that it is internal, or None."""
    said = INTERNAL.search(text.split("#pragma once")[0])
    return said and frozenset(re.findall(r"[\w/]+", re.sub(r"\band\b|//\s", " ", said.group(1))))


def private_headers(root):
    """By header that says of itself "Internal to ...": to which folders."""
    headers = (file for folder in MAY_INCLUDE["samples"] for file in (root / folder).rglob("*.h"))
    said = ((file, folders_of_internal(file.read_text(encoding="utf-8"))) for file in headers)
    return {file.relative_to(root).as_posix(): folders for file, folders in said if folders}


def room_of(path):
    """The room that a file lies in, or None: "graph" of core/graph/ops/op_spec.h."""
    folder, *rest = path.split("/")
    return rest[0] if folder in ROOMS and len(rest) > 1 else None


def rooms_of(folder, backends):
    """The rooms of a folder, backends among them, each with those that it may include."""
    own = {backend.split("/")[1]: BACKEND_MAY_INCLUDE for backend in backends if backend.startswith(f"{folder}/")}
    return ROOMS[folder] | own


def public_headers(root):
    """The headers that are installed; none where the tree has no list."""
    file = root / PUBLIC_HEADERS
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return [line for line in lines if line.endswith(".h")]


def is_shared(path, private):
    """The headers that several libraries may see: those directly in a library's folder or in one of its rooms, less the
    private ones."""
    folder, *rest = path.split("/")
    room = room_of(path)
    in_place = len(rest) == (2 if folder in ROOMS else 1)
    known = folder not in ROOMS or (room in ROOMS[folder] and f"{folder}/{room}" not in INTERNAL_ROOMS)
    return folder in MAY_INCLUDE["samples"] and in_place and known and path.endswith(".h") and path not in private


def check_folder(path, header):
    """The folder rule: `header` belongs to a folder that the file's folder may include."""
    source, target = path.split("/")[0], header.split("/")[0]
    allowed = MAY_INCLUDE[source] | {source}
    if path.startswith(GUI_DOCUMENT):
        allowed |= GUI_DOCUMENT_EXTRA
    if target not in allowed:
        yield f"{source}/ may not include {target}/ ({header})"


def check_room(path, header, backends):
    """The rule of rooms, between files of one folder that has some. Who may include backends, their own rule says."""
    folder, source, target = path.split("/")[0], room_of(path), room_of(header)
    if source is None or target is None or not header.startswith(f"{folder}/") or header.startswith(tuple(backends)):
        return
    if target not in rooms_of(folder, backends).get(source, frozenset()) | {source}:
        yield f"{folder}/{source}/ may not include {folder}/{target}/ ({header})"


def check_backends(path, header, backends):
    """Nobody knows a vendor but its backend and that one's tests."""
    for backend in backends:
        if header.startswith(backend) and not path.startswith((backend, "tests/")):
            yield f"only {backend} and its tests may include {header}; go by exec/device/backends.h and exec/device/stream_device.h"


def check_third_party(path, header):
    for name, pattern, is_allowed in THIRD_PARTY:
        if pattern.match(header) and not is_allowed(path):
            yield f"{name} header not allowed here ({header})"


def check_internal(path, header, private):
    """A header that says whose it is belongs to them, their tests and benchmarks."""
    if path.startswith(("tests/", "bench/")) or header not in private:
        return
    if not any(path.startswith(f"{folder}/") for folder in private[header]):
        yield f"{header} says that it is internal to {', '.join(sorted(private[header]))}"


def check_shared(path, header, is_project_header, private):
    if not is_shared(path, private):
        return
    if NOT_IN_SHARED.match(header):
        yield f'a shared header may not include {header}; move it to the .cpp or say in its first comment: "Internal to ..."'
    elif is_project_header and not is_shared(header, private):
        yield f"a shared header may not include the private header {header}"


def check_public(root, private):
    """What is installed must compile where nothing else is: it includes what is installed alone."""
    public = public_headers(root)
    if public != sorted(set(public)):
        yield f"{PUBLIC_HEADERS}: the headers stand in order, each once"
    for path in public:
        file = root / path
        if path in MADE_HEADERS:
            continue
        if not file.is_file() or not is_shared(path, private):
            yield f"{PUBLIC_HEADERS}: {path} is no header of a library, or one that says that it is internal"
            continue
        for line, header, _ in includes_of(file.read_text(encoding="utf-8")):
            if header.split("/")[0] in FOLDERS and "/" in header and header not in public:
                yield (f"{path}:{line}: a public header may not include {header}, which is not installed; declare what it needs "
                       f"of it, or add it to {PUBLIC_HEADERS}")


def check_namespace(path, text):
    """A file that declares something declares it in its folder's namespace (and may name what others define)."""
    parts = path.split("/")
    folder = parts[1] if parts[0] == "tests" and len(parts) > 2 else parts[0]
    opened = NAMESPACE.findall(text)
    own = f"lanescope::{folder}"
    if folder in NAMESPACES and opened and not any(f"{name}::".startswith(f"{own}::") for name in opened):
        yield f"{path}: declares names in {opened[0]}; those of its folder live in {own}"


def check_file(path, text, private, backends):
    """Yields one message for each violation of one file; `path` is relative to the root, with slashes."""
    yield from check_namespace(path, text)
    for line, header, in_quotes in includes_of(text):
        is_project_header = header.split("/")[0] in FOLDERS and "/" in header
        messages = []
        if is_project_header:
            messages += check_folder(path, header)
            messages += check_room(path, header, backends)
            messages += check_backends(path, header, backends)
        else:
            messages += check_third_party(path, header)
            if in_quotes and not header.endswith((".pb.h", ".inc")):
                messages.append(f"name the project's headers from its root, others in angle brackets ({header})")
        messages += check_internal(path, header, private)
        messages += check_shared(path, header, is_project_header, private)
        for message in messages:
            yield f"{path}:{line}: {message}"


def check_tree(root):
    """All violations of a tree, and the number of files read."""
    private = private_headers(root)
    backends = [f"exec/{file.parent.name}/" for file in sorted(root.glob(f"exec/*/{BACKEND_MARK}"))]
    violations, files = [], 0
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in SUFFIXES and file.is_file():
                files += 1
                path = file.relative_to(root).as_posix()
                if folder in ROOMS and room_of(path) is None and path not in NO_ROOM:
                    violations.append(f"{path}: {folder}/ consists of rooms; move the file into one of them")
                violations += check_file(path, file.read_text(encoding="utf-8"), private, backends)
    violations += check_public(root, private)
    violations += [f"{folder}/{room.name}/ is not among the rooms of {folder}; say in scripts/check_includes.py what it may include"
                   for folder in ROOMS for room in sorted((root / folder).glob("*"))
                   if room.is_dir() and room.name not in rooms_of(folder, backends)]
    return violations, files


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    violations, files = check_tree(root)
    print("\n".join(violations + [f"include rules: {files} files, {len(violations)} violations"]))
    return 1 if violations or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
