# SPDX-License-Identifier: Apache-2.0
"""GraphDef files, written without protobuf: the wire format of the few messages that a graph needs.

Dtypes are NumPy's names; `bfloat16`, which NumPy lacks, comes as the uint16 of its bits.
"""

import struct

import numpy

FLOATS = ("float32", "float64", "float16", "bfloat16")
DTYPES = {
    "float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "complex64": 8, "int64": 9,
    "bool": 10, "bfloat16": 14, "float16": 19, "resource": 20,
    "float8_e5m2": 24, "float8_e4m3fn": 25,
}


def bits_of(array):
    """float32 rounded to the nearest bfloat16, as uint16; of two as near the even one."""
    bits = numpy.asarray(array, "float32").view("uint32").astype("uint64")
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return numpy.where(numpy.isnan(array), 0x7FC0, rounded).astype("uint16")


class Dtype(str):
    """An attribute that is a dtype, not a text."""


class Shape(tuple):
    """An attribute that is a shape, not a list of integers."""


class Content:
    """An attribute that is a tensor: dtype, shape and the bytes of its elements."""

    def __init__(self, dtype, shape, data):
        self.dtype, self.shape, self.data = dtype, tuple(shape), data

    def numbers(self):
        """The elements, as numpy has them."""
        if self.dtype == "bfloat16":
            return (numpy.frombuffer(self.data, "uint16").astype("uint32") << 16).view("float32")
        return numpy.frombuffer(self.data, self.dtype)


def _varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _number(field, number):
    return _varint(field << 3) + _varint(number)


def _bytes(field, data):
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _shape(shape):
    return b"".join(_bytes(2, _number(1, size)) for size in shape)


def _tensor(content):
    return b"".join([_number(1, DTYPES[content.dtype]), _bytes(2, _shape(content.shape)), _bytes(4, content.data)])


def _element(value):
    """One value as a field of AttrValue or, with the same numbers, of its ListValue."""
    if isinstance(value, bool):
        return _number(5, value)
    if isinstance(value, int):
        return _number(3, value)
    if isinstance(value, float):
        return _varint(4 << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, Dtype):
        return _number(6, DTYPES[value])
    if isinstance(value, Shape):
        return _bytes(7, _shape(value))
    if isinstance(value, Content):
        return _bytes(8, _tensor(value))
    if isinstance(value, str):
        return _bytes(2, value.encode())
    raise TypeError(f"no attribute is a {type(value).__name__}")


def _attr(value):
    if isinstance(value, list):
        return _bytes(1, b"".join(_element(each) for each in value))
    return _element(value)


def encode_node(name, op, inputs, attrs):
    """One NodeDef as a field of GraphDef. `inputs`: "node", "node:1" or "^node"."""
    parts = [_bytes(1, name.encode()), _bytes(2, op.encode())]
    parts += [_bytes(3, each.encode()) for each in inputs]
    parts += [_bytes(5, _bytes(1, key.encode()) + _bytes(2, _attr(attrs[key]))) for key in sorted(attrs)]
    return _bytes(1, b"".join(parts))


def encode_versions(producer=1087):
    return _bytes(4, _number(1, producer))
