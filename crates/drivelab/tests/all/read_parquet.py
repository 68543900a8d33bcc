"""Reads run.parquet by pyarrow and DuckDB: the rows of run.csv, in columns of the right types."""

import csv

import duckdb
import pyarrow.parquet

table = pyarrow.parquet.read_table("run.parquet")
types = {field.name: str(field.type) for field in table.schema}
for name in ("run", "cell", "op", "metric", "unit", "flags"):
    assert types[name] == "string", types
for name in ("block_bytes", "threads", "queue_depth", "n"):
    assert types[name] == "int64", types
assert types["pass"] == "int32", types
for name in ("value", "ci95_low", "ci95_high"):
    assert types[name] == "double", types

with open("run.csv", newline="") as file:
    rows = list(csv.DictReader(file))
seen = table.to_pylist()
assert list(rows[0]) == table.column_names
assert len(rows) == len(seen) > 100
for row, other in zip(rows, seen):
    for name, text in row.items():
        value = other[name]
        if text == "":
            assert value is None, (name, value)
        else:
            assert type(value)(text) == value, (name, text, value)

rates = duckdb.sql(
    "select cell, value from 'run.parquet' where metric = 'iops' and pass is null"
).fetchall()
wanted = [
    (row["cell"], float(row["value"]))
    for row in rows
    if row["metric"] == "iops" and row["pass"] == ""
]
assert sorted(rates) == sorted(wanted) and rates
described = duckdb.sql("describe select * from 'run.parquet'").fetchall()
kinds = {row[0]: row[1] for row in described}
assert (kinds["value"], kinds["block_bytes"], kinds["cell"]) == ("DOUBLE", "BIGINT", "VARCHAR")
