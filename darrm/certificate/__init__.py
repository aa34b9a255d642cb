"""The certificate of a release: its worst case over all neighbouring data sets, computed from the table alone.

"Excess" stands for the hockey-stick divergence Pr[S | D] - e^epsilon Pr[S | D'] of one case, in all modules here.
Read them in this order. Lemmas are those of docs/theory.md.

    protocol        the interface of every engine: worst cases, quick lower bounds, cases above a threshold
    engines         the choice of the engine for a problem; other subpackages call `separation` and `worst_cases`

    The engine for K voters of one kind, `separation.CornerSeparation`. By Lemmas 1 to 3 corners and one of the two
    answers are enough:

    smoothing       `levels`: the tables V_ab, V_ba and their difference for n = a + b voters at (hi,lo) and (lo,hi).
                    Rows that Lemma 5 (iii) dominates are left out. At large K Lemma 5a stands for seven in eight.
    moves           `Moves.all_move`: Lemma 5 (ii), all voters of Delta move where tables rise;
                    `Moves.bounds`: "Bounds" 1 to 4, coarse to fine;
                    `Moves.grid`: the two expectations of Lemma 4
    rounding        `Scale`: Lemma 6 (relative form) and Lemma 7 (difference form)
    separation      `CornerSeparation.worst_cases` covers Lemma 3's multisets. `_edge`: those without (lo,hi), for
                    Delta > 0 one for each n and z. `broken` proposes cuts
    corner_pass     `CornerPass.scan`: the levels n = a + b. `_with_moves`: one level with Delta > 0, its bounds, then a
                    search where they do not settle it. `_search`: Lemma 4. `_search_rising`: Lemma 5 (ii) where the
                    budget binds. `_one_side_each` proposes cuts

    Modules that use it:

    certificate     `verify`: the certificate at the guaranteed epsilon
    tight_epsilon   the least epsilon that holds
    scaling         `repair`: the table scaled down until it holds

The proof imports nothing of `constraints`, which lists the same multisets for the linear program.
"""

from darrm._lazy import modules

__getattr__ = modules(__name__)
