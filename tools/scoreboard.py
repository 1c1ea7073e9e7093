#!/usr/bin/env python3
"""Writes docs/conformance.md: how many official tests onnx-run, onnx's reference evaluator and ONNX
Runtime pass, set by set and operator by operator.

    ./dev scoreboard [--fresh]

All three get the same files, tolerances and rules of comparison; the other two run in a process of
their own that is started again when it dies or takes too long. Their results are kept in
build/scoreboard/ by version, and measured again with --fresh.
"""

import argparse
import collections
import ctypes
import datetime
import importlib.metadata
import json
import locale
import os
import platform
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from backend_test import from_file

ROOT = Path(__file__).resolve().parent.parent
SETS = ("node", "simple", "light", "pytorch-operator", "pytorch-converted")
ENGINES = ("reference", "onnxruntime")
TIMEOUT = {"light": 300}
OTHER_TIMEOUT = 60
OUTCOMES = ("load", "run", "differs", "crash", "timeout")
# Types of more than a byte that numpy does not know, and of less than one.
WIDE, SMALL = (TensorProto.BFLOAT16,), (TensorProto.INT4, TensorProto.UINT4, TensorProto.INT2,
                                        TensorProto.UINT2, TensorProto.FLOAT4E2M1)
BYTES = (TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E4M3FNUZ, TensorProto.FLOAT8E5M2,
         TensorProto.FLOAT8E5M2FNUZ, TensorProto.FLOAT8E8M0)


# --- Test files ----------------------------------------------------------------------------------

class Test:
    """One official test: its model, and data sets of inputs by name and expected outputs."""

    def __init__(self, path, name):
        self.suite = name.split("/")[0]
        light = self.suite == "light"
        self.model_path = path / f"{name}.onnx" if light else path / name / "model.onnx"
        self.model = onnx.load(self.model_path)
        self.rtol, self.atol = 1e-3, 1e-7
        settings = self.model_path.parent / "data.json"
        if light:
            settings = path / "real" / name.split("/")[1].replace("light_", "test_") / "data.json"
        if settings.exists():
            values = json.loads(settings.read_text())
            self.rtol, self.atol = (values.get("rtol", self.rtol), values.get("atol", self.atol))
        graph = self.model.graph
        initializers = {tensor.name for tensor in graph.initializer}
        required = [info for info in graph.input if info.name not in initializers]
        self.sets = []
        if light:
            feeds = {}
            for info in required:
                dims = [d.dim_value or 1 for d in info.type.tensor_type.shape.dim]
                count = int(np.prod(dims))
                feeds[info.name] = (np.arange(count).reshape(dims) / count).astype(np.float32)
            files = [path / f"{name}_output_{i}.pb" for i in range(len(graph.output))]
            self.sets.append((feeds, self._expected(files)))
            return
        for folder in sorted((path / name).glob("test_data_set_*")):
            files = [folder / f"input_{i}.pb" for i in range(len(list(folder.glob("input_*.pb"))))]
            infos = required if len(files) == len(required) else graph.input
            feeds = {info.name: from_file(file, info.type)
                     for info, file in zip(infos, files)}
            count = len(list(folder.glob("output_*.pb")))
            self.sets.append((feeds, self._expected(
                [folder / f"output_{i}.pb" for i in range(count)])))

    def _expected(self, files):
        return [from_file(file, info.type)
                for info, file in zip(self.model.graph.output, files)]


def same(got, want, rtol, atol):
    """The rule of tools/compare.h."""
    if isinstance(want, (list, tuple)):
        return (isinstance(got, (list, tuple)) and len(got) == len(want) and
                all(same(a, b, rtol, atol) for a, b in zip(got, want)))
    if want is None or got is None:
        return want is got
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return False
    if want.dtype.kind in "OU":
        return got.dtype.kind in "OU" and got.astype(object).tolist() == want.tolist()
    if got.dtype != want.dtype:
        return False
    if want.dtype.kind in "biu" or re.fullmatch(r"u?int[24]", want.dtype.name):
        return bool(np.array_equal(got.astype(object), want.astype(object)))
    if want.dtype.itemsize == 1:  # the small floats
        return bool(np.array_equal(got.astype(np.float32), want.astype(np.float32), equal_nan=True))
    if want.dtype.kind != "c":
        got, want = got.astype(np.float64), want.astype(np.float64)
    return bool(np.isclose(got, want, rtol=rtol, atol=atol, equal_nan=True).all())


# --- The other engines ---------------------------------------------------------------------------

def reference_session(model):
    from onnx.reference import ReferenceEvaluator
    session = ReferenceEvaluator(model)
    return lambda feeds: session.run(None, feeds)


