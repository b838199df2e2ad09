#!/usr/bin/env python3
"""Record the flags of other benchmarks, one line each with all its spellings.

  flags.py argparse FILE.py...   calls of add_argument
  flags.py aiperf cli_config.py  AIPerf's CLIParameter
  flags.py help TEXT             the output of --help

The sources come from the peers' packages on PyPI; nothing of them is run."""
import ast
import re
import sys


def strings(node):
    if isinstance(node, (ast.Tuple, ast.List)):
        return [e.value for e in node.elts if isinstance(e, ast.Constant)]
    return [node.value] if isinstance(node, ast.Constant) else []


def argparse_flags(tree):
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "add_argument":
            names = [a.value for a in call.args if isinstance(a, ast.Constant)]
            yield [n for n in names if n.startswith("-")]


def aiperf_flags(tree):
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "CLIParameter":
            for keyword in call.keywords:
                if keyword.arg == "name":
                    yield strings(keyword.value)


def help_flags(text):
    for line in text.splitlines():
        if re.match(r"\s+-", line):
            names = re.findall(r"(?<![\w.])--?[a-zA-Z][\w.-]*", line.split("  ")[1] if line.startswith("  ") else line)
            yield names


how, files = sys.argv[1], sys.argv[2:]
seen = set()
for path in files:
    text = open(path).read()
    found = {"argparse": lambda: argparse_flags(ast.parse(text)), "aiperf": lambda: aiperf_flags(ast.parse(text)), "help": lambda: help_flags(text)}[how]()
    for names in found:
        line = " ".join(n.lstrip("-") for n in names)
        if line and line not in seen and line not in ("help", "h help", "version"):
            seen.add(line)
            print(line)
