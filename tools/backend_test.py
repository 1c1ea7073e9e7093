#!/usr/bin/env python3
"""onnx's own test suite, onnx.backend.test, over the installed program onnx-run.

    python tools/backend_test.py [-k PATTERN] [--bin onnx-run] [-j N] [-v]

Prints each failure and "N passed, N failed, N skipped". The class Backend implements
onnx.backend.base.Backend, for other programs that take one. Packages: tests/python/requirements.txt.
"""

import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnx.backend.test
from onnx import numpy_helper
from onnx.backend.base import Backend as OnnxBackend
from onnx.backend.base import BackendRep as OnnxBackendRep
from onnx.backend.base import namedtupledict

ROOT = Path(__file__).resolve().parent.parent


def find_program(name="onnx-run"):
    """The program's path: from ONNX_RUN_BIN_DIR, this tree's build, or PATH."""
    for folder in (os.environ.get("ONNX_RUN_BIN_DIR"), ROOT / "build/release/bin"):
        if folder and (Path(folder) / name).is_file():
            return str(Path(folder) / name)
    return shutil.which(name)


# --- Values -------------------------------------------------------------------------------------

def to_proto(value, value_type):
    """A numpy array, list or None as the message that a file of this type holds."""
    kind = value_type.WhichOneof("value")
    if kind == "optional_type":
        proto = onnx.OptionalProto()
        element = value_type.optional_type.elem_type
        if element.HasField("sequence_type"):
            proto.elem_type = onnx.OptionalProto.SEQUENCE
            if value is not None:
                proto.sequence_value.CopyFrom(to_proto(value, element))
        else:
            proto.elem_type = onnx.OptionalProto.TENSOR
            if value is not None:
                proto.tensor_value.CopyFrom(to_proto(value, element))
        return proto
    if kind == "sequence_type":
        element = value_type.sequence_type.elem_type
        if not value and element.HasField("tensor_type"):
            return onnx.SequenceProto(elem_type=onnx.SequenceProto.TENSOR)
        return numpy_helper.from_list(list(value))
    if kind == "map_type":
        return numpy_helper.from_dict(value)
    return numpy_helper.from_array(np.asarray(value))


def from_file(path, value_type):
    """The value in a .pb file, as the onnx test suite's own loader reads it."""
    content = path.read_bytes()
    kind = value_type.WhichOneof("value")
    if kind == "optional_type":
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(content))
    if kind == "sequence_type":
        return numpy_helper.to_list(onnx.SequenceProto.FromString(content))
    if kind == "map_type":
        return numpy_helper.to_dict(onnx.MapProto.FromString(content))
    return numpy_helper.to_array(onnx.TensorProto.FromString(content))


# --- The backend --------------------------------------------------------------------------------

class RunFailed(RuntimeError):
    """onnx-run ended with this exit code; the message is what it printed."""

    def __init__(self, code, message):
        super().__init__(message or f"onnx-run: exit code {code}")
        self.code = code


class BackendRep(OnnxBackendRep):
    """A model that is ready to run."""

    def __init__(self, model, program, flags):
        self._graph = model.graph
        self._program, self._flags = program, flags
        self._content = model.SerializeToString()

    def run(self, inputs, **_):
        """Inputs: a list in the order of the graph's, or a dict by name. Gives a named tuple."""
        if isinstance(inputs, dict):
            types = {value.name: value for value in self._graph.input}
            pairs = [(types[name], value) for name, value in inputs.items()]
        else:
            pairs = list(zip(self._infos(len(inputs)), inputs))
        with tempfile.TemporaryDirectory(prefix="onnx-run-") as folder:
            folder = Path(folder)
            (folder / "model.onnx").write_bytes(self._content)
            command = [self._program, str(folder / "model.onnx"), "--quiet",
                       "--output", str(folder / "out"), *self._flags]
            for i, (info, value) in enumerate(pairs):
                file = folder / f"input_{i}.pb"
                file.write_bytes(to_proto(value, info.type).SerializeToString())
                command += ["--input", f"{info.name}={file}"]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                                  stdin=subprocess.DEVNULL, timeout=300, check=False)
            if done.returncode:
                raise RunFailed(done.returncode, done.stderr.strip())
            values = [from_file(folder / "out" / f"output_{i}.pb", info.type)
                      for i, info in enumerate(self._graph.output)]
        names = [info.name for info in self._graph.output]
        return namedtupledict("Outputs", names)(*values)


    def _infos(self, count):
        """The inputs that a list of so many is for: all, or those that have no initializer."""
        infos = list(self._graph.input)
        initializers = {tensor.name for tensor in self._graph.initializer}
        required = [info for info in infos if info.name not in initializers]
        if count > len(infos):
            raise ValueError(f"{count} inputs for {len(infos)}")
        return required if count == len(required) else infos


