#!/usr/bin/env python3
"""Writes the models of this folder: tiny, readable, and made of casts.

    python3 examples/make_examples.py [FOLDER]

No package is needed: a ModelProto of this size is quickly written by hand. Field numbers are those of
onnx-ml.proto.
"""

import os
import struct
import sys

# TensorProto.DataType
FLOAT, INT32, INT64, STRING, FLOAT16, DOUBLE = 1, 6, 7, 8, 10, 11
BFLOAT16, FLOAT8E4M3FN, FLOAT8E5M2, UINT4, INT4, FLOAT4E2M1 = 16, 17, 19, 21, 22, 23


# --- The wire format: https://protobuf.dev/programming-guides/encoding ---------------------------

def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(field, value):
    return varint(field << 3) + varint(value)


def message(field, content):
    if isinstance(content, str):
        content = content.encode()
    return varint(field << 3 | 2) + varint(len(content)) + content


# --- ONNX messages -------------------------------------------------------------------------------

def attribute(name, value):
    out = message(1, name)
    if isinstance(value, int):
        return out + integer(20, 2) + integer(3, value)  # INT
    if isinstance(value, str):
        return out + integer(20, 3) + message(4, value)  # STRING
    return out + integer(20, 4) + message(5, value)      # TENSOR


def tensor(name, dtype, dims, raw):
    return b''.join(integer(1, d) for d in dims) + integer(2, dtype) + message(8, name) + message(9, raw)


def node(op, inputs, outputs, name, **attributes):
    return (b''.join(message(1, i) for i in inputs) + b''.join(message(2, o) for o in outputs) +
            message(3, name) + message(4, op) +
            b''.join(message(5, attribute(k, v)) for k, v in attributes.items()))


def value_info(name, dtype, dims):
    shape = b''.join(message(1, integer(1, d) if isinstance(d, int) else message(2, d)) for d in dims)
    return message(1, name) + message(2, message(1, integer(1, dtype) + message(2, shape)))


def model(name, opset, ir, nodes, inputs, outputs, initializers=(), doc=''):
    graph = (b''.join(message(1, n) for n in nodes) + message(2, name) +
             b''.join(message(5, t) for t in initializers) +
             b''.join(message(11, i) for i in inputs) + b''.join(message(12, o) for o in outputs))
    return (integer(1, ir) + message(2, 'onnx-run') + message(6, doc) + message(7, graph) +
            message(8, integer(2, opset)))


# --- The examples --------------------------------------------------------------------------------

def mixed_precision():
    """A float input stored in five narrower types, and what comes back from each."""
    shape = ['N', 4]
    types = [('float16', FLOAT16), ('bfloat16', BFLOAT16), ('float8e4m3fn', FLOAT8E4M3FN),
             ('float8e5m2', FLOAT8E5M2)]
    nodes, outputs = [], []
    for name, dtype in types:
        nodes.append(node('Cast', ['x'], [f'x_{name}'], f'to_{name}', to=dtype))
        nodes.append(node('CastLike', [f'x_{name}', 'like_float'], [f'from_{name}'], f'back_from_{name}'))
        outputs.append(value_info(f'from_{name}', FLOAT, shape))
    # Without saturation, what float8 cannot hold is NaN.
    nodes.append(node('Cast', ['x'], ['x_unsaturated'], 'to_float8e4m3fn_unsaturated', to=FLOAT8E4M3FN, saturate=0))
    nodes.append(node('Cast', ['x_unsaturated'], ['from_unsaturated'], 'back_from_unsaturated', to=FLOAT))
    outputs.append(value_info('from_unsaturated', FLOAT, shape))
    nodes.insert(0, node('Constant', [], ['like_float'], 'like', value=tensor('', FLOAT, [1], struct.pack('<f', 0))))
    nodes.append(node('Identity', ['x_float16'], ['stored'], 'keep'))
    outputs.append(value_info('stored', FLOAT16, shape))
    return model('mixed_precision', 21, 10, nodes, [value_info('x', FLOAT, shape)], outputs,
                 doc='What a float keeps of itself in narrower types.')


def quantized_weights():
    """Packed 4-bit weights with float8 scales, unpacked by casts."""
    weights = bytes([0x87, 0xA9, 0xCB, 0xED, 0x0F, 0x21, 0x43, 0x65])  # -9..6 as int4, low nibble first
    nodes = [node('Cast', ['w'], ['w_float'], 'unpack_weights', to=FLOAT),
             node('Cast', ['w'], ['w_text'], 'show_weights', to=STRING),
             node('Cast', ['scale'], ['scale_float'], 'unpack_scale', to=FLOAT)]
    outputs = [value_info('w_float', FLOAT, [4, 4]), value_info('w_text', STRING, [4, 4]),
               value_info('scale_float', FLOAT, [4])]
    initializers = [tensor('w', INT4, [4, 4], weights), tensor('scale', FLOAT8E4M3FN, [4], bytes([0x38, 0x30, 0x3C, 0x01]))]
    return model('quantized_weights', 21, 10, nodes, [], outputs, initializers,
                 doc='A model of parameters only.')


def text_to_numbers():
    """Text to numbers and back, with one rounding each."""
    nodes = [node('Cast', ['text'], ['number'], 'parse', to=DOUBLE),
             node('Cast', ['text'], ['half'], 'parse_half', to=FLOAT16),
             node('Cast', ['number'], ['printed'], 'print', to=STRING),
             node('Cast', ['number'], ['whole'], 'truncate', to=INT64)]
    outputs = [value_info('number', DOUBLE, ['N']), value_info('half', FLOAT16, ['N']),
               value_info('printed', STRING, ['N']), value_info('whole', INT64, ['N'])]
    return model('text_to_numbers', 21, 10, nodes, [value_info('text', STRING, ['N'])], outputs)


def one_cast():
    """The smallest model there is."""
    return model('one_cast', 21, 10, [node('Cast', ['x'], ['y'], 'cast', to=FLOAT8E4M3FN)],
                 [value_info('x', FLOAT, ['N'])], [value_info('y', FLOAT8E4M3FN, ['N'])])


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    for make in (mixed_precision, quantized_weights, text_to_numbers, one_cast):
        with open(os.path.join(folder, make.__name__ + '.onnx'), 'wb') as file:
            file.write(make())


if __name__ == '__main__':
    main()
