"""Votes as arrays and files: CSV or Parquet, one row a query, one 0/1 column a voter."""

from typing import TYPE_CHECKING

from darrm._lazy import face

if TYPE_CHECKING:
    from darrm.votes.files import LabelsFile as LabelsFile
    from darrm.votes.files import VotesTable as VotesTable
    from darrm.votes.files import blocks as blocks
    from darrm.votes.files import example as example
    from darrm.votes.files import examples as examples
    from darrm.votes.files import read as read
    from darrm.votes.files import write_labels as write_labels
    from darrm.votes.files import writing_labels as writing_labels
    from darrm.votes.rows import VotesBlock as VotesBlock

__getattr__, __dir__, __all__ = face(
    __name__,
    {
        "darrm.votes.files": "LabelsFile VotesTable blocks example examples read write_labels writing_labels",
        "darrm.votes.rows": "VotesBlock",
    },
)
