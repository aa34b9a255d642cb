"""From a question to a design: one total budget, many labels, these voters. What do I get, and what else is there?"""

from darrm._lazy import face

__getattr__, __dir__ = face(__name__, __file__)
