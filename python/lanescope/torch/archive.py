# SPDX-License-Identifier: Apache-2.0
"""The files in a `.pt2` of torch.export.save: a zip that stores its members as they are. Nothing of it is unpickled, and
nothing is written to a disk."""

import contextlib
import json
import math
import zipfile
import zlib

import numpy

from lanescope.torch.graph_def import Content

DTYPE_OF = {1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32", 8: "float64",
            10: "complex64", 12: "bool", 13: "bfloat16", 29: "float8_e4m3fn", 30: "float8_e5m2"}  # by number of ScalarType
SIZE_LIMIT = 1 << 31  # of an axis
_BITS = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}
_DAMAGES = (KeyError, TypeError, IndexError, AttributeError, ValueError, RecursionError, OverflowError, MemoryError, NotImplementedError,
            RuntimeError, StopIteration, zipfile.BadZipFile, zlib.error, EOFError, ZeroDivisionError)


class ProgramError(ValueError):
    """What is wrong with the file, in one line."""


@contextlib.contextmanager
def guarded(path, what):
    """Whatever a damaged file makes of its reader is a ProgramError."""
    try:
        yield
    except ProgramError:
        raise
    except _DAMAGES as problem:
        reason = (str(problem).splitlines() or [""])[0][:120]
        raise ProgramError(f"{path}: {what} ({type(problem).__name__}: {reason}); save it again with torch.export.save") from problem


def number_of(value, limit=SIZE_LIMIT):
    """A whole number from 0 to the limit, written as such or as the hint of one that is open."""
    if isinstance(value, dict) and "as_expr" in value:
        value = value["as_expr"]["hint"]
    value = value["as_int"] if isinstance(value, dict) else value
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= limit:
        raise ValueError(f"{value} is no size")
    return value


class Archive:
    """A file that is open; its members by their names below the folder that all of them are in."""

    def __init__(self, path):
        self._path = path
        with guarded(path, "is no program of torch.export.save"):
            self._zip = zipfile.ZipFile(path)
        try:
            with guarded(path, "is damaged"):
                self._members = self._listed()
        except ProgramError:
            self._zip.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._zip.close()

    def _listed(self):
        members, whole = {}, 0
        for info in self._zip.infolist():
            name = info.filename.partition("/")[2]
            if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size or info.flag_bits & 1:
                raise ProgramError(f"{self._path}: '{name[:80]}' in it is packed, which torch.export.save does not do")
            if name in members:
                raise ProgramError(f"{self._path}: '{name[:80]}' is in it twice")
            members[name] = info
            whole += info.file_size
        self._zip.fp.seek(0, 2)
        if whole > self._zip.fp.tell():
            raise ProgramError(f"{self._path}: its files are larger than it is")
        if "models/model.json" not in members:
            raise ProgramError(f"{self._path}: has no models/model.json; save it with torch.export.save of PyTorch 2.8 or later")
        return members

    def bytes_of(self, name):
        if name not in self._members:
            raise ProgramError(f"{self._path}: lacks '{name[:80]}'")
        return self._zip.read(self._members[name])

    def json_of(self, name):
        return json.loads(self.bytes_of(name))

    def tensors_of(self, folder, config):
        """By name the contents of the folder's tensors."""
        if self.bytes_of("byteorder").strip() != b"little":
            raise ProgramError(f"{self._path}: its numbers have their large bytes first; save it on another machine")
        return {name: self._tensor(folder, name, entry) for name, entry in self.json_of(f"{folder}/{config}")["config"].items()}

    def _tensor(self, folder, name, entry):
        if entry["use_pickle"]:
            raise ProgramError(f"{self._path}: '{name[:80]}' is pickled, which may run code; export it with PyTorch: lanescope.torch.export")
        meta = entry["tensor_meta"]
        dtype = DTYPE_OF[meta["dtype"]]
        shape, strides = ([number_of(each) for each in meta[key]] for key in ("sizes", "strides"))
        data = numpy.frombuffer(self.bytes_of(f"{folder}/{entry['path_name']}"), _BITS.get(dtype, dtype))
        first = number_of(meta["storage_offset"])
        last = first + sum((size - 1) * step for size, step in zip(shape, strides))
        if len(shape) != len(strides) or math.prod(shape) > data.size or (math.prod(shape) and last >= data.size):
            raise ProgramError(f"{self._path}: '{name[:80]}' has {data.size} numbers, too few for {shape}")
        steps = [step * data.itemsize for step in strides]
        array = numpy.lib.stride_tricks.as_strided(data[first:], shape, steps, writeable=False)
        return Content(dtype, shape, array.tobytes())
