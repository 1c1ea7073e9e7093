#!/usr/bin/env python3
"""Makes castlike.txt from the operator pages CastLike-15, -21 and -25.

    make_castlike.py PAGES_DIR > castlike.txt      (PAGES_DIR holds castlike-{15,21,25}.txt)

The pages print decimals rounded, and one of their results is not what this project settled on. So each
expected value is worked out here once more, in exact fractions and by no code of the library, and then
compared with what the page prints. Differences come out as comments at the head of the table; one that is
not in SETTLED below stops the run. Needs nothing but Python 3.9.
"""

import re
import sys
from fractions import Fraction

# name: (bits, exponent bits, mantissa bits, bias, style)
FLOATS = {
    "FLOAT": (32, 8, 23, 127, "ieee"),
    "DOUBLE": (64, 11, 52, 1023, "ieee"),
    "FLOAT16": (16, 5, 10, 15, "ieee"),
    "BFLOAT16": (16, 8, 7, 127, "ieee"),
    "FLOAT8E4M3FN": (8, 4, 3, 7, "fn"),
    "FLOAT8E4M3FNUZ": (8, 4, 3, 8, "fnuz"),
    "FLOAT8E5M2": (8, 5, 2, 15, "ieee"),
    "FLOAT8E5M2FNUZ": (8, 5, 2, 16, "fnuz"),
}
INTEGERS = {  # name: (bits, signed)
    "UINT8": (8, False), "INT8": (8, True), "UINT16": (16, False), "INT16": (16, True),
    "INT32": (32, True), "INT64": (64, True), "UINT32": (32, False), "UINT64": (64, False),
    "UINT4": (4, False), "INT4": (4, True), "UINT2": (2, False), "INT2": (2, True),
}
DTYPES = {
    "bool": "BOOL", "object": "STRING", "float16": "FLOAT16", "float32": "FLOAT", "float64": "DOUBLE",
    "bfloat16": "BFLOAT16", "float8_e4m3fn": "FLOAT8E4M3FN", "float8_e4m3fnuz": "FLOAT8E4M3FNUZ",
    "float8_e5m2": "FLOAT8E5M2", "float8_e5m2fnuz": "FLOAT8E5M2FNUZ", "float8_e8m0fnu": "FLOAT8E8M0",
    **{name.lower(): name for name in INTEGERS},
}

# What is settled otherwise than the page has it: (source, target, printed, taken): why.
SETTLED = {
    ("FLOAT8E8M0", "FLOAT", "0.", "5.877472e-39"):
        "byte 00 of FLOAT8E8M0 is 2^-127, a subnormal FLOAT; the page's code shifts the byte into place",
}

NAN, INF, NEG_INF, NEG_ZERO = "nan", "inf", "-inf", "-0"
# A value is a Fraction, or one of these four strings; of STRING, ("text", its text).


def pow2(e):
    return Fraction(2) ** e


def exponent_of(x):
    """floor(log2(x)) of a positive fraction."""
    e = x.numerator.bit_length() - x.denominator.bit_length()
    return e if pow2(e) <= x else e - 1


def max_finite(kind):
    _, exponent_bits, mantissa_bits, bias, style = FLOATS[kind]
    top = (1 << exponent_bits) - 1 - bias  # the exponent that is all ones
    if style == "ieee":
        return (2 - pow2(-mantissa_bits)) * pow2(top - 1)
    if style == "fn":  # all ones is NaN, the code below it the largest number
        return (2 - 2 * pow2(-mantissa_bits)) * pow2(top)
    return (2 - pow2(-mantissa_bits)) * pow2(top)


def round_half_even(x):
    floor = x.numerator // x.denominator
    rest = x - floor
    return floor + (1 if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and floor % 2 == 1) else 0)


def is_negative(value):
    return value in (NEG_INF, NEG_ZERO) or (isinstance(value, Fraction) and value < 0)


def to_float(value, kind, saturate):
    _, _, mantissa_bits, bias, style = FLOATS[kind]
    is_float8 = kind.startswith("FLOAT8")
    overflow = {"ieee": INF, "fn": NAN, "fnuz": NAN}[style]
    signed = lambda v: {INF: NEG_INF, NAN: NAN}.get(v) or -v
    if value == NAN:
        return NAN
    negative = is_negative(value)
    biggest = max_finite(kind)
    if value in (INF, NEG_INF):
        result = biggest if is_float8 and saturate else overflow
        return signed(result) if negative else result
    magnitude = Fraction(0) if value == NEG_ZERO else abs(value)
    if magnitude != 0:
        quantum = pow2(max(exponent_of(magnitude), 1 - bias) - mantissa_bits)
        magnitude = round_half_even(magnitude / quantum) * quantum
    if magnitude > biggest:
        result = biggest if is_float8 and saturate else overflow
        return signed(result) if negative else result
    if magnitude == 0:
        return NEG_ZERO if negative and style != "fnuz" else Fraction(0)
    return -magnitude if negative else magnitude


