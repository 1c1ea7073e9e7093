#!/usr/bin/env python3
"""Writes ops/segment_tables.inc, the tables of ops/vector_segments.cc. Needs mpmath.

    tools/gen/segment_tables.py | clang-format > ops/segment_tables.inc

A function f of x >= 0 is cut into 32 segments: an eighth each of the octaves [1, 2) to [8, 16) of
u = scale * x + 1. In a segment around c, with t = x - c,

    f(x) = value + slope * t + (k[0] t + k[1] t^2 + ... + k[4] t^5)

where slope is f'(c) rounded to float, and k[0] what it lacks; the others are fitted. c is 0 in the
first segment; elsewhere it is, of the floats near the segment's middle, the one where f(c) is
nearest to a float, that is then `value`.

The last table is another: f(x) = value + k[0] t + ... + k[4] t^5 to a small absolute error, value a
multiple of 2^-16; and u = scale * x + offset.
"""

import struct

import mpmath as mp

mp.mp.prec = 120
ROWS = ("center", "value", "slope", "k0", "k1", "k2", "k3", "k4")


def to_float(x):
    return mp.mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def ulp(x):
    return mp.ldexp(1, mp.frexp(abs(x))[1] - 24)


def fitted(f, c, value, slope, low, high, scale_of, powers=range(1, 6)):
    """k, so that the error over scale_of(x) is small: least squares over the Chebyshev nodes."""
    nodes = 24
    a = mp.matrix(nodes, len(powers))
    right = mp.matrix(nodes, 1)
    for i in range(nodes):
        x = (low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * nodes))
        t, weight = x - c, 1 / scale_of(x)
        for j, power in enumerate(powers):
            a[i, j] = weight * t**power
        right[i] = weight * (f(x) - value - slope * t)
    return [to_float(k) for k in mp.lu_solve(a, right)]


def segment(f, derivative, low, high):
    if low <= 0:
        c, value = mp.mpf(0), to_float(f(0))
    else:
        middle, best = (low + high) / 2, None
        # Where f is nearly flat, only far apart places give another fraction of an ulp.
        spread = mp.mpf(1 if f(low) > 0.99999 else 0.07)
        for i in range(-400, 401):
            candidate = to_float(middle + (high - low) / 2 * spread * i / 401)
            exact = f(candidate)
            distance = abs(exact - to_float(exact)) / ulp(exact)
            if best is None or distance < best[0]:
                best = (distance, candidate, to_float(exact))
        _, c, value = best
    slope = to_float(derivative(c))
    return [c, value, slope] + fitted(f, c, value, slope, max(low, mp.mpf("1e-3")), high, f)


def plain_segment(f, derivative, low, high):
    # Of the places near the middle where f is a multiple of 2^-16 at nearly a float, one where its
    # derivative is nearly a float too: that is k[0].
    middle, best = (low + high) / 2, None
    first = mp.nint(f(middle) * 2**16)
    for i in range(-2000, 2001):
        value = (first + i) / 2**16
        c = middle
        for _ in range(3):
            c += (value - f(c)) / derivative(c)
        c = to_float(c)
        slope = derivative(c)
        distance = abs(value - f(c)) + abs(slope - to_float(slope)) * (high - low) / 2
        if best is None or distance < best[0]:
            best = (distance, c, value, to_float(slope))
    _, c, value, slope = best
    k = fitted(f, c, value, slope, low, high, lambda x: 1, range(2, 6))
    return [c, value, slope] + k


def table(segment_of, scale, bound, offset=1):
    """By the five bits of u at 2^20: the exponent's two last and the fraction's three first."""
    # The numbers are what the program will take: floats.
    scale, bound, offset = to_float(scale), to_float(bound), to_float(offset)
    result = [None] * 32
    for i in range(32):
        edge = lambda j: (mp.ldexp(1 + mp.mpf(j % 8) / 8, j // 8) - offset) / scale
        low, high = max(0, edge(i)), min(edge(i + 1), bound)
        result[(127 * 8 + i) % 32] = segment_of(low, high)
    return result


def text(x):
    digits, exponent = float(x).hex().split("p")
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
    return f"{digits}p{exponent}F"


def tail(x):
    return mp.erfc(x / mp.sqrt(2)) * mp.exp(x * x / 2) / 2


def write(kind, name, numbers, rows):
    print(f"constexpr {kind} k{name}Table = {{")
    print("    " + "".join(f"{float(number)}F, " for number in numbers) + "{")
    for j in range(len(rows[0])):
        print("        {" + ", ".join(text(row[j]) for row in rows) + "},")
    print("}};")


def main():
    print("// Written by tools/gen/segment_tables.py. In rows:", ", ".join(ROWS) + ".\n")
    slope0 = 2 / mp.sqrt(mp.pi)
    functions = [
        ("Tanh", mp.tanh, lambda x: mp.sech(x) ** 2, 1.65, 9.02),
        ("Atan", mp.atan, lambda x: 1 / (1 + x * x), 14.9, 1),
        ("Erf", mp.erf, lambda x: slope0 * mp.exp(-x * x), 3.8, 3.93),
    ]
    for name, f, derivative, scale, bound in functions:
        rows = table(lambda low, high: segment(f, derivative, low, high), scale, bound)
        write("SegmentTable", name, (scale, bound), rows)
    # -2 times the logarithm of the normal distribution's upper tail over e^(-x^2 / 2).
    numbers = (1.037, 14.4, 1.05)
    f = lambda x: -2 * mp.log(tail(x))
    derivative = lambda x: mp.sqrt(2 / mp.pi) / tail(x) - 2 * x
    rows = table(lambda low, high: plain_segment(f, derivative, low, high), *numbers)
    write("PlainTable", "LogTail", numbers, rows)


main()
