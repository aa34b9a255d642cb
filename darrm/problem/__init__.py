"""The problem that darrm solves: what is assumed of the voters and what is guaranteed for their majority."""
