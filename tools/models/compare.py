#!/usr/bin/env python3
"""Runs published models with onnx-run and with ONNX Runtime and compares all outputs.

    ./dev models [-k PATTERN] [--repeat N]

For each case: the largest difference of an element, absolute and relative to the tolerance, the
median time of a run of both with one thread, and what the model says. The exit code is 1 when an
element is beyond atol + rtol * |expected|, 2 when a model is not there.

The models come out of Python packages (requirements.txt), which are not imported. Inputs are made
here, by a seed: a voice, lines of text, this tree's own files.
"""

import argparse
import importlib.util
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Optional

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

ROOT = Path(__file__).resolve().parents[2]


# --- Inputs --------------------------------------------------------------------------------------

def voice(rate, seconds):
    """Vowels with pauses between them: a gliding pulse train through three formants, and noise."""
    rng = np.random.default_rng(20)
    time_ = np.arange(int(rate * seconds)) / rate
    pitch = 120 + 25 * np.sin(2 * np.pi * 0.7 * time_)
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    sound = np.zeros_like(time_)
    vowels = [(730, 1090, 2440), (270, 2290, 3010), (300, 870, 2240), (530, 1840, 2480)]
    for harmonic in range(1, int(rate / 2 / 150)):
        for i, formants in enumerate(vowels):
            gain = sum(np.exp(-(((harmonic * pitch - f) / 120) ** 2)) / (n + 1)
                       for n, f in enumerate(formants))
            sound += np.where((time_ * 4).astype(int) % 4 == i, gain, 0) * np.sin(harmonic * phase)
    syllables = np.clip(np.sin(2 * np.pi * 3.1 * time_) * 3, 0, 1) * (time_ % 1.2 < 0.8)
    sound = sound / np.abs(sound).max() * syllables * 0.5 + rng.normal(0, 0.003, time_.size)
    return sound.astype(np.float32)


# 5 x 7 dots each.
GLYPHS = {
    "0": "0E11131519110E", "1": "040C040404040E", "2": "0E11010204081F", "3": "1F02040201110E",
    "4": "02060A121F0202", "7": "1F010204080808", "9": "0E11110F01020C", "A": "0E11111F111111",
    "C": "0E11101010110E", "E": "1F10101E10101F", "H": "1111111F111111", "N": "11111915131111",
    "O": "0E11111111110E", "R": "1E11111E141211", "S": "0F10100E01011E", "T": "1F040404040404",
    "U": "1111111111110E", "X": "11110A040A1111", " ": "00000000000000",
}


def text_line(text, height, margin):
    """Black on white, 0 to 1, smoothed as print is."""
    rows = [[int(GLYPHS[c][2 * y:2 * y + 2], 16) for c in text] for y in range(7)]
    dots = np.array([[bits >> (4 - x) & 1 if x < 5 else 0 for bits in row for x in range(6)]
                     for row in rows], np.float32)
    scale = (height - 2 * margin) // 7
    image = np.kron(dots, np.ones((scale, scale), np.float32))
    top = (height - image.shape[0]) // 2
    image = np.pad(image, ((top, height - image.shape[0] - top), (margin, margin)))
    for axis in (0, 1):
        for _ in range(2):
            image = (np.roll(image, 1, axis) + 2 * image + np.roll(image, -1, axis)) / 4
    return 1 - image


def picture(image, mean=0.5, std=0.5):
    """As the OCR package prepares it: [1, 3, height, width], -1 to 1."""
    rng = np.random.default_rng(4)
    noisy = np.clip(image + rng.normal(0, 0.01, image.shape), 0, 1).astype(np.float32)
    return np.ascontiguousarray(np.broadcast_to((noisy - mean) / std, (1, 3, *image.shape)))


def page():
    image = np.ones((320, 320), np.float32)
    for i, text in enumerate(("ONNX", "CAST 17", "RUN 3012")):
        line = text_line(text, 48, 6)
        image[40 + 90 * i:88 + 90 * i, 30:30 + line.shape[1]] = line
    return picture(image)


def wide(text, width):
    line = text_line(text, 48, 6)[:, :width]
    return picture(np.pad(line, ((0, 0), (0, width - line.shape[1])), constant_values=1.0))


def file_bytes(path):
    """As magika prepares it: the first and last 1024 bytes without blanks at the ends; 256 fills."""
    content = path.read_bytes()
    head, tail = content[:4096].lstrip()[:1024], content[-4096:].rstrip()[-1024:]
    return np.array([[*head, *[256] * (1024 - len(head)), *[256] * (1024 - len(tail)), *tail]],
                    np.int32)


# --- The cases -----------------------------------------------------------------------------------

@dataclass
class Case:
    name: str
    package: str
    file: str
    steps: Callable[[], list]  # dicts of inputs; several: one after the other, with the states
    states: dict = field(default_factory=dict)  # input: the output that feeds it in the next step
    says: Optional[Callable] = None  # a short text from the outputs of all steps and the model
    rtol: float = 1e-3
    atol: float = 1e-4


