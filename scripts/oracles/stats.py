#!/usr/bin/env python3
"""Writes internal/stats/testdata/oracles.json: what scipy, statsmodels and
pymannkendall answer, or a count over every arrangement where none of them does.

    python3 -m venv /tmp/oracles
    /tmp/oracles/bin/pip install scipy==1.17.1 statsmodels==0.15.0 pymannkendall==1.4.3
    /tmp/oracles/bin/python scripts/oracles/stats.py

Every block carries the call that made it.
"""
import itertools
import json
import pathlib
from fractions import Fraction

import numpy
import pymannkendall
from scipy import integrate, optimize, special, stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

rng = numpy.random.default_rng(5)


def sample(n, shift=0.0, digits=6):
    return rng.normal(shift, 1, n).round(digits).tolist()


def block(command, cases):
    return {"command": command, "cases": list(cases)}


def paired(a, b, level):
    test = stats.ttest_rel(a, b)
    bounds = test.confidence_interval(level)
    d = numpy.subtract(a, b)
    return {"a": a, "b": b, "level": level, "mean": d.mean(), "sd": d.std(ddof=1), "t": test.statistic,
            "freedom": test.df, "p": test.pvalue, "lo": bounds.low, "hi": bounds.high,
            "dz": d.mean() / d.std(ddof=1)}


def noncentral(t, freedom, shift):
    """P(T <= t) by integrating over the chi distribution: scipy's nct loses digits in its tails."""
    def density(s):
        return special.ndtr(t * s - shift) * stats.chi.pdf(s * numpy.sqrt(freedom), freedom) * numpy.sqrt(freedom)
    bounds = stats.chi.ppf([1e-18, 0.5], freedom) / numpy.sqrt(freedom)
    top = stats.chi.isf(1e-18, freedom) / numpy.sqrt(freedom)
    points = numpy.linspace(bounds[0], top, 41)
    return float(sum(integrate.quad(density, x, y, epsabs=1e-16, epsrel=1e-12)[0] for x, y in zip(points, points[1:])))


def smallest_effect(n, alpha, power):
    """In standard deviations; statsmodels' own solve_power stops at six digits, and at n = 5 at two."""
    edge = stats.t.isf(alpha / 2, n - 1)

    def miss(shift):
        return 1 - noncentral(edge, n - 1, shift) + noncentral(-edge, n - 1, shift) - power
    return optimize.brentq(miss, 0.01, 30, xtol=1e-12) / numpy.sqrt(n)


def signed_rank(d):
    """Counts every assignment of signs to the midranks of the differences that are not 0."""
    d = [x for x in d if x != 0]
    ranks = [int(2 * r) for r in stats.rankdata(numpy.abs(d))]
    seen = sum(r for r, x in zip(ranks, d) if x > 0)
    sums = [sum(itertools.compress(ranks, signs)) for signs in itertools.product((0, 1), repeat=len(d))]
    return seen / 2, tails(sums, seen)


def mann_whitney(a, b):
    """Counts every way to part the midranks."""
    ranks = [int(2 * r) for r in stats.rankdata(a + b)]
    seen = sum(ranks[:len(a)])
    sums = [sum(part) for part in itertools.combinations(ranks, len(a))]
    return seen / 2 - len(a) * (len(a) + 1) / 2, tails(sums, seen)


def tails(sums, seen):
    below, above = sum(s <= seen for s in sums), sum(s >= seen for s in sums)
    return float(min(Fraction(2 * min(below, above), len(sums)), 1))


def smirnov(a, b):
    """Counts the ways to part the pooled values whose distance is at least the one seen."""
    pooled = numpy.array(a + b)
    m, n = len(a), len(b)
    values = numpy.unique(pooled)

    def distance(part):
        inside = numpy.zeros(m + n, bool)
        inside[list(part)] = True
        return max(abs(int((pooled[inside] <= v).sum()) * n - int((pooled[~inside] <= v).sum()) * m) for v in values)
    seen = distance(range(m))
    parts = [distance(part) >= seen for part in itertools.combinations(range(m + n), m)]
    return seen / (m * n), sum(parts) / len(parts)


def paired_shares(n, b, c, level):
    """Inverts the score test, its standard error at shares found by maximising the likelihood."""
    z = stats.norm.ppf((1 + level) / 2)

    def score(difference):
        low, high = max(0, -difference), (1 - difference) / 2

        def loss(c_share):
            return -(special.xlogy(b, c_share + difference) + special.xlogy(c, c_share)
                     + special.xlogy(n - b - c, 1 - 2 * c_share - difference))
        best = optimize.minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-13}).x
        return (b - c - n * difference) / numpy.sqrt(n * (2 * best + difference * (1 - difference)))
    seen = (b - c) / n
    return (optimize.brentq(lambda d: score(d) - z, -1 + 1e-9, seen - 1e-9),
            optimize.brentq(lambda d: score(d) + z, seen + 1e-9, 1 - 1e-9))


