#!/usr/bin/env python3
"""Writes seeds/: small inputs for the fuzz targets to start from.

Python's own library only: messages are put together field by field.
"""
import pathlib
import struct

SEEDS = pathlib.Path(__file__).parent / "seeds"


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n >= 0x80:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def num(field, n):
    return varint(field << 3) + varint(n)


def msg(field, *parts):
    data = b"".join(p.encode() if isinstance(p, str) else p for p in parts)
    return varint(field << 3 | 2) + varint(len(data)) + data


def tensor(type_, dims, *data, name="w"):
    return b"".join([num(1, d) for d in dims]) + num(2, type_) + msg(8, name) + b"".join(data)


def attr(name, kind, *value):
    return msg(5, msg(1, name), num(20, kind), *value)


def node(op, inputs, outputs, *attrs, domain=""):
    return (b"".join(msg(1, i) for i in inputs) + b"".join(msg(2, o) for o in outputs) +
            msg(4, op) + (msg(7, domain) if domain else b"") + b"".join(attrs))


def value_info(field, name, elem, *dims):
    shape = msg(2, *[msg(1, num(1, d) if isinstance(d, int) else msg(2, d)) for d in dims])
    return msg(field, msg(1, name), msg(2, msg(1, num(1, elem), shape)))


def model(*graph, opset=21, ir=10, extra=b""):
    return num(1, ir) + msg(8, num(2, opset)) + msg(7, msg(2, "g"), *graph) + extra


CAST = msg(1, node("Cast", ["x"], ["y"], attr("to", 2, num(3, 7))))
X = value_info(11, "x", 1, "N", 4)
Y = value_info(12, "y", 7, "N", 4)
BRANCH = msg(6, CAST, value_info(12, "y", 7))

MODELS = {
    "cast": model(CAST, X, Y),
    "cast_1": model(msg(1, node("Cast", ["x"], ["y"], attr("to", 3, msg(4, "INT64")))), X, Y,
                    opset=5, ir=3),
    "if": model(X, Y, msg(1, node("If", ["c"], ["y"], attr("then_branch", 5, BRANCH),
                                 attr("else_branch", 5, BRANCH))), value_info(11, "c", 9)),
    "function": model(
        msg(1, node("F", ["x"], ["y"], attr("dtype", 2, num(3, 7)), domain="d")), X, Y,
        extra=msg(8, msg(1, "d"), num(2, 1)) +
        msg(25, msg(1, "F"), msg(4, "a"), msg(5, "b"), msg(6, "dtype"),
            msg(7, node("Cast", ["a"], ["b"], msg(5, msg(1, "to"), num(20, 2), msg(21, "dtype")))),
            msg(9, num(2, 13)), msg(10, "d"))),
    "initializers": model(
        msg(5, tensor(22, [3], msg(5, varint(-52) + varint(0x0F)))),
        msg(5, tensor(8, [2], msg(6, "a"), msg(6, "b"), name="s")),
        msg(15, msg(1, tensor(1, [1], msg(4, struct.pack("<f", 5)), name="sp")),
            msg(2, tensor(7, [1], msg(7, varint(2)))), num(3, 4))),
    "external": model(msg(5, tensor(1, [4], msg(13, msg(1, "location"), msg(2, "w.bin")),
                                    msg(13, msg(1, "offset"), msg(2, "4096")), num(14, 1)))),
    "constants": model(
        *[msg(1, node("Constant", [], [n], attr(n, k, *v))) for n, k, v in [
            ("value_float", 1, [varint(2 << 3 | 5) + struct.pack("<f", float("-inf"))]),
            ("value_int", 2, [num(3, -1)]), ("value_string", 3, [msg(4, "s")]),
            ("value", 4, [msg(5, tensor(16, [1], msg(9, b"\x80\x3F")))]),
            ("value_floats", 6, [msg(7, struct.pack("<2f", 1, 2))]),
            ("value_ints", 7, [num(8, 1), num(8, 2)]), ("value_strings", 8, [msg(9, "a")])]]),
    "types": model(
        msg(11, msg(1, "q"), msg(2, msg(4, msg(1, msg(9, msg(1, msg(1, num(1, 1)))))))),
        msg(11, msg(1, "m"), msg(2, msg(5, num(1, 8), msg(2, msg(1, num(1, 1))))))),
}