def vad_steps(rate, rate_input=True):
    def steps():
        size, context = (512, 64) if rate == 16000 else (256, 32)
        sound = np.concatenate([np.zeros(context, np.float32), voice(rate, 16 * size / rate)])
        result = []
        for i in range(16):
            inputs = {"input": sound[None, i * size:(i + 1) * size + context]}
            if rate_input:
                inputs["sr"] = np.array(rate, np.int64)
            if i == 0:
                inputs["state"] = np.zeros((2, 1, 128), np.float32)
            result.append(inputs)
        return result
    return steps


def vad_sequence():
    sound = np.concatenate([np.zeros(64, np.float32), voice(16000, 16 * 512 / 16000)])
    zero = np.zeros((1, 1, 128), np.float32)
    return [{"input": np.stack([sound[i * 512:(i + 1) * 512 + 64] for i in range(16)]),
             "h": zero, "c": zero}]


def says_speech(steps, _):
    chances = np.concatenate([np.ravel(outputs[0]) for outputs in steps])
    return f"speech {chances.min():.2f} to {chances.max():.2f}"


def says_text(steps, model):
    """Decodes by the letters in the model's metadata; 0 is the blank."""
    letters = {p.key: p.value for p in model.metadata_props}["character"].splitlines() + [" "]
    best = steps[0][0][0].argmax(-1)
    kept = [b for i, b in enumerate(best) if b and (i == 0 or b != best[i - 1])]
    return '"' + "".join(letters[b - 1] for b in kept) + '"'


def says_boxes(steps, _):
    rows = (steps[0][0][0, 0] > 0.3).any(axis=1).astype(int)
    return f"{(np.diff(rows, prepend=0) == 1).sum()} lines of text"


def says_upright(steps, _):
    return f"{180 * int(steps[0][0][0].argmax())} degrees"


def says_type(labels):
    return lambda steps, _: ", ".join(labels[int(np.argmax(outputs[0]))] for outputs in steps)


def cases():
    vad, ocr = "silero_vad", "rapidocr_onnxruntime"
    state = {"state": "stateN"}
    result = [
        Case("silero-vad, 16 kHz", vad, "data/silero_vad.onnx", vad_steps(16000), state),
        Case("silero-vad, 8 kHz", vad, "data/silero_vad.onnx", vad_steps(8000), state),
        Case("silero-vad half", vad, "data/silero_vad_half.onnx", vad_steps(16000, False), state),
        Case("silero-vad opset 15", vad, "data/silero_vad_16k_op15.onnx", vad_steps(16000), state),
        Case("silero-vad opset 18", vad, "data/silero_vad_op18_ifless.onnx", vad_steps(16000), state),
        Case("silero-vad openvino", vad, "data/silero_vad_openvino_16k.onnx",
             vad_steps(16000, False), state),
        Case("silero-vad sequence", vad, "data/silero_vad_16k_sequence.onnx", vad_sequence),
    ]
    for case in result:
        case.says = says_speech
    result += [
        Case("PP-OCRv4 detector", ocr, "models/ch_PP-OCRv4_det_infer.onnx", lambda: [{"x": page()}],
             says=says_boxes),
        Case("PP-OCRv4 recogniser", ocr, "models/ch_PP-OCRv4_rec_infer.onnx",
             lambda: [{"x": wide("ONNX RUN 2047", 416)}], says=says_text),
        Case("PP-OCR direction", ocr, "models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
             lambda: [{"x": wide("CAST 1790", 192)[..., ::-1, ::-1].copy()}], says=says_upright),
    ]
    folder = "models/standard_v3_3"
    package = find_package("magika")
    if package:
        labels = json.loads((package / folder / "config.min.json").read_text())
        files = ("dev", "README.md", "CMakeLists.txt", "runtime/session.cc", "examples/one_cast.onnx",
                 "tools/models/compare.py")
        result.append(Case("magika", "magika", f"{folder}/model.onnx",
                           lambda: [{"bytes": file_bytes(ROOT / name)} for name in files],
                           says=says_type(labels["target_labels_space"])))
    return result


def find_package(name):
    spec = importlib.util.find_spec(name)  # of a package: finds it without running it
    return Path(spec.submodule_search_locations[0]) if spec else None


# --- The engines ---------------------------------------------------------------------------------