def bootstrap(values, level):
    """The percentile interval of the mean over all n^n resamples."""
    means = [numpy.mean(again) for again in itertools.product(values, repeat=len(values))]
    return numpy.quantile(means, [(1 - level) / 2, (1 + level) / 2]).tolist()


def kendall(series):
    test = pymannkendall.original_test(series)
    exact = len(set(series)) == len(series) and len(series) <= 40
    p = stats.kendalltau(range(len(series)), series, method="exact").pvalue if exact else test.p
    return {"series": series, "s": int(test.s), "tau": test.Tau, "z": test.z, "p": p, "exact": exact}


def order_statistics(values, p, level):
    bounds = stats.quantile_test(values, p=p).confidence_interval(level)
    low, high = (None if numpy.isnan(x) else float(x) for x in bounds)
    return {"sorted": sorted(values), "p": p, "level": level, "lo": low, "hi": high}


def theil(x, y, level):
    line = stats.theilslopes(y, x, level)
    return {"x": x, "y": y, "level": level, "slope": line.slope, "intercept": line.intercept,
            "lo": line.low_slope, "hi": line.high_slope}


rounds = [sample(n, 0.4, d) for n, d in ((2, 6), (5, 6), (8, 6), (10, 6), (12, 6), (25, 6), (50, 6))]
tied = [sample(n, 0.4, 0) for n in (5, 8, 10, 12, 16)]
long = [sample(60, 0.2), sample(80, 0.2, 1), sample(200, 0.1, 0)]
two = [(sample(m), sample(n, s)) for m, n, s in ((3, 4, 1), (5, 5, 2), (10, 10, 0), (8, 15, 1), (25, 25, 0.5), (1, 9, 3))]
two_tied = [(sample(m, 0, 0), sample(n, s, 0)) for m, n, s in ((4, 4, 1), (5, 7, 1), (8, 9, 0), (3, 12, 2))]
two_long = [(sample(m, 0, d), sample(n, s, d)) for m, n, s, d in ((30, 40, 0.3, 6), (60, 60, 0.2, 1), (200, 55, 0, 0))]
climb = [[round(0.1 * i + e, d) for i, e in enumerate(sample(n))] for n, d in ((10, 6), (30, 6), (40, 6), (30, 0), (80, 3))]

