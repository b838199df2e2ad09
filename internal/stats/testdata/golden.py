#!/usr/bin/env python3
"""Writes golden.json, the values that the tests of package stats hold it to.

Made with Debian 12's python3-numpy 1.24.2 and python3-scipy 1.10.1:
    apt-get install -y python3-numpy python3-scipy
    /usr/bin/python3 internal/stats/testdata/golden.py
"""
import json
import pathlib
from decimal import Decimal, getcontext
from math import comb

import numpy
from scipy import special, stats

getcontext().prec = 50
MASK64, MASK128 = 2**64 - 1, 2**128 - 1


def splitmix(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK64
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK64
    return x ^ (x >> 31)


def fnv1a(name):
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = ((h ^ byte) * 0x100000001B3) & MASK64
    return h


def stream(seed, name, index, n):
    """The first n words of PCG-DXSM, seeded as Rand documents it."""
    s = splitmix((splitmix((splitmix(seed) + fnv1a(name)) & MASK64) + index) & MASK64)
    state = splitmix(s) << 64 | splitmix((s + 1) & MASK64)
    words = []
    for _ in range(n):
        state = (state * (2549297995355413924 << 64 | 4865540595714422341)
                 + (6364136223846793005 << 64 | 1442695040888963407)) & MASK128
        hi, lo = state >> 64, state & MASK64
        hi ^= hi >> 32
        hi = hi * 0xDA942042E4DD58B5 & MASK64
        hi ^= hi >> 48
        words.append(str(hi * (lo | 1) & MASK64))
    return words


def tails(t, n, p):
    """Exact binomial tails of whole t and n; q is the float64 nearest 1 - p."""
    q = Decimal(1.0 - p)
    ok = 1 - q
    term, below = ok**n, Decimal(0)
    for k in range(t):
        below += term
        term = term * (n - k) / (k + 1) * q / ok
    return float(below + term), float(1 - below)


def beta(a, b, x):
    """I_x(a, b) for whole a and b, exactly: scipy 1.10 is good to ten digits here."""
    x = Decimal(x)
    n = a + b - 1
    total = term = comb(n, a) * x**a * (1 - x) ** (n - a)
    for k in range(a, n):
        term = term * (n - k) / (k + 1) * x / (1 - x)
        total += term
    return float(total)


def mser5(series):
    means = numpy.asarray(series)[: len(series) // 5 * 5].reshape(-1, 5).mean(axis=1)
    errors = [((means[d:] - means[d:].mean()) ** 2).sum() / (len(means) - d) ** 2
              for d in range(len(means) - max(5, len(means) // 3) + 1)]
    return 5 * int(numpy.argmin(errors))


rng = numpy.random.default_rng(1)
samples = [rng.lognormal(6, 1, n).round(6).tolist() for n in (1, 2, 5, 17, 100)]
settling = (100 * (1 - numpy.exp(-numpy.arange(120) / 10)) + rng.normal(0, 3, 120)).round(6).tolist()
growing = (numpy.arange(120) * 2.0 + rng.normal(0, 3, 120)).round(6).tolist()
flat = rng.normal(50, 3, 123).round(6).tolist()

golden = {
    "streams": [{"seed": str(s), "name": n, "index": str(i), "words": stream(s, n, i, 4)}
                for s, n, i in ((0, "", 0), (7, "arrival", 0), (7, "workload", 0),
                                (7, "workload", 1), (2**64 - 1, "sim", 2**63))],
    "quantiles": [{"sorted": sorted(x), "p": p, "want": float(numpy.quantile(x, p))}
                  for x in samples for p in (0, 0.25, 0.5, 0.95, 0.99, 0.999, 1)],
    "moments": [{"values": x, "mean": float(numpy.mean(x)), "variance": float(numpy.var(x, ddof=1))}
                for x in samples[1:]],
    "beta": [{"a": a, "b": b, "x": x, "want": float(special.betainc(a, b, x))}
             for a, b, x in ((0.5, 0.5, 0.3), (1, 1, 0.25), (2.5, 7.25, 0.1), (7.25, 2.5, 0.9),
                             (0.01, 3, 0.001), (300.5, 4.5, 0.99), (4.5, 300.5, 0.002),
                             (1e-3, 1e-3, 0.5))]
            + [{"a": a, "b": b, "x": x, "want": beta(a, b, x)}
               for a, b, x in ((50000, 50000, 0.501), (400, 30000, 0.011))],
    "binomial": [dict(zip(("t", "n", "p", "at_most", "at_least"), (t, n, p) + tails(t, n, p)))
                 for t, n, p in ((0, 459, 0.99), (1, 662, 0.99), (2, 838, 0.99), (5, 1307, 0.99),
                                 (10, 2010, 0.99), (10, 197, 0.9), (3, 10, 0.5), (10, 10, 0.9),
                                 (60, 2010, 0.99), (0, 1, 0.999), (1100, 100000, 0.99),
                                 (900, 1000000, 0.999))],
    "fractional": [{"t": t, "n": n, "q": q, "at_most": float(special.betainc(n - t, t + 1, 1 - q)),
                    "at_least": float(special.betainc(t, n - t + 1, q))}
                   for t, n, q in ((0.5, 300.25, 0.01), (2.75, 41.5, 0.05), (12.1, 700.7, 0.01))],
    "student": [{"p": p, "freedom": f, "want": float(stats.t.ppf(p, f))}
                for p in (0.01, 0.3, 0.5, 0.9, 0.975, 0.995) for f in (1, 4, 9, 19, 200)],
    "normal": [{"p": p, "want": float(stats.norm.ppf(p))} for p in (1e-6, 0.01, 0.5, 0.84, 0.975)],
    "mser5": [{"series": s, "want": mser5(s)} for s in (settling, growing, flat)],
    "slope": [{"series": s, "want": float(stats.linregress(range(len(s)), s).slope)}
              for s in (settling, growing, flat)],
}
path = pathlib.Path(__file__).with_name("golden.json")
path.write_text(json.dumps(golden, indent=1) + "\n")
