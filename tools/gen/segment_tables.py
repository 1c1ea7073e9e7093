#!/usr/bin/env python3
"""Writes ops/segment_tables.inc, the tables of ops/vector_segments.cc. Needs mpmath.

    tools/gen/segment_tables.py | clang-format > ops/segment_tables.inc

A function f of x >= 0 is cut into 32 segments: an eighth each of the octaves [1, 2) to [8, 16) of
u = scale * x + 1. In a segment around c, with t = x - c,

    f(x) = value + slope * t + (k[0] t + k[1] t^2 + ... + k[4] t^5)

where slope is f'(c) rounded to float, and k[0] what it lacks; the others are fitted. c is 0 in the
first segment; elsewhere it is, of the floats near the segment's middle, the one where f(c) is
nearest to a float, that is then `value`.
"""

import struct

import mpmath as mp

mp.mp.prec = 120
ROWS = ("center", "value", "slope", "k0", "k1", "k2", "k3", "k4")


def to_float(x):
    return mp.mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def ulp(x):
    return mp.ldexp(1, mp.frexp(abs(x))[1] - 24)


def fitted(f, c, value, slope, low, high):
    """k, so that the relative error is small: least squares over the Chebyshev nodes."""
    nodes = 24
    terms = 5
    a = mp.matrix(nodes, terms)
    right = mp.matrix(nodes, 1)
    for i in range(nodes):
        x = (low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * nodes))
        t, weight = x - c, 1 / f(x)
        for j in range(terms):
            a[i, j] = weight * t ** (j + 1)
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
    return [c, value, slope] + fitted(f, c, value, slope, max(low, mp.mpf("1e-3")), high)


def table(f, derivative, scale, bound):
    """By the five bits of u at 2^20: the exponent's two last and the fraction's three first."""
    result = [None] * 32
    for i in range(32):
        edge = lambda j: (mp.ldexp(1 + mp.mpf(j % 8) / 8, j // 8) - 1) / scale
        low, high = edge(i), min(edge(i + 1), bound)
        result[(127 * 8 + i) % 32] = segment(f, derivative, low, high)
    return result


def text(x):
    digits, exponent = float(x).hex().split("p")
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
    return f"{digits}p{exponent}F"


def tail(x):
    return mp.erfc(x / mp.sqrt(2)) * mp.exp(x * x / 2) / 2


def main():
    print("// Written by tools/gen/segment_tables.py. In rows:", ", ".join(ROWS) + ".\n")
    slope0 = 2 / mp.sqrt(mp.pi)
    functions = [
        ("Tanh", mp.tanh, lambda x: mp.sech(x) ** 2, 1.65, 9.02),
        ("Atan", mp.atan, lambda x: 1 / (1 + x * x), 14.9, 1),
        ("Erf", mp.erf, lambda x: slope0 * mp.exp(-x * x), 3.8, 3.93),
        # The normal distribution's upper tail over e^(-x^2 / 2).
        ("Tail", tail, lambda x: x * tail(x) - 1 / mp.sqrt(2 * mp.pi), 1.03, 14.4),
    ]
    for name, f, derivative, scale, bound in functions:
        # The scale is what the program will take: a float.
        rows = table(f, derivative, to_float(scale), to_float(bound))
        print(f"constexpr SegmentTable k{name}Table = {{")
        print(f"    {float(scale)}F, {float(bound)}F, {{")
        for j in range(len(ROWS)):
            print("        {" + ", ".join(text(row[j]) for row in rows) + "},")
        print("}};")


main()
