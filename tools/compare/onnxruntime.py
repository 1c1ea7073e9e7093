#!/usr/bin/env python3
"""Runs onnx-run's engine and ONNX Runtime over the same models, in turn, and writes the ratios.

    ./dev bench --compare [--quick] [--only REGEX] [--output FILE]

Both engines use one thread. A model of 1,048,576 elements has one node; smaller ones have many
copies of it, so that neither the cost of a call nor Python's share counts, and the time is that of
one node. Times are the best of many samples, taken in turns. Graph optimisations are off on both
sides: a constant would be converted at load and copies would be merged.
"""

import sys

# This file's name is that of the package it wants.
sys.path = [path for path in sys.path if not path.endswith("tools/compare")]

import argparse
import datetime
import json
import math
import os
import pathlib
import platform
import random
import re
import subprocess
import tempfile
import time

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
BEGIN = "<!-- tools/compare/onnxruntime.py: begin -->"
END = "<!-- tools/compare/onnxruntime.py: end -->"
LARGE = 1 << 20
COPIES = {64: 64, 4096: 8}
AGAIN = 2  # further samplings of those within a tenth

# ONNX name, short name, bits, numpy type of one element per item (None: numpy has none).
TYPES = [
    ("FLOAT", "f32", 32, np.float32), ("DOUBLE", "f64", 64, np.float64),
    ("FLOAT16", "f16", 16, np.float16), ("BFLOAT16", "bf16", 16, ml_dtypes.bfloat16),
    ("FLOAT8E4M3FN", "e4m3fn", 8, ml_dtypes.float8_e4m3fn),
    ("FLOAT8E4M3FNUZ", "e4m3fnuz", 8, ml_dtypes.float8_e4m3fnuz),
    ("FLOAT8E5M2", "e5m2", 8, ml_dtypes.float8_e5m2),
    ("FLOAT8E5M2FNUZ", "e5m2fnuz", 8, ml_dtypes.float8_e5m2fnuz),
    ("FLOAT8E8M0", "e8m0", 8, None), ("FLOAT4E2M1", "f4", 4, None),
    ("INT64", "i64", 64, np.int64), ("INT32", "i32", 32, np.int32),
    ("INT16", "i16", 16, np.int16), ("INT8", "i8", 8, np.int8),
    ("INT4", "i4", 4, None), ("INT2", "i2", 2, None),
    ("UINT64", "u64", 64, np.uint64), ("UINT32", "u32", 32, np.uint32),
    ("UINT16", "u16", 16, np.uint16), ("UINT8", "u8", 8, np.uint8),
    ("UINT4", "u4", 4, None), ("UINT2", "u2", 2, None), ("BOOL", "bool", 8, np.bool_),
]
SHORT = {name: short for name, short, _, _ in TYPES} | {"STRING": "string"}
BITS = {name: bits for name, _, bits, _ in TYPES}
NUMPY = {name: kind for name, _, _, kind in TYPES}


def code_of(name):
    return TensorProto.DataType.Value(name)


def samples(n, seed=1):
    """Numbers such as tensors hold: around 0, most of them of the size of 1 to 100."""
    random = np.random.default_rng(seed)
    return (random.random(n) * 2 - 1) * 2.0 ** random.integers(0, 8, n)