class Program:
    """onnx-run, one process a run."""

    def __init__(self, program, path, outputs, repeat):
        self._program, self._path, self._outputs, self._repeat = program, path, outputs, repeat

    def __call__(self, inputs):
        with tempfile.TemporaryDirectory(prefix="onnx-run-") as folder:
            command = [self._program, self._path, "--threads", "1", "--repeat", str(self._repeat),
                       "--output", f"{folder}/out"]
            for i, (name, value) in enumerate(inputs.items()):
                file = Path(folder) / f"{i}.pb"
                file.write_bytes(numpy_helper.from_array(value).SerializeToString())
                command += ["--input", f"{name}={file}"]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                                  stdin=subprocess.DEVNULL, check=False)
            if done.returncode:
                raise RuntimeError(done.stderr.strip() or f"exit code {done.returncode}")
            outputs = [numpy_helper.to_array(onnx.TensorProto.FromString(
                           Path(f"{folder}/out/output_{i}.pb").read_bytes()))
                       for i in range(len(self._outputs))]
        return outputs, float(re.search(r"median ([\d.]+) us", done.stdout)[1]) / 1e6


class Runtime:
    """ONNX Runtime, with its optimisations."""

    def __init__(self, path, repeat):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(path, options,
                                                     providers=["CPUExecutionProvider"])
        self._repeat = repeat

    def __call__(self, inputs):
        times = []
        for _ in range(self._repeat):
            start = time.perf_counter()
            outputs = self._session.run(None, inputs)
            times.append(time.perf_counter() - start)
        return outputs, statistics.median(times)


def run_steps(engine, case, names):
    """The outputs of each step, and the sum of their times."""
    steps, seconds, carried = [], 0.0, {}
    for inputs in case.steps():
        outputs, took = engine({**inputs, **carried})
        carried = {name: outputs[names.index(output)] for name, output in case.states.items()}
        steps.append(outputs)
        seconds += took
    return steps, seconds


# --- The comparison ------------------------------------------------------------------------------

@dataclass
class Largest:
    """The largest difference seen, and where the tolerance is nearest or passed."""
    difference: float = 0.0
    share: float = 0.0  # of the tolerance
    where: str = ""

    def add(self, name, step, got, expected, case):
        if got.shape != expected.shape or got.dtype != expected.dtype:
            self.share = np.inf
            self.where = f"{name}: {got.dtype}{got.shape}, not {expected.dtype}{expected.shape}"
            return
        got, expected = got.astype(np.float64), expected.astype(np.float64)
        same = (got == expected) | (np.isnan(got) & np.isnan(expected))
        with np.errstate(invalid="ignore"):
            difference = np.where(same, 0, np.abs(got - expected))
        difference = np.where(np.isnan(difference), np.inf, difference)
        limit = case.atol + case.rtol * np.abs(np.where(np.isfinite(expected), expected, 0))
        share = difference / limit
        if share.size and (share.max() > self.share or not self.where):
            at = np.unravel_index(share.argmax(), share.shape)
            self.share = float(share.max())
            self.where = f"{name}[{','.join(map(str, at))}] of step {step}: " \
                         f"{got[at]:.7g}, not {expected[at]:.7g}"
        self.difference = max(self.difference, float(difference.max(initial=0)))


def compare(case, program, repeat):
    """Prints the line of one case; gives whether it is right."""
    path = str(find_package(case.package) / case.file)
    model = onnx.load(path)
    names = [output.name for output in model.graph.output]
    expected, their_time = run_steps(Runtime(path, repeat), case, names)
    try:
        got, our_time = run_steps(Program(program, path, names, repeat), case, names)
    except RuntimeError as error:
        print(f"{case.name:22} FAILED: {error}")
        return False
    largest = Largest()
    for step, (mine, theirs) in enumerate(zip(got, expected)):
        for name, a, b in zip(names, mine, theirs):
            largest.add(name, step, a, b, case)
    right = largest.share <= 1
    print(f"{case.name:22} {largest.difference:11.3g} {largest.share:9.2g} "
          f"{our_time * 1e3:10.2f} {their_time * 1e3:10.2f} {our_time / their_time:6.2f}  "
          f"{case.says(got, model) if case.says else ''}")
    if not right:
        print(f"{'':22} DIFFERS: {largest.where}")
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-k", default="", metavar="PATTERN", help="only cases with a name like this")
    parser.add_argument("--bin", default=str(ROOT / "build/release/bin/onnx-run"), metavar="FILE",
                        help="the program onnx-run")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="runs of each step")
    args = parser.parse_args()
    chosen = [case for case in cases() if re.search(args.k, case.name)]
    missing = sorted({case.package for case in chosen if not find_package(case.package)})
    if missing or not chosen:
        print(f"not installed: {', '.join(missing)}" if missing else f"no case like {args.k}")
        return 2
    print(f"{'':22} {'largest':>11} {'share of':>9} {'onnx-run':>10} {'ORT ' + short_version():>10}")
    print(f"{'model':22} {'difference':>11} {'tolerance':>9} {'ms':>10} {'ms':>10} {'ratio':>6}")
    right = sum(compare(case, args.bin, max(2, args.repeat)) for case in chosen)
    print(f"{right} passed, {len(chosen) - right} failed, 0 skipped")
    return 0 if right == len(chosen) else 1


def short_version():
    return ".".join(onnxruntime.__version__.split(".")[:2])


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