class Backend(OnnxBackend):
    """onnx-run as a backend of onnx; `program` may be set to its path."""

    program = None

    @classmethod
    def supports_device(cls, device):
        return device.split(":")[0] == "CPU"

    @classmethod
    def prepare(cls, model, device="CPU", flags=(), **_):
        if not cls.supports_device(device):
            raise ValueError(f"no device {device}: onnx-run runs on the CPU")
        program = cls.program or find_program()
        if not program:
            raise FileNotFoundError("no program onnx-run; build it, or set ONNX_RUN_BIN_DIR")
        return BackendRep(model, program, list(flags))

    @classmethod
    def run_model(cls, model, inputs, device="CPU", **kwargs):
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, **kwargs):
        """Runs one node; the types of its outputs are inferred, or given by outputs_info."""
        names = [name for name in node.input if name]
        infos = [onnx.helper.make_tensor_value_info(
                     name, onnx.helper.np_dtype_to_tensor_dtype(np.asarray(value).dtype),
                     np.asarray(value).shape)
                 for name, value in zip(names, inputs)]
        if outputs_info:
            outputs = [onnx.helper.make_tensor_value_info(
                           name, onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)
                       for name, (dtype, shape) in zip(node.output, outputs_info)]
        else:
            outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        graph = onnx.helper.make_graph([node], "node", infos, outputs)
        opset = kwargs.pop("opset_version", onnx.defs.onnx_opset_version())
        model = onnx.helper.make_model(
            graph, opset_imports=[onnx.helper.make_opsetid(node.domain, opset)])
        if not outputs_info:
            model = onnx.shape_inference.infer_shapes(model)
        return cls.run_model(model, inputs, device, **kwargs)


# --- The test suite -----------------------------------------------------------------------------

class Suite(onnx.backend.test.BackendTest):
    """The suite, but for two faults of it that no backend can help.

    It asks for the length of a sequence's elements, and so fails on scalars (test_loop16_seq_none).
    And it compares random values with those that numpy once drew (test_bernoulli*): here type, shape
    and range decide, as in onnx-conformance.
    """

    @classmethod
    def assert_similar_outputs(cls, ref_outputs, outputs, rtol, atol, model_dir=None):
        if getattr(ref_outputs, "shape", None) == () == getattr(outputs, "shape", None):
            ref_outputs, outputs = [ref_outputs], [outputs]
        if "test_bernoulli" in str(model_dir):
            assert all(np.isin(output, (0, 1)).all() for output in outputs), "not all 0 or 1"
            ref_outputs = [np.zeros_like(output) for output in ref_outputs]
            outputs = [np.zeros_like(output) for output in outputs]
        super().assert_similar_outputs(ref_outputs, outputs, rtol, atol, model_dir)


def collect(pattern):
    """The tests of onnx.backend.test that are for the CPU, by "Category/test_name"."""
    tests = {}
    for case in Suite(Backend, __name__).test_cases.values():
        for test in unittest.defaultTestLoader.loadTestsFromTestCase(case):
            name = test.id().rsplit(".", 1)[1]
            if not name.endswith("_cpu"):
                continue  # the same once more for another device
            category = case.__name__.removeprefix("OnnxBackend").removesuffix("ModelTest")
            full = f"{category}/{name.removesuffix('_cpu')}"
            if re.search(pattern, full):
                tests[full] = test
    return tests


def run_tests(pattern, jobs, verbose):
    """Runs them on threads, since the work is done by processes; gives (passed, failed, skipped)."""
    passed, failed, skipped = [], [], []

    def run_one(test):
        result = unittest.TestResult()
        test.run(result)
        return result

    tests = collect(pattern)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for name, result in zip(tests, pool.map(run_one, tests.values())):
            problems = result.failures + result.errors
            (failed if problems else skipped if result.skipped else passed).append(name)
            if problems:
                text = problems[0][1].strip()
                print(f"FAILED {name}: {text if verbose else text.splitlines()[-1]}")
            elif verbose:
                print(f"{'skipped' if result.skipped else 'passed'} {name}")
    return passed, failed, skipped


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-k", default="", metavar="PATTERN",
                        help='only tests whose "Category/test_name" has this regular expression')
    parser.add_argument("--bin", metavar="FILE", help="the program onnx-run")
    parser.add_argument("-j", type=int, default=os.cpu_count() or 1, metavar="N")
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    Backend.program = args.bin or find_program()
    if not Backend.program:
        parser.error("no program onnx-run; build it first")
    with tempfile.TemporaryDirectory(prefix="onnx-models-") as folder:
        os.environ["ONNX_MODELS"] = folder  # the suite writes the inputs of the light models there
        passed, failed, skipped = run_tests(args.k, args.j, args.verbose)
    print(f"{len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped")
    return 1 if failed or not passed + skipped else 0


if __name__ == "__main__":
    sys.exit(main())