class RuntimeSession:
    """ONNX Runtime, given and giving also the types that its Python interface has no arrays for."""

    def __init__(self, model):
        import onnxruntime
        self._value = onnxruntime.OrtValue
        self._ort = onnxruntime
        self._model = model
        self._types = {info.name: info.type.tensor_type.elem_type for info in model.graph.input}
        self._outputs = [info.type.tensor_type.elem_type for info in model.graph.output]
        self._session = self._load(model) if not set(self._types.values()) & set(SMALL) else None

    def _load(self, model):
        options = self._ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        return self._ort.InferenceSession(model.SerializeToString(), options,
                                          providers=["CPUExecutionProvider"])

    def __call__(self, feeds):
        session = self._session
        if session is None:  # elements of 2 and 4 bits become constants of the model
            model = onnx.ModelProto()
            model.CopyFrom(self._model)
            for name in [name for name, element in self._types.items() if element in SMALL]:
                model.graph.initializer.append(numpy_helper.from_array(feeds[name], name))
                model.graph.input.remove(next(i for i in model.graph.input if i.name == name))
            feeds = {k: v for k, v in feeds.items() if self._types[k] not in SMALL}
            session = self._load(model)
        special = WIDE + SMALL + BYTES
        values = {}
        for name, value in feeds.items():
            element = self._types[name]
            if element in special:
                raw = np.ascontiguousarray(value).view(np.uint16 if element in WIDE else np.uint8)
                value = self._value.ortvalue_from_numpy_with_onnx_type(raw.reshape(value.shape),
                                                                       element)
            values[name] = value
        if not set(self._outputs) & set(special):
            return session.run(None, values)
        values = {name: value if isinstance(value, self._value) else
                  self._value.ortvalue_from_numpy(np.asarray(value))
                  for name, value in values.items() if value is not None}
        outputs = session.run_with_ort_values(None, values)
        return [self._array(output) for output in outputs]

    @staticmethod
    def _array(output):
        element = output.element_type()
        if element not in WIDE + SMALL + BYTES:
            return output.numpy()
        shape = output.shape()
        size = int(np.prod(shape))
        if element in SMALL:
            bits = 2 if element in (TensorProto.INT2, TensorProto.UINT2) else 4
            size = (size * bits + 7) // 8
        else:
            size *= 2 if element in WIDE else 1
        raw = ctypes.string_at(output.data_ptr(), size) if size else b""
        return numpy_helper.to_array(TensorProto(data_type=element, dims=shape, raw_data=raw))


def judge(engine, test):
    """Gives (outcome, message); the outcome of a passed test is "passed"."""
    try:
        session = reference_session(test.model) if engine == "reference" else RuntimeSession(test.model)
    except Exception as error:
        return "load", str(error)
    # As onnx-conformance does: type, shape and range are all that can be right of random values.
    coins = "test_bernoulli" in str(test.model_path)
    dropped = re.search(r"test_training_dropout(?!_zero)", str(test.model_path))
    for feeds, expected in test.sets:
        try:
            outputs = session(feeds)
        except NotImplementedError as error:
            return "load", str(error)
        except Exception as error:
            return ("load" if "NOT_IMPLEMENTED" in str(error) else "run"), str(error)
        for got, want in zip(outputs, expected):
            if coins and not np.isin(np.asarray(got), (0, 1)).all():
                return "differs", ""
            if coins or dropped:
                got, want = np.zeros_like(got), np.zeros_like(want)
            if not same(got, want, test.rtol, test.atol):
                return "differs", ""
    return "passed", ""


