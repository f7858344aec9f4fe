# SPDX-License-Identifier: Apache-2.0
"""Which files may be read: those below the folders that were allowed at start."""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from lanescope.mcp.program import Refusal

_MOST_ENTRIES = 100_000  # looked at in one walk


class Folders:
    """Finds files by name, below the allowed folders only: links are followed first, then the place is judged."""

    def __init__(self, roots: Iterable[str]):
        self._roots = []
        for root in roots:
            path = Path(root)
            if not path.is_dir():
                raise Refusal("NotFound", f"there is no folder '{root}'; --root names one whose files may be read")
            self._roots.append(path.resolve())

    def find(self, name: str) -> Path:
        """The file or folder of that name, relative to an allowed folder or absolute."""
        for root in self._roots:
            try:
                path = (root / name).resolve(strict=True)
                mode = path.stat().st_mode
            except (OSError, ValueError, RuntimeError):  # missing, closed, no name at all, links in a circle
                continue
            if not self._holds(path):
                break
            if stat.S_ISREG(mode):
                return path
            if stat.S_ISDIR(mode):
                self._require_inside(path, name)
                return path
            raise Refusal("InvalidArgument", f"'{name}' is neither a file nor a folder")
        else:
            raise Refusal("NotFound", f"there is no file '{name}' in the folders that may be read; `files` lists what is")
        raise Refusal("PermissionDenied", f"'{name}' is outside of the folders that may be read")

    def shown(self, path: Path) -> str:
        """The name by which `find` finds it again: of one folder from there on, of several the whole path."""
        name = path.relative_to(self._roots[0]) if len(self._roots) == 1 else path
        return os.fsencode(name).decode(errors="replace")  # a name need not be text, an answer must be

    def list(self, pattern: str) -> tuple[list[Path], bool]:
        """The files whose path or name matches (`*` and `?` as in a shell, `*` across folders too); whether all were looked at."""
        found = []
        for seen, path in enumerate(self._files()):
            if seen == _MOST_ENTRIES:
                return sorted(found), False
            name = self.shown(path)
            if fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(path.name, pattern):
                found.append(path)
        return sorted(found), True

    def _files(self) -> Iterator[Path]:
        for root in self._roots:
            for folder, folders, names in os.walk(root):
                folders[:] = sorted(name for name in folders if not name.startswith("."))
                for name in sorted(names):
                    path = Path(folder) / name
                    if path.is_file() and self._holds(path.resolve()):
                        yield path

    def _holds(self, path: Path) -> bool:
        return any(path.is_relative_to(root) for root in self._roots)

    def _require_inside(self, folder: Path, name: str) -> None:
        """A folder is read as a whole: nothing in it may lead outside."""
        seen = 0
        for place, folders, files in os.walk(folder):
            for entry in (*folders, *files):
                seen += 1
                if seen > _MOST_ENTRIES:
                    raise Refusal("ResourceExhausted", f"'{name}' holds more than {_MOST_ENTRIES} files; name one of its folders")
                path = Path(place) / entry
                if path.is_symlink() and not self._holds(path.resolve()):
                    raise Refusal("PermissionDenied",
                                  f"in '{name}' the link '{entry}' leads outside of the folders that may be read")
