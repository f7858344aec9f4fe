#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the figures of docs/results that say how large and how tidy the code is.

Usage: code_figures.py [COMMIT]. COMMIT: HEAD. Counted are the .h, .cpp, .cu and .cuh files that git tracks. Those of
tests/ are tests; those of bench/ and samples/ are neither tests nor product.
"""

import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = re.compile(r"\.(h|cpp|cu|cuh)$")


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], check=True, capture_output=True).stdout.decode()


def sources(commit):
    names = [name for name in git("ls-tree", "-r", "--name-only", commit).splitlines() if SOURCE.search(name)]
    blobs = subprocess.run(["git", "-C", ROOT, "cat-file", "--batch"], check=True, capture_output=True,
                           input="".join(f"{commit}:{name}\n" for name in names).encode()).stdout
    files = {}
    for name in names:
        header, blobs = blobs.split(b"\n", 1)
        size = int(header.split()[2])
        files[name], blobs = blobs[:size].decode(), blobs[size + 1:]
    return files


def includes(files, folder, other, apart=None):
    pattern = re.compile(rf'^#include "{other}/', re.MULTILINE)
    return sum(len(pattern.findall(text)) for name, text in files.items()
               if name.startswith(folder + "/") and not (apart and name.startswith(apart + "/")))


def main():
    files = sources(sys.argv[1] if len(sys.argv) > 1 else "HEAD")
    product = {name: text for name, text in files.items() if not name.startswith(("tests/", "bench/", "samples/"))}
    tests = {name: text for name, text in files.items() if name.startswith("tests/")}
    lines = {name: text.count("\n") for name, text in files.items()}
    sizes = sorted(lines[name] for name in product)
    casts = sum(text.count("static_cast<size_t>") for text in files.values())
    product_casts = sum(text.count("static_cast<size_t>") for text in product.values())
    thrown = sum(len(re.findall(r"\bThrow\(", text)) for name, text in product.items() if name.startswith("exec/"))
    print(f"product: {len(product)} files, {sum(sizes):,} lines")
    print(f"tests: {len(tests)} files, {sum(lines[name] for name in tests):,} lines")
    print(f"lines a file of the product: median {statistics.median(sizes):.0f}, "
          f"nine tenths {sizes[len(sizes) * 9 // 10]}, over 400: {sum(size > 400 for size in sizes)}")
    print("largest:", ", ".join(f"{name} {lines[name]}" for name in sorted(product, key=lines.get, reverse=True)[:5]))
    print("largest tests:", ", ".join(f"{name} {lines[name]}" for name in sorted(tests, key=lines.get, reverse=True)[:5]))
    print(f"static_cast<size_t>: {casts:,}; {1000 * product_casts / sum(sizes):.1f} a thousand lines of product")
    print(f"errors thrown in exec/: {thrown}")
    print(f"includes of exec/cuda by exec outside it: {includes(files, 'exec', 'exec/cuda', 'exec/cuda')}")
    for folder, others in (("gui", ("exec", "sims")), ("cli", ("exec", "sims", "traces", "study")),
                           ("sims", ("exec",)), ("exec", ("sims",))):
        print(f"includes by {folder}:", ", ".join(f"{includes(files, folder, other)} of {other}" for other in others))


if __name__ == "__main__":
    main()