def worker(engine, data):
    """Reads names of tests, prints what became of each."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what an engine prints is no answer
    for line in sys.stdin:
        outcome, message = judge(engine, Test(data, line.strip()))
        answers.write(json.dumps([outcome, message.strip()[:300]]) + "\n")
        answers.flush()


class Worker:
    def __init__(self, engine, data):
        self._command = [sys.executable, __file__, "--worker", engine, "--data", str(data)]
        self._process = None
        self._folder = None

    def _start(self):
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, text=True,
                                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                         env=os.environ | self._locale())
        self._lines = queue.Queue()
        thread = threading.Thread(target=self._read, args=(self._process, self._lines), daemon=True)
        thread.start()

    def _locale(self):
        """ONNX Runtime's StringNormalizer wants the locale en_US.UTF-8; C.UTF-8 has the same letters,
        and is on machines that have no other."""
        present = Path("/usr/lib/locale/C.utf8")
        try:
            locale.setlocale(locale.LC_CTYPE, "en_US.UTF-8")
        except locale.Error:
            if present.is_dir():
                self._folder = self._folder or tempfile.TemporaryDirectory(prefix="locale-")
                link = Path(self._folder.name) / "en_US.UTF-8"
                if not link.exists():
                    link.symlink_to(present)
                return {"LOCPATH": self._folder.name}
        return {}

    @staticmethod
    def _read(process, lines):
        for line in process.stdout:
            lines.put(line)
        lines.put("")

    def __call__(self, name):
        if self._process is None:
            self._start()
        try:
            self._process.stdin.write(name + "\n")
            self._process.stdin.flush()
            line = self._lines.get(timeout=TIMEOUT.get(name.split("/")[0], OTHER_TIMEOUT))
            if line:
                return json.loads(line)
            outcome = "crash"
        except queue.Empty:
            outcome = "timeout"
        except BrokenPipeError:
            outcome = "crash"
        self.close()
        return [outcome, ""]

    def close(self):
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None


def measure(engine, data, names, fresh):
    """{test: [outcome, message]}, from the file of an earlier run if there is one."""
    version = versions()[engine]
    file = ROOT / f"build/scoreboard/{engine}-{version}-onnx-{onnx.__version__}.json"
    results = {}
    if file.exists() and not fresh:
        results = json.loads(file.read_text())
    todo = [name for name in names if name not in results]
    run, started = Worker(engine, data), time.time()
    for i, name in enumerate(todo):
        results[name] = run(name)
        if i % 200 == 199:
            print(f"{engine}: {i + 1} of {len(todo)} tests, {time.time() - started:.0f} s",
                  file=sys.stderr)
    run.close()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(results, indent=0))
    return {name: results[name] for name in names}


def measure_ours(program, data):
    """The same of onnx-conformance's report, with its own words for outcomes."""
    words = {"unimplemented operator": "load", "unsupported type": "load"}
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        subprocess.run([str(program), *[str(data / suite) for suite in SETS], "--quiet", "--json",
                        file.name], stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=False)
        tests = json.loads(Path(file.name).read_text())["tests"]
    results, operators = {}, {}
    for test in tests:
        cause = test.get("cause", "")
        outcome = "passed" if test["result"] == "passed" else words.get(cause, cause)
        results[test["name"]] = [outcome, test.get("message", "")]
        operators[test["name"]] = test["operator"]
    return results, operators


# --- The page ------------------------------------------------------------------------------------

def versions():
    return {"reference": onnx.__version__,
            "onnxruntime": importlib.metadata.version("onnxruntime")}


class Subject:
    """What a node test is about: operator, its version, the types of its inputs and outputs."""

    def __init__(self, data, name, operator):
        base = re.sub(r"_expanded(_.*)?$", "", name)  # by the operator whose function it shows
        path = data / base / "model.onnx"
        model = onnx.load(path if path.exists() else data / name / "model.onnx",
                          load_external_data=False)
        nodes = model.graph.node
        opsets = {o.domain or "ai.onnx": o.version for o in model.opset_import}
        node = nodes[0] if len(nodes) == 1 else next(
            (n for n in nodes if n.op_type == operator.split(".")[-1]), nodes[-1])
        if any(n.op_type == "Gradient" for n in nodes):
            node = next(n for n in nodes if n.op_type == "Gradient")
        domain = node.domain or "ai.onnx"
        self.operator = node.op_type if domain == "ai.onnx" else f"{domain}.{node.op_type}"
        try:
            self.version = onnx.defs.get_schema(node.op_type, opsets.get(domain, 1),
                                                node.domain).since_version
        except onnx.defs.SchemaError:
            self.version = opsets.get(domain, 1)
        self.types = set()
        for info in [*model.graph.input, *model.graph.output]:
            self._add(info.type)

    def _add(self, value_type):
        kind = value_type.WhichOneof("value")
        if kind == "tensor_type":
            self.types.add(TensorProto.DataType.Name(value_type.tensor_type.elem_type).lower())
        elif kind in ("optional_type", "sequence_type"):
            self._add(getattr(value_type, kind).elem_type)


def share(results, names):
    passed = sum(results[name][0] == "passed" for name in names)
    return f"**{passed}** of {len(names)}" if passed < len(names) else str(passed)


def outcome_list(results, names):
    counts = collections.Counter(results[name][0] for name in names)
    words = {"load": "not supported", "run": "error", "differs": "different", "timeout": "time-out"}
    return ", ".join(f"{words.get(o, o)} {counts[o]}" for o in OUTCOMES if counts[o]) or "nothing"


def processor():
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.machine()
    name = re.search(r"model name\s*: (.*)", text)
    has = next((w for w in ("avx512f", "avx2") if w in text), "")
    return f"{name[1] if name else platform.machine()}, {has.upper()}".rstrip(", ")


