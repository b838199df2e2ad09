"""Reads a Parquet file with pandas (pyarrow) and with DuckDB, and compares every
cell with a file of JSON lines, in which a value that is not known has no key.

    judge.py TABLE.parquet TABLE.jsonl COLUMN:TYPE...
"""
import json
import sys

import duckdb
import pandas
import pyarrow.parquet

path, lines, *columns = sys.argv[1:]
want = [json.loads(line) for line in open(lines, encoding="utf-8")]
names = [c.split(":")[0] for c in columns]
types = [c.split(":")[1] for c in columns]

schema = pyarrow.parquet.read_schema(path)
assert schema.names == names, schema.names
assert [str(t) for t in schema.types] == types, schema.types

as_duckdb = {"int64": "BIGINT", "double": "DOUBLE", "string": "VARCHAR"}
table = duckdb.sql(f"SELECT * FROM read_parquet('{path}')")
assert table.columns == names, table.columns
assert [str(t) for t in table.types] == [as_duckdb[t] for t in types], table.types


def compare(who, rows):
    assert len(rows) == len(want), f"{who}: {len(rows)} rows, want {len(want)}"
    for i, (row, expected) in enumerate(zip(rows, want)):
        for name, got in zip(names, row):
            assert got == expected.get(name), f"{who}: row {i}, {name}: {got!r}, want {expected.get(name)!r}"


compare("DuckDB", table.fetchall())
frame = pandas.read_parquet(path, dtype_backend="pyarrow")
cells = [[None if v is pandas.NA else v for v in frame[name].tolist()] for name in names]
compare("pandas", list(zip(*cells)))
groups = pyarrow.parquet.ParquetFile(path).metadata.num_row_groups
print(len(want), "rows in", groups, "groups")
