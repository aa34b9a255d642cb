"""Read a design, a table and votes."""

import darrm
from darrm import tables, votes

darrm.load("design.json")
tables.read("grid.jsonl")
votes.read("votes.csv")