def to_e8m0(value, saturate):
    """round_mode up, the default."""
    if value == NAN or value == NEG_INF or (isinstance(value, Fraction) and value < 0):
        return NAN
    if value == INF:
        return pow2(127) if saturate else NAN
    if value == NEG_ZERO or value < pow2(-127):
        return pow2(-127) if saturate else NAN
    e = exponent_of(value)
    if pow2(e) < value:
        e += 1
    return pow2(e) if e <= 127 else (pow2(127) if saturate else NAN)


def number_of(value):
    """What a string says."""
    if not isinstance(value, tuple):
        return value
    return Fraction(value[1])


def to_integer(value, kind, from_float):
    bits, signed = INTEGERS[kind]
    if value in (NAN, INF, NEG_INF, NEG_ZERO):
        return Fraction(0)
    if from_float and bits < 8:
        n = round_half_even(value)
    else:
        n = abs(value.numerator) // value.denominator * (-1 if value < 0 else 1)
    n %= 1 << bits
    return Fraction(n - (1 << bits) if signed and n >= 1 << (bits - 1) else n)


def shortest(value, kind):
    """The fewest significant digits that read back to `value`, as (digits, exponent of the first)."""
    magnitude = abs(value)
    for digits in range(1, 20):
        e = len(str(magnitude.numerator // magnitude.denominator)) - 1 if magnitude >= 1 else 0
        while magnitude < Fraction(10) ** e:
            e -= 1
        n = round_half_even(magnitude / Fraction(10) ** (e - digits + 1))
        if read_as(n * Fraction(10) ** (e - digits + 1), kind) == magnitude:
            text = str(n)
            return text, e + len(text) - digits
    raise ValueError(value)


def read_as(value, kind):
    """The value of type `kind` nearest to a printed decimal."""
    if kind in FLOATS:
        return to_float(value, kind, saturate=False)
    if kind == "FLOAT8E8M0" and isinstance(value, Fraction):
        e = exponent_of(value)
        return min((pow2(e), pow2(e + 1)), key=lambda candidate: abs(candidate - value))
    return value


def show(value, kind, positional=False):
    if isinstance(value, tuple):
        return '"' + value[1] + '"'
    if isinstance(value, str):
        return value
    if kind == "BOOL":
        return "true" if value else "false"
    if value.denominator == 1:
        return str(value.numerator)
    digits, e = shortest(value, kind)
    if not positional and len(digits) < 7:
        # All digits where they are few: 0.46875, and not 0.47, which names the same FLOAT8E4M3FN.
        scaled = abs(value) * 10**7
        if scaled.denominator == 1 and value != 0:
            digits, e = str(scaled.numerator), len(str(scaled.numerator)) - 8
    digits = digits.rstrip("0")
    sign = "-" if value < 0 else ""
    if e < -4 and not positional:
        return f"{sign}{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e{e:03d}"
    if e < 0:
        return sign + "0." + "0" * (-e - 1) + digits
    return sign + digits[: e + 1].ljust(e + 1, "0") + ("." + digits[e + 1:] if digits[e + 1:] else "")


def cast(value, source, target, saturate):
    if target == "STRING":
        if source == "BOOL":
            return ("text", "1" if value else "0")
        return ("text", show(value, source, positional=True))
    number = number_of(value)
    if target == "BOOL":
        return Fraction(0 if number in (0, NEG_ZERO) else 1)
    if target in INTEGERS:
        return to_integer(number, target, from_float=source in FLOATS)
    if target == "FLOAT8E8M0":
        return to_e8m0(number, saturate)
    return to_float(number, target, saturate)


def parse_value(text, kind):
    if kind == "STRING":
        return ("text", text.strip("'"))
    if kind == "BOOL":
        return Fraction({"True": 1, "False": 0}[text])
    if text in (NAN, INF, NEG_INF):
        return text
    value = Fraction(text.rstrip(".") if text.endswith(".") else text)
    if value == 0:
        return NEG_ZERO if text.startswith("-") else value
    return read_as(value, kind)


TENSOR = re.compile(r"(\w+): shape=\(([^)]*)\), dtype=(\w+)\s+")


def parse_tensors(text):
    """[(name, dims, type, printed values)] of a part of a page."""
    found = []
    heads = list(TENSOR.finditer(text))
    for i, head in enumerate(heads):
        body = text[head.end(): heads[i + 1].start() if i + 1 < len(heads) else len(text)]
        depth, end = 0, 0
        for end, c in enumerate(body):
            depth += (c == "[") - (c == "]")
            if depth == 0:
                break
        dims = [int(d) for d in head.group(2).split(",") if d.strip()]
        values = re.findall(r"'[^']*'|[^\s\[\],]+", body[: end + 1])
        found.append((head.group(1), dims, DTYPES[head.group(3)], values))
    return found


class Table:
    def __init__(self):
        self.rows = []
        self.differences = []

    def add(self, name, opset, saturate, source, dims, inputs, target, printed):
        expected = [cast(v, source, target, saturate) for v in inputs]
        if printed is not None:
            assert len(printed) == len(expected), name
            for i, (text, value) in enumerate(zip(printed, expected)):
                if parse_value(text, target) == value:
                    continue
                why = SETTLED.get((source, target, text, show(value, target)))
                if why is None:
                    sys.exit(f"{name}: element {i} is printed {text}, worked out as {show(value, target)}")
                self.differences.append(
                    f"{name}, element {i}: printed {text}, taken {show(value, target)}: {why}")
        assert [parse_value(show(v, source).replace('"', "'") if source == "STRING" else
                            {"true": "True", "false": "False"}.get(show(v, source), show(v, source)),
                            source) for v in inputs] == inputs, name
        shape = "[" + ",".join(map(str, dims)) + "]"
        values = lambda list_, kind: " ".join(show(v, kind) for v in list_)
        self.rows.append((name, str(opset), "-" if saturate else "saturate=0",
                          f"{source} {shape} {values(inputs, source)}", target,
                          f"{target} {shape} {values(expected, target)}"))


def add_page(table, path, opset):
    with open(path, encoding="utf-8") as page:
        text = page.read().split("Differences with previous version")[0]
    parts = re.split(r"\*\*(test_\w+)\*\*", text)[1:]
    for name, body in zip(parts[::2], parts[1::2]):
        attributes = re.findall(r"(\w+) = (\S+)", body.split("Inputs:")[0])
        assert set(attributes) <= {("saturate", "0")}, name
        source, target = re.fullmatch(r"test_(?:cc_)?castlike_(?:no_saturate_)?(\w+)_to_(\w+)", name).groups()
        (n0, dims, type0, values), (n1, dims1, type1, values1), (n2, dims2, type2, printed) = parse_tensors(body)
        assert (n0, n1, n2) == ("input", "target_type", "output"), name
        assert (type0, type1, type2) == (source, target, target) and dims == dims2 and dims1 == [1], name
        # The one element of the target counts for nothing; in the table it is left out.
        assert values1[0] in ("''", "0", "0.", "False", "5.87747e-39"), name
        table.add(name, opset, not attributes, source, dims, [parse_value(v, source) for v in values], target,
                  printed)


def add_uint32_and_uint64(table):
    """The two types of CastLike-15 that its page has no example of, with the page's inputs."""
    others = ["BFLOAT16", "BOOL", "DOUBLE", "FLOAT", "FLOAT16", "INT16", "INT32", "INT64", "INT8", "STRING",
              "UINT16", "UINT8", "UINT32", "UINT64"]
    inputs = {"BOOL": ["False", "True", "True", "False"], "STRING": ["'-3'", "'0'", "'7'", "'42'"]}
    for source in others:
        values = inputs.get(source) or (
            ["-1.5", "0", "2.75", "4"] if source in ("DOUBLE", "FLOAT", "FLOAT16") else
            ["0", "1", "7", "42"] if source.startswith("UINT") else ["-3", "0", "7", "42"])
        for target in others:
            if source == target or not {source, target} & {"UINT32", "UINT64"}:
                continue
            table.add(f"own_castlike_{source}_to_{target}", 15, True, source, [4],
                      [parse_value(v, source) for v in values], target, None)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    table = Table()
    for opset in (15, 21, 25):
        add_page(table, f"{sys.argv[1]}/castlike-{opset}.txt", opset)
    add_uint32_and_uint64(table)
    print("# CastLike, all examples of the operator pages of versions 15, 21 and 25 (test_*), and UINT32 and")
    print("# UINT64 in version 15 (own_*). Made by make_castlike.py, read by unit/castlike_pages_test.cc.")
    print("#")
    print("# name | opset | attributes | input: type, dims, values | target type | expected: type, dims, values")
    print("#")
    print("# A decimal stands for the nearest value of its type. The values of target_type count for nothing.")
    print("# Taken otherwise than the page prints it:")
    for difference in table.differences:
        print("#   " + difference)
    widths = [max(len(row[i]) for row in table.rows if i != 3 or len(row[3]) < 50) for i in range(5)]
    for row in table.rows:
        print(" | ".join([cell.ljust(width) for cell, width in zip(row, widths)] + [row[5]]))


if __name__ == "__main__":
    main()