BITS = {1: 32, 2: 8, 3: 8, 4: 16, 5: 16, 6: 32, 7: 64, 9: 8, 10: 16, 11: 64, 12: 32, 13: 64,
        14: 64, 15: 128, 16: 16, 17: 8, 18: 8, 19: 8, 20: 8, 21: 4, 22: 4, 23: 4, 24: 8, 25: 2, 26: 2}
TENSORS = {f"raw_{t}": tensor(t, [5], msg(9, bytes((5 * b + 7) // 8))) for t, b in BITS.items()}
TENSORS |= {
    "float_data": tensor(1, [2], msg(4, struct.pack("<2f", 1, -2))),
    "double_data": tensor(11, [1], msg(10, struct.pack("<d", 0.1))),
    "int64_data": tensor(7, [2], msg(7, varint(-1) + varint(5))),
    "uint64_data": tensor(12, [2], msg(11, varint(1) + varint(2**32 - 1))),
    "int32_half": tensor(10, [3], msg(5, varint(15360) + varint(49152) + varint(1))),
    "int32_packed": tensor(25, [5], msg(5, varint(0xE4) + varint(3))),
    "strings": tensor(8, [2], msg(6, "a"), msg(6, b"\0")),
    "overflow": tensor(1, [2**32, 2**32], msg(9, b"0000")),
    "negative": tensor(1, [3, -2], msg(9, b"0000")),
    "segment": tensor(1, [1], msg(3, num(1, 0), num(2, 1)), msg(9, b"0000")),
}

SOME = tensor(1, [1], msg(9, b"\0\0\x80\x3F"))
VALUES = {
    "tensor": b"\0" + SOME,
    "sparse": b"\1" + msg(1, SOME) + msg(2, tensor(7, [1], num(7, 2))) + num(3, 4),
    "sequence": b"\2" + msg(1, "q") + num(2, 1) + msg(3, SOME) + msg(3, SOME),
    "optional": b"\3" + num(2, 1) + msg(3, SOME),
    "empty_optional": b"\3" + num(2, 0),
    "map": b"\4" + num(2, 7) + num(3, 5) + msg(5, num(2, 1), msg(3, SOME)),
    "nested": b"\5" + num(2, 3) + msg(5, num(2, 1), msg(3, SOME)),
    "optional_sequence": b"\6" + num(2, 3) + msg(5, num(2, 1), msg(3, SOME)),
}

TEXTS = ["0", "-0", "1", "-1.5", "+INF", "-infinity", "NaN", " 7 ", "1e400", "-1e-400", "0x10", "1_000",
         "9223372036854775807", "18446744073709551615", "1.00000017881393432617187499",
         "464.00000001", "2.4703282292062327e-324", "." , "1e", "1e+", ".5", "5.", "true", "False",
         "1" + "0" * 300, "0." + "0" * 300 + "1", "1e99999999999999999999", "1\0", "1.5f"]


def npy(descr, shape, data, version=1):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (len(header) + (10 if version == 1 else 12)) % 64) + b"\n"
    size = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + size + header + data


NPYS = {
    "float": b"\1" + npy("<f4", "(2,)", struct.pack("<2f", 1, 2)),
    "big_endian": b"\7" + npy(">i8", "(1, 1)", struct.pack(">q", 5)),
    "scalar": b"\x09" + npy("|b1", "()", b"\1"),
    "int4": b"\x16" + npy("|V1", "(3,)", b"\1\xff\7"),
    "bfloat16": b"\x10" + npy("<V2", "(1,)", b"\x80\x3F"),
    "unicode": b"\x08" + npy("<U2", "(1,)", "ab".encode("utf-32-le"), version=3),
    "bytes": b"\x08" + npy("|S3", "(1,)", b"abc", version=2),
    "object": b"\x08" + npy("|O", "(1,)", b"\x80"),
    "huge": b"\1" + npy("<f4", "(4611686018427387904, 4)", b""),
}


def write(target, seeds):
    folder = SEEDS / f"{target}_fuzz"
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in seeds.items():
        (folder / name).write_bytes(data)


def main():
    write("model", MODELS)
    write("tensor", TENSORS)
    write("value", VALUES)
    write("text", {f"{i:02}": t.encode() for i, t in enumerate(TEXTS)})
    write("npy", NPYS)


if __name__ == "__main__":
    main()