def packed_bytes(name, n):
    """Random elements of a type as in raw_data."""
    kind = NUMPY[name]
    if name == "BOOL":
        return np.random.default_rng(1).integers(0, 2, n, np.uint8)
    if name == "FLOAT8E8M0":
        return np.random.default_rng(1).integers(100, 150, n, np.uint8)
    if kind is not None and name not in ("INT64", "INT32", "INT16", "INT8", "UINT64", "UINT32",
                                         "UINT16", "UINT8"):
        return samples(n).astype(kind).view(np.uint8)
    return np.random.default_rng(1).integers(0, 256, (n * BITS[name] + 7) // 8, np.uint8)


def texts(to, n):
    """Texts that both engines read as `to`."""
    if to == "BOOL":
        return [b"1" if value > 0 else b"0" for value in samples(n)]
    if to.startswith("FLOAT") or to in ("DOUBLE", "BFLOAT16"):
        if to == "FLOAT8E8M0":
            return [str(abs(value)).encode() for value in samples(n).astype(np.float32)]
        return [str(value).encode() for value in samples(n).astype(np.float32)]
    bits = BITS[to]
    low, high = (0, 1 << min(bits, 63)) if to[0] == "U" else (-(1 << (bits - 1)), 1 << (bits - 1))
    values = np.random.default_rng(1).integers(low, high, n, np.int64)
    return [str(value).encode() for value in values]


class Case:
    """One model for both engines. `inputs`: (name, ONNX type, shape, bytes)."""

    def __init__(self, group, name, elements, op, inputs, outputs, initializers=(), **attributes):
        self.group, self.name, self.elements = group, name, elements
        self.inputs = inputs
        self.copies = COPIES.get(elements, 1)
        self.op, self.outputs, self.attributes = op, outputs, attributes
        self.initializers = list(initializers)

    def model(self):
        value = helper.make_tensor_value_info
        names = [entry[0] for entry in self.inputs] + [entry.name for entry in self.initializers]
        nodes, outputs = [], []
        for copy in range(self.copies):
            here = [f"y{copy}_{i}" for i in range(len(self.outputs))]
            nodes.append(helper.make_node(self.op, sorted(names), here, **self.attributes))
            outputs += [value(out, code_of(kind), shape)
                        for out, (kind, shape) in zip(here, self.outputs)]
        graph = helper.make_graph(
            nodes, "g",
            [value(name, code_of(kind), shape) for name, kind, shape, _ in self.inputs],
            outputs, self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=11)


def tensor(name, kind, shape, data):
    result = TensorProto(name=name, data_type=code_of(kind), dims=shape)
    result.raw_data = bytes(data)
    return result


def cast_cases(sizes, types):
    for n in sizes:
        for source in types:
            data = packed_bytes(source, n)
            for to in types:
                if source != to:
                    yield Case("cast", f"{SHORT[source]} -> {SHORT[to]}", n, "Cast",
                               [("x", source, [n], data)], [(to, [n])], to=code_of(to))


def string_cases(sizes, types):
    for n in sizes:
        for kind in types:
            yield Case("to string", SHORT[kind], n, "Cast",
                       [("x", kind, [n], packed_bytes(kind, n))], [("STRING", [n])],
                       to=TensorProto.STRING)
        for kind in types:
            source = TensorProto(name="x", data_type=TensorProto.STRING, dims=[n])
            source.string_data.extend(texts(kind, n))
            yield Case("from string", SHORT[kind], n, "Cast", [], [(kind, [n])], [source],
                       to=code_of(kind))


def operator_cases(sizes):
    for n in sizes:
        side = math.isqrt(n)
        shape = [side, side]
        floats = samples(n).astype(np.float32)
        a = ("a", "FLOAT", shape, floats.view(np.uint8))
        b = ("b", "FLOAT", shape, samples(n, 2).astype(np.float32).view(np.uint8))
        positive = ("a", "FLOAT", shape, (np.abs(floats) + 1).view(np.uint8))
        unit = ("a", "FLOAT", shape, (floats / 128).view(np.uint8))  # between -1 and 1
        halves = ("a", "FLOAT16", shape, floats.astype(np.float16).view(np.uint8))
        whole = ("a", "INT64", shape, np.arange(n, dtype=np.int64).view(np.uint8))
        same = [("FLOAT", shape)]
        scalar = lambda name, kind, value: tensor(name, kind, [], np.asarray(value).tobytes())
        axes = lambda values: tensor("b", "INT64", [len(values)],
                                     np.asarray(values, np.int64).tobytes())

        def case(name, op, inputs, outputs, initializers=(), **attributes):
            return Case("operator", name, n, op, inputs, outputs, initializers, **attributes)

        for op in ("Add", "Mul", "Div", "Max"):
            yield case(op, op, [a, b], same)
        yield case("Add, scalar", "Add", [a], same, [scalar("b", "FLOAT", np.float32(3))])
        yield case("Add, int64", "Add", [whole, ("b",) + whole[1:]], [("INT64", shape)])
        for op in ("Abs", "Neg", "Relu", "Exp", "Tanh", "Sigmoid", "Erf", "Floor", "Reciprocal",
                   "Sin", "Cos", "Tan", "Atan", "Asinh", "Elu", "Selu", "Celu", "LeakyRelu",
                   "HardSigmoid", "HardSwish", "Softplus", "Softsign", "Mish", "Gelu", "Swish"):
            yield case(op, op, [a], same)
        yield case("Gelu, tanh", "Gelu", [a], same, approximate="tanh")
        for op in ("Sqrt", "Log", "Acosh"):
            yield case(op, op, [positive], same)
        for op in ("Asin", "Acos", "Atanh", "Sinh", "Cosh"):
            yield case(op, op, [unit], same)
        for exponent in (0.5, 2, 3, 2.5):
            yield case(f"Pow, {exponent}", "Pow", [positive], same,
                       [scalar("b", "FLOAT", np.float32(exponent))])
        yield case("Pow", "Pow", [positive, ("b",) + unit[1:]], same)
        yield case("Sqrt, float16", "Sqrt", [halves], [("FLOAT16", shape)])
        yield case("Less", "Less", [a, b], [("BOOL", shape)])
        for op in ("ReduceSum", "ReduceMean", "ReduceMax"):
            yield case(f"{op}, rows", op, [a], [("FLOAT", [side, 1])], [axes([1])])
            yield case(f"{op}, columns", op, [a], [("FLOAT", [1, side])], [axes([0])])
        yield case("ReduceSum, all", "ReduceSum", [a], [("FLOAT", [1, 1])], [axes([0, 1])])
        yield case("ArgMax", "ArgMax", [a], [("INT64", [side, 1])], axis=1)
        yield case("CumSum", "CumSum", [a], same, [scalar("b", "INT64", np.int64(1))])
        yield case("Softmax", "Softmax", [a], same, axis=1)
        yield case("LogSoftmax", "LogSoftmax", [a], same, axis=1)
        ones = tensor("b", "FLOAT", [side], np.ones(side, np.float32).tobytes())
        yield case("LayerNormalization", "LayerNormalization", [a], same, [ones], axis=1)
        yield case("Transpose", "Transpose", [a], same, perm=[1, 0])
        cube = [4, side // 4, side // 4, 4]
        yield case("Transpose, 4-D", "Transpose", [("a", "FLOAT", cube, a[3])],
                   [("FLOAT", [cube[0], cube[3], cube[1], cube[2]])], perm=[0, 3, 1, 2])
        yield case("Concat", "Concat", [a, b], [("FLOAT", [2 * side, side])], axis=0)
        for kind, zero in (("UINT8", np.uint8(128)), ("INT8", np.int8(0))):
            parameters = [scalar("b", "FLOAT", np.float32(0.5)), scalar("c", kind, zero)]
            yield case(f"QuantizeLinear, {SHORT[kind]}", "QuantizeLinear", [a], [(kind, shape)],
                       parameters)
            codes = ("a", kind, shape, packed_bytes(kind, n))
            yield case(f"DequantizeLinear, {SHORT[kind]}", "DequantizeLinear", [codes], same,
                       parameters)
        yield case("DynamicQuantizeLinear", "DynamicQuantizeLinear", [a],
                   [("UINT8", shape), ("FLOAT", []), ("UINT8", [])])


# --- The engines ---------------------------------------------------------------------------------


class OnnxRuntime:
    def __init__(self):
        self.options = onnxruntime.SessionOptions()
        self.options.intra_op_num_threads = 1
        self.options.inter_op_num_threads = 1
        self.options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.options.log_severity_level = 4

    def load(self, path, case):
        self.session = onnxruntime.InferenceSession(path, self.options,
                                                    providers=["CPUExecutionProvider"])
        self.binding = self.session.io_binding()
        self.kept = []
        for name, kind, shape, data in case.inputs:
            # Bytes under another numpy type of the same width; packed types have bytes to spare.
            width = max(BITS[kind] // 8, 1)
            items = np.frombuffer(bytes(data), f"u{width}")
            count = math.prod(shape)
            if items.size < count:
                items = np.concatenate([items, np.zeros(count - items.size, items.dtype)])
            items = items.reshape(shape)
            value = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(items, code_of(kind))
            self.kept.append((items, value))
            self.binding.bind_ortvalue_input(name, value)
        for output in self.session.get_outputs():
            self.binding.bind_output(output.name, "cpu")

    def best(self, seconds):
        run, clock = self.session.run_with_iobinding, time.perf_counter

        def sample(count):
            start = clock()
            for _ in range(count):
                run(self.binding)
            return (clock() - start) / count

        sample(1)
        best = sample(1)
        count = int(min(max(2e-4 / best, 1), 1e6))
        start = clock()
        while True:
            best = min(best, sample(count))
            if clock() - start >= seconds:
                return best


class OnnxRun:
    def __init__(self, program, seconds):
        self.process = subprocess.Popen([program, "model", "--seconds", str(seconds), "-"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def best(self, words):
        self.process.stdin.write("\t".join(words) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("onnx-bench ended")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["nanoseconds"] * 1e-9

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def compare(case, folder, ours, theirs, seconds):
    """Seconds of one node in both engines; a text in place of one that fails."""
    # A new name each time, for onnx-bench keeps the model it has.
    path = os.path.join(folder, f"model{compare.serial}.onnx")
    compare.serial += 1
    model = case.model()
    pathlib.Path(path).write_bytes(model.SerializeToString())
    words = [path]
    for name, kind, shape, data in case.inputs:
        key = (kind, tuple(shape), id(data))
        if key not in compare.files:
            file = os.path.join(folder, f"input{len(compare.files)}.pb")
            pathlib.Path(file).write_bytes(tensor(name, kind, shape, data).SerializeToString())
            compare.files[key] = (file, data)  # holds the data, so that its id stays its own
        words.append(compare.files[key][0])

    result = {}

    def attempt(engine, measure):
        if isinstance(result.get(engine), str):
            return
        try:
            best = measure() / case.copies
            result[engine] = min(result.get(engine, math.inf), best)
        except Exception as error:  # pylint: disable=broad-except
            result[engine] = str(error).strip().splitlines()[0][:160]

    try:
        theirs.load(path, case)
    except Exception as error:  # pylint: disable=broad-except
        result["theirs"] = str(error).strip().splitlines()[0][:160]
    for _ in range(2):
        attempt("theirs", lambda: theirs.best(seconds))
        attempt("ours", lambda: ours.best(words))
    os.remove(path)
    return result


compare.files = {}
compare.serial = 0


# --- The report ----------------------------------------------------------------------------------


def geometric_mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def machine():
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
        field = lambda name: (re.search(rf"^{name}\s*: (.*)$", text, re.M) or ["", ""])[1]
        flags = field("flags").split()
        sets = [name for name in ("avx2", "avx512f", "avx512vbmi", "avx512_fp16", "amx_tile")
                if name in flags]
        cpu = f"{field('model name')} (family {field('cpu family')}, model {field('model')}; " \
              f"{', '.join(sets)})"
    except OSError:
        cpu = platform.processor() or platform.machine()
    return f"{cpu}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"


def commit():
    run = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"],
                         capture_output=True, text=True, check=False)
    return run.stdout.strip() or "unknown"


def size_text(n):
    return f"{n:,}"


def report(results, left_out, load, took):
    done = [r for r in results if isinstance(r["ours"], float) and isinstance(r["theirs"], float)]
    for r in done:
        r["ratio"] = r["theirs"] / r["ours"]
    lines = [
        BEGIN, "",
        "## Beside ONNX Runtime", "",
        "Ratios are ONNX Runtime's time over onnx-run's: above 1, onnx-run is the quicker one.",
        "", f"- Machine: {machine()}; load average {load[0]:.1f} before the run, "
        f"{os.getloadavg()[0]:.1f} after it",
        f"- Date: {datetime.date.today()}; the run took {took:.0f} s" +
        (f", and {left_out} of {left_out + len(results)} models were left out when time was up"
         if left_out else ""),
        f"- onnx-run {commit()}, onnxruntime {onnxruntime.__version__}, onnx {onnx.__version__}, "
        f"Python {platform.python_version()}",
        "- One thread, both engines over the same models in turn, best of many samples; of 64 "
        f"elements {COPIES[64]} nodes in one model, of 4,096 elements {COPIES[4096]}, time per node; "
        f"where ours took more than ten elevenths of the other's time both were measured {AGAIN} times "
        "more, and the best of each counts",
        "- Made by `./dev bench --compare`", "",
        "| what | elements | models | geometric mean | worst | slower than ONNX Runtime |",
        "|---|---:|---:|---:|---|---:|"]
    groups = list(dict.fromkeys((r["group"], r["elements"]) for r in results))
    for group, n in groups:
        rows = [r for r in done if (r["group"], r["elements"]) == (group, n)]
        if not rows:
            continue
        worst = min(rows, key=lambda r: r["ratio"])
        lines.append(f"| {group} | {size_text(n)} | {len(rows)} | "
                     f"{geometric_mean([r['ratio'] for r in rows]):.2f} | "
                     f"{worst['ratio']:.2f} ({worst['name']}) | "
                     f"{sum(r['ratio'] < 1 for r in rows)} |")
    slow = sorted((r for r in done if r["ratio"] < 1), key=lambda r: r["ratio"])
    if slow:
        lines += ["", "Slower than ONNX Runtime, worst first:", "",
                  "| what | elements | ours, us | ONNX Runtime, us | ratio |",
                  "|---|---:|---:|---:|---:|"]
        lines += [f"| {r['group']} {r['name']} | {size_text(r['elements'])} | "
                  f"{r['ours'] * 1e6:.2f} | {r['theirs'] * 1e6:.2f} | {r['ratio']:.2f} |"
                  for r in slow[:40]]
        if len(slow) > 40:
            lines.append(f"| and {len(slow) - 40} more | | | | |")
    for group, title in (("to string", "Number to string"), ("from string", "String to number"),
                         ("operator", "Operators")):
        rows = [r for r in done if r["group"] == group]
        if not rows:
            continue
        unit = "us" if group == "operator" else "ns per element"
        scale = (lambda r: 1e6) if group == "operator" else (lambda r: 1e9 / r["elements"])
        lines += ["", f"### {title}", "",
                  f"| | elements | ours, {unit} | ONNX Runtime, {unit} | ratio |",
                  "|---|---:|---:|---:|---:|"]
        lines += [f"| {r['name']} | {size_text(r['elements'])} | {r['ours'] * scale(r):.4g} | "
                  f"{r['theirs'] * scale(r):.4g} | {r['ratio']:.2f} |" for r in rows]
    for n in sorted({r["elements"] for r in done if r["group"] == "cast"}, reverse=True):
        rows = {r["name"]: r["ratio"] for r in done
                if r["group"] == "cast" and r["elements"] == n}
        shorts = [short for _, short, _, _ in TYPES if any(short in name.split(" -> ")
                                                           for name in rows)]
        lines += ["", f"### Cast, {size_text(n)} elements", "",
                  "Source in the row, destination in the column.", "",
                  "| | " + " | ".join(shorts) + " |", "|---|" + "---:|" * len(shorts)]
        for source in shorts:
            cells = []
            for to in shorts:
                ratio = rows.get(f"{source} -> {to}")
                cells.append("" if ratio is None else f"{ratio:.1f}" if ratio < 10
                             else f"{ratio:.0f}")
            lines.append(f"| {source} | " + " | ".join(cells) + " |")
    failed = [r for r in results if r not in done]
    if failed:
        lines += ["", "### Not compared", ""]
        reasons = {}
        for r in failed:
            for engine, title in (("theirs", "ONNX Runtime"), ("ours", "onnx-run")):
                if isinstance(r[engine], str):
                    reason = re.sub(r"model\d+\.onnx|/[\w/.-]+/", "", r[engine])
                    key = (title, r["group"], reason if engine == "ours" else "")
                    reasons.setdefault(key, {}).setdefault(r["name"], reason)
        for (title, group, _), names in reasons.items():
            example = next(iter(names.values())).replace("|", "\\|")
            shown = ", ".join(list(names)[:12]) + (", ..." if len(names) > 12 else "")
            lines.append(f"- {title}, {group}: {len(names)} ({shown}); the first says: {example}")
    lines += ["", END, ""]
    return "\n".join(lines)


def write(path, text):
    """Puts the text where the last one was, or behind what else is in the file."""
    old = path.read_text() if path.exists() else "# Benchmarks\n\n"
    if BEGIN in old and END in old:
        head, rest = old.split(BEGIN, 1)
        text = head + text.rstrip("\n") + rest.split(END, 1)[1]
    else:
        text = old.rstrip("\n") + "\n\n" + text
    path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True, help="folder of onnx-bench")
    parser.add_argument("--quick", action="store_true",
                        help="fewer types, sizes and samples; printed, not written")
    parser.add_argument("--only", default="", help="regular expression: group, name and elements")
    parser.add_argument("--output", type=pathlib.Path, help="default: docs/benchmarks.md")
    parser.add_argument("--json", type=pathlib.Path, help="all the figures")
    parser.add_argument("--limit", type=float, default=270,
                        help="seconds after which the rest is left out (270)")
    parser.add_argument("--seconds", type=float, help="of one sampling of one engine")
    arguments = parser.parse_args()
    seconds = arguments.seconds or (0.004 if arguments.quick else 0.01)

    names = [name for name, _, _, _ in TYPES]
    if arguments.quick:
        names = ["FLOAT", "FLOAT16", "BFLOAT16", "FLOAT8E4M3FN", "INT64", "INT32", "UINT8", "INT4"]
    sizes = [64, LARGE] if arguments.quick else [64, 4096, LARGE]

    def cases():
        yield from operator_cases([64, LARGE])
        yield from string_cases([4096] if arguments.quick else [64, 65536], names)
        yield from cast_cases(sizes, names)

    load, start = os.getloadavg(), time.monotonic()
    theirs = OnnxRuntime()
    ours = OnnxRun(os.path.join(arguments.bin, "onnx-bench"), seconds)
    # In no order, so that what is left out when time is up is a fair sample.
    chosen = [case for case in cases()
              if re.search(arguments.only, f"{case.group} {case.name} {case.elements}")]
    order = list(range(len(chosen)))
    random.Random(1).shuffle(order)
    results = {}
    with tempfile.TemporaryDirectory(prefix="onnx-compare-") as folder:
        for done, index in enumerate(order):
            if time.monotonic() - start > arguments.limit:
                break
            case = chosen[index]
            if sys.stderr.isatty():
                print(f"\r{time.monotonic() - start:4.0f} s  {done} of {len(order)}", end="",
                      file=sys.stderr)
            results[index] = {"group": case.group, "name": case.name, "elements": case.elements,
                              **compare(case, folder, ours, theirs, seconds)}
        # One sampling may have met a busy neighbour. Where the engines are close, or ours is the
        # slower one, both are measured again, and the best of each counts.
        for _ in range(AGAIN):
            for index, result in results.items():
                times = [result["ours"], result["theirs"]]
                if not all(isinstance(t, float) for t in times) or times[1] > 1.1 * times[0]:
                    continue
                if time.monotonic() - start > arguments.limit:
                    break
                again = compare(chosen[index], folder, ours, theirs, seconds)
                for engine in ("ours", "theirs"):
                    if isinstance(again[engine], float):
                        result[engine] = min(result[engine], again[engine])
    ours.close()
    if sys.stderr.isatty():
        print(file=sys.stderr)

    left_out = len(chosen) - len(results)
    results = [results[index] for index in sorted(results)]
    text = report(results, left_out, load, time.monotonic() - start)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))
    if arguments.output or not (arguments.quick or arguments.only):
        path = arguments.output or ROOT / "docs/benchmarks.md"
        write(path, text)
        print(f"wrote {path}")
        print("\n".join(line for line in text.splitlines()[:20] if line.startswith(("- ", "| "))))
    else:
        print(text)


if __name__ == "__main__":
    main()