oracles = {
    "student": block("scipy.stats.t.cdf(t, freedom)",
                     ({"t": t, "freedom": f, "want": stats.t.cdf(t, f)}
                      for t in (-30, -4.5, -1, 0, 0.3, 2.262, 12) for f in (1, 2.5, 9, 40, 1e6))),
    "noncentral": block("quadrature of ndtr(t*s - shift) over the density of s = chi(freedom)/sqrt(freedom)",
                        ({"t": t, "freedom": f, "shift": s, "want": noncentral(t, f, s)}
                         for t, f, s in [*itertools.product((-2.262, 0.0, 0.5, 2.262, 4.0, 9.0), (3, 9, 39), (-1.5, 0.7, 3.0, 8.0)),
                                         (12.706, 1, 20.0), (60.0, 2, 50.0), (100.0, 4, 80.0), (400.0, 19, 390.0)])),
    "paired_t": block("scipy.stats.ttest_rel(a, b); .confidence_interval(level)",
                      [paired(r, sample(len(r)), level) for r in rounds for level in (0.9, 0.95)]),
    "power": block("statsmodels TTestPower().power(1, n, alpha); effect by scipy.optimize.brentq over the noncentral block's quadrature",
                   ({"n": n, "sd": 0.03, "alpha": alpha, "power": power,
                     "effect": 0.03 * smallest_effect(n, alpha, power),
                     "at_one_sd": float(TTestPower().power(1, n, alpha))}
                    for n in (5, 10, 20, 40) for alpha in (0.01, 0.05) for power in (0.5, 0.8, 0.95))),
    "signed_rank": block("scipy.stats.wilcoxon(d, method='exact'), its statistic from alternative='greater'",
                         ({"d": d, "statistic": stats.wilcoxon(d, alternative="greater", method="exact").statistic,
                           "p": stats.wilcoxon(d, method="exact").pvalue} for d in rounds)),
    "signed_rank_ties": block("count over all signs of scipy.stats.rankdata(abs(d)), zeros left out",
                              ({"d": d, "statistic": w, "p": p} for d in tied for w, p in [signed_rank(d)])),
    "signed_rank_long": block("scipy.stats.wilcoxon(d, method='asymptotic', correction=True)",
                              ({"d": d, "statistic": stats.wilcoxon(d, alternative="greater", method="asymptotic").statistic,
                                "p": stats.wilcoxon(d, method="asymptotic", correction=True).pvalue} for d in long)),
    "mann_whitney": block("scipy.stats.mannwhitneyu(a, b, method='exact')",
                          ({"a": a, "b": b, "statistic": u.statistic, "p": u.pvalue}
                           for a, b in two for u in [stats.mannwhitneyu(a, b, method="exact")])),
    "mann_whitney_ties": block("count over all ways to part scipy.stats.rankdata(a + b)",
                               ({"a": a, "b": b, "statistic": u, "p": p} for a, b in two_tied for u, p in [mann_whitney(a, b)])),
    "mann_whitney_long": block("scipy.stats.mannwhitneyu(a, b, method='asymptotic')",
                               ({"a": a, "b": b, "statistic": u.statistic, "p": u.pvalue}
                                for a, b in two_long for u in [stats.mannwhitneyu(a, b, method="asymptotic")])),
    "kolmogorov": block("scipy.stats.ks_2samp(a, b, method='exact')",
                        ({"a": a, "b": b, "statistic": d.statistic, "p": d.pvalue}
                         for a, b in two + two_long[:1] + [(sample(100), sample(75, 1.5))]
                         for d in [stats.ks_2samp(a, b, method="exact")])),
    "kolmogorov_ties": block("count over all ways to part the pooled values",
                             ({"a": a, "b": b, "statistic": d, "p": p} for a, b in two_tied for d, p in [smirnov(a, b)])),
    "kolmogorov_limit": block("scipy.special.kolmogorov(z)",
                              ({"z": z, "want": float(special.kolmogorov(z))}
                               for z in (0.05, 0.2, 0.5, 0.8, 0.999, 1, 1.2, 1.63, 2.5, 5))),
    "holm": block("statsmodels.stats.multitest.multipletests(p, method='holm')[1]",
                  ({"p": p, "want": multipletests(p, method="holm")[1].tolist()}
                   for p in ([0.04], [0.01, 0.04, 0.03, 0.005], [0.5, 0.5, 0.5], [0.02, 0.02, 0.9, 1e-9, 0.3], [0, 1]))),
    "bootstrap": block("numpy.quantile of the means of all n^n resamples",
                       ({"values": v, "level": level, "lo": lo, "hi": hi}
                        for v in (sample(5), sample(6, 3)) for level in (0.8, 0.95) for lo, hi in [bootstrap(v, level)])),
    "theil_sen": block("scipy.stats.theilslopes(y, x, level)",
                       [theil(list(range(len(y))), y, level) for y in climb for level in (0.9, 0.95)]
                       + [theil([1, 1, 2, 3, 5, 8, 8, 9], [3, 1, 4, 1, 5, 9, 2, 6], 0.95)]),
    "mann_kendall": block("pymannkendall.original_test(series); p of scipy.stats.kendalltau(method='exact') up to 40 without ties",
                          [kendall(s) for s in climb + [sample(12), sample(35), sample(20, 0, 0), [3, 1, 2], [5, 5, 5, 6]]]),
    "mcnemar": block("statsmodels mcnemar([[0, b], [c, 0]], exact=True).pvalue",
                     ({"b": b, "c": c, "want": float(mcnemar([[0, b], [c, 0]], exact=True).pvalue)}
                      for b, c in ((0, 6), (6, 0), (5, 5), (3, 12), (40, 22), (1, 0)))),
    "paired_shares": block("score test inverted with scipy.optimize.brentq over the likelihood maximised numerically",
                           ({"n": n, "b": b, "c": c, "level": level, "lo": lo, "hi": hi}
                            for n, b, c in ((44, 1, 1), (100, 12, 4), (50, 0, 5), (30, 7, 0), (500, 60, 55))
                            for level in (0.9, 0.95) for lo, hi in [paired_shares(n, b, c, level)])),
    "quantile_interval": block("scipy.stats.quantile_test(values, p=p).confidence_interval(level), null where it has no bound",
                               [order_statistics(v, p, level) for v in rounds[1:] + long
                                for p in (0.1, 0.5, 0.95) for level in (0.9, 0.95)]),
}
path = pathlib.Path(__file__).parents[2] / "internal/stats/testdata/oracles.json"
lines = [f' {json.dumps(name)}: {{"command": {json.dumps(b["command"])}, "cases": [\n  '
         + ",\n  ".join(json.dumps(c, default=float) for c in b["cases"]) + "\n ]}" for name, b in oracles.items()]
path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