def page(program, results, names, subjects):
    ours, theirs, runtime = (results[k] for k in ("onnx-run", *ENGINES))
    version = subprocess.run([str(program), "--version"], capture_output=True, text=True,
                             check=False).stdout.splitlines()
    mine = version[0].split()[-1] if version else "?"
    v = versions()
    lines = [
        "# Conformance", "",
        "Written by `./dev scoreboard` (`tools/scoreboard.py`); do not edit.", "",
        f"The official tests of onnx {onnx.__version__}, run by three engines: onnx-run {mine}, onnx's "
        f"reference evaluator {v['reference']}", f"and ONNX Runtime {v['onnxruntime']} (CPU, its default "
        "optimisations). All get the same files, the tolerances of the tests (1e-3",
        "relative, 1e-7 absolute where a test has no own; integers, text and types of 8 bits and less "
        "must be equal) and the same",
        "comparison. ONNX Runtime takes elements of 2 and 4 bits as constants in the model, since its "
        "Python interface has no",
        "arrays of them. Random values (Bernoulli, Dropout in training) are judged by type, shape and range.", "",
        f"Measured {datetime.date.today().isoformat()} on {processor()}, {platform.system()}, "
        f"Python {platform.python_version()}, numpy {np.__version__}.", "",
        "## By set", "",
        "| set | tests | onnx-run | reference evaluator | ONNX Runtime |",
        "| --- | ---: | ---: | ---: | ---: |"]
    for suite in (*SETS, "all"):
        part = [n for n in names if suite in ("all", n.split("/")[0])]
        lines.append(f"| {suite} | {len(part)} | " + " | ".join(
            share(r, part) for r in (ours, theirs, runtime)) + " |")
    lines += ["", "What does not pass:", "", "| engine | |", "| --- | --- |",
              f"| onnx-run | {outcome_list(ours, names)} |",
              f"| reference evaluator | {outcome_list(theirs, names)} |",
              f"| ONNX Runtime | {outcome_list(runtime, names)} |", ""]
    failing = collections.defaultdict(list)
    for name in names:
        if ours[name][0] != "passed":
            subject = subjects.get(name)
            failing[subject.operator if subject else name.split("/")[0], ours[name][0]].append(name)
    if failing:
        lines += ["onnx-run, by operator: " + "; ".join(
            f"{operator} {len(part)} ({'not supported' if outcome == 'load' else outcome})"
            for (operator, outcome), part in sorted(failing.items())) + ".", ""]
    only = [n for n in names if ours[n][0] == "passed" and
            theirs[n][0] != "passed" and runtime[n][0] != "passed"]
    if only:
        lines += [f"Passed by onnx-run alone: {len(only)}.", ""]
    lines += ["## By operator", "",
              "The sets `node` and `simple`. A test of an operator's function body (`..._expanded`) counts "
              "for that operator. Versions and",
              "types are those that the tests have, not all that are supported. A number alone: all "
              "pass.", "",
              "| operator | versions | types | tests | onnx-run | reference | ONNX Runtime |",
              "| --- | --- | --- | ---: | ---: | ---: | ---: |"]
    rows = collections.defaultdict(list)
    for name, subject in subjects.items():
        rows[subject.operator].append((name, subject))
    for operator, tests in sorted(rows.items(), key=lambda row: ("." in row[0], row[0])):
        part = [name for name, _ in tests]
        counts = collections.Counter(subject.version for _, subject in tests)
        types = sorted(set().union(*(subject.types for _, subject in tests)))
        lines.append(f"| {operator} | {', '.join(map(str, sorted(counts)))} | "
                     f"{' '.join(types) if len(types) <= 5 else f'{len(types)} types'} | {len(part)} | "
                     + " | ".join(share(r, part) for r in (ours, theirs, runtime)) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds node/")
    parser.add_argument("--bin", type=Path, help="the folder of onnx-conformance")
    parser.add_argument("--output", type=Path, default=ROOT / "docs/conformance.md")
    parser.add_argument("--fresh", action="store_true", help="measure the other engines again")
    parser.add_argument("--worker", choices=ENGINES, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        return worker(args.worker, args.data)
    program = (args.bin or ROOT / "build/release/bin") / "onnx-conformance"
    results = {}
    results["onnx-run"], operators = measure_ours(program, args.data)
    names = sorted(results["onnx-run"])
    threads = []
    for engine in ENGINES:
        def run(engine=engine):
            results[engine] = measure(engine, args.data, names, args.fresh)
        threads.append(threading.Thread(target=run))
        threads[-1].start()
    for thread in threads:
        thread.join()
    subjects = {name: Subject(args.data, name, operators[name]) for name in names
                if name.split("/")[0] in ("node", "simple")}
    args.output.write_text(page(program, results, names, subjects))
    for engine in ("onnx-run", *ENGINES):
        passed = sum(results[engine][name][0] == "passed" for name in names)
        print(f"{engine}: {passed} of {len(names)} passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
