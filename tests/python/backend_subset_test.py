#!/usr/bin/env python3
"""A quick part of onnx's own test suite over onnx-run, and the backend's values both ways.

The whole suite: python tools/backend_test.py. With no package onnx it is skipped.
"""

import sys
import tempfile
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper

    import backend_test
except ImportError as error:
    print(f"skipped: {error}")
    print("0 passed, 0 failed, 1 skipped")
    sys.exit(0)

# Casts of each kind; sequences, optionals, text, more outputs than one.
SUITE = (r"^Node/test_cast(like)?_|^Simple/test_(?!gradient)|^Node/test_(sequence_|optional_|identity|loop|string_concat"
         r"|split_|if_)")


def identity(value_type, value):
    info = [onnx.ValueInfoProto(name=name, type=value_type) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", info[:1], info[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)
    return backend_test.Backend.run_model(model, [value])[0]


def test_tensors():
    for name in ("FLOAT", "BFLOAT16", "FLOAT8E4M3FNUZ", "INT4", "UINT2", "FLOAT4E2M1", "BOOL"):
        element = TensorProto.DataType.Value(name)
        value = np.array([[0, 1, 1]]).astype(helper.tensor_dtype_to_np_dtype(element))
        got = identity(helper.make_tensor_type_proto(element, [1, 3]), value)
        assert got.dtype == value.dtype and got.tobytes() == value.tobytes(), (name, got)


def test_text():
    value = np.array(["ä", ""], dtype=object)
    got = identity(helper.make_tensor_type_proto(TensorProto.STRING, [2]), value)
    assert got.tolist() == value.tolist(), got


def test_sequences_and_optionals():
    tensor = helper.make_tensor_type_proto(TensorProto.INT64, None)
    sequence = helper.make_sequence_type_proto(tensor)
    values = [np.array([1, 2], np.int64), np.array(3, np.int64)]
    for value in (values, []):
        for value_type in (sequence, helper.make_optional_type_proto(sequence)):
            got = identity(value_type, value)
            assert [x.tolist() for x in got] == [x.tolist() for x in value], got
    assert identity(helper.make_optional_type_proto(tensor), values[0]).tolist() == [1, 2]


def test_one_node():
    node = helper.make_node("Split", ["a"], ["b", "c"], num_outputs=2)
    got = backend_test.Backend.run_node(node, [np.arange(4, dtype=np.float32)])
    assert got.b.tolist() == [0, 1] and got["c"].tolist() == [2, 3], got


def test_errors():
    node = helper.make_node("Add", ["a", "b"], ["c"])
    info = [(np.float32, [2])]
    try:
        backend_test.Backend.run_node(
            node, [np.zeros(2, np.float32), np.zeros(3, np.float32)], outputs_info=info)
    except backend_test.RunFailed as error:
        assert error.code == 3 and "Add" in str(error), (error.code, str(error))
    else:
        raise AssertionError("shapes that do not go together are no error")


def main():
    if not backend_test.find_program():
        print("no program onnx-run")
        return 1
    passed = failed = 0
    for name, test in sorted(globals().items()):
        if name.startswith("test_"):
            try:
                test()
                passed += 1
            except Exception:
                print(f"FAILED {name}: {traceback.format_exc()}")
                failed += 1
    with tempfile.TemporaryDirectory() as folder:
        backend_test.os.environ["ONNX_MODELS"] = folder
        parts = backend_test.run_tests(SUITE, backend_test.os.cpu_count() or 1, False)
    passed, failed = passed + len(parts[0]), failed + len(parts[1])
    print(f"{passed} passed, {failed} failed, {len(parts[2])} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
