"""A plan in words and rows, the same on the command line, on pages and in notebooks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from darrm.numerics.printed import counted, rate
from darrm.problem.groups import OF_ANY_OTHERS, rests_on
from darrm.problem.limits import ANY_NUMBER
from darrm.problem.model import VoterModel
from darrm.show.comparison_words import ALL_LABELS, ALL_VOTES, DISAGREEMENT, ERROR, comparison_html
from darrm.show.markup import Markup, details, element, grid, join, paragraph
from darrm.show.wording import at_least, exactly, guarantee, labels_are, listed, of_check, pair

if TYPE_CHECKING:
    from collections.abc import Mapping

    from darrm.design.design import Design
    from darrm.planning.answers import Plan
    from darrm.problem.groups import ByGroups

_NEAR_PRICE = 2.0
_MUCH, _LIKELY = 20.0, 1e-2  # epsilon of a vote that is hardly private, and delta that is no small probability
_MOST, _ALL = 0.75, 0.995  # of labels that are one answer
_VISIBLE = 5e-5  # of error rates in print
RATE_HEADS = ("rule", "error rate", DISAGREEMENT)
CURVE_HEADS = ("epsilon, one vote", ERROR, ALL_LABELS, ALL_VOTES)
CURVE_TITLE = "Label error rate by the epsilon of one vote"


def together(plan: Plan) -> str:
    """What all labels guarantee; first of all that they are of little use, if that is so."""
    subject = labels_are(plan.queries).capitalize()
    if plan.of:
        each = listed(
            f"({at_least(own.spent)}, {exactly(plan.total_delta)})-DP for a change in {name}, within "
            f"{pair(own.total_epsilon, plan.total_delta)}"
            for name, own in plan.of.items()
        )
        return f"{poor(plan)}{subject} {each} (certified)."
    return (
        f"{poor(plan)}{subject} ({at_least(plan.spent)}, {exactly(plan.total_delta)})-DP (certified), within the "
        f"privacy budget {pair(plan.total_epsilon, plan.total_delta)}."
    )


def otherwise(plan: Plan, *, stated: bool = False) -> list[str]:
    """What the labels and counts guarantee where the randomizer is known; nothing of other voters.

    ``stated``: whether the assumption on the randomizer stands above already.
    """
    if math.isnan(plan.fallback):
        return []
    problem, delta = plan.problem, exactly(plan.total_delta)
    each = {f" for a change in {name}": own.fallback for name, own in plan.of.items()} or {"": plan.fallback}
    return [
        f"This total holds {'under the assumption above.' if stated else known(problem)}",
        if_others_are_any(plan.queries, {of: (total, plan.total_delta) for of, total in each.items()}),
        f"The counts of the votes, without the votes, are ({at_least(plan.counts)}, {delta})-DP for all queries "
        "together under the first assumption, against somebody who sees every count, as in secure aggregation.",
        *_if_colluding(plan),
    ]


def if_others_are_any(queries: int, totals: Mapping[str, tuple[float, float]]) -> str:
    """The (epsilon, delta) of all labels if only affected voters are of a known randomizer, by the words on changes."""
    labels = "The label is" if queries == 1 else "All labels together are"
    each = listed(f"({at_least(epsilon)}, {exactly(delta)})-DP{of}" for of, (epsilon, delta) in totals.items())
    return f"{labels} {each} if {OF_ANY_OTHERS}. If you do not know which of the two holds, claim this total alone."


def known(problem: ByGroups) -> str:
    """The condition of a total that rests on known randomizers, which ends a sentence."""
    return f"if {rests_on(problem)}"


def _if_colluding(plan: Plan) -> list[str]:
    """The total of the labels by the number of voters that collude."""
    if not plan.if_colluding:
        return []
    each = listed(f"{at_least(total)} if {count or 'none'}" for count, total in plan.if_colluding.items())
    return [f"By the number of voters that collude or do not draw as stated, the labels have together epsilon {each}."]


def poor(plan: Plan) -> str:
    """What labels are that are nearly all "none", hardly depend on the votes, or nearly err as by chance; else nothing.

    Each with its rate.
    """
    found = plan.on_votes
    if plan.mostly_none:
        return _seldom(plan)
    if found is None or not found.hardly:
        if not plan.near_chance:
            return ""
        return f"These labels{_but_none(plan)} are hardly better than {plan.near_chance} ({_rate(plan)}). "
    kind = "They are close to random draws"
    if found.often > _MOST:
        share = "Nearly all" if found.often > _ALL else f"{100 * found.often:.1f} %"
        kind = f"{share} of them are {found.likeliest}"
    if math.isnan(plan.wrong):
        return f"These labels hardly depend on the votes. {kind}. "
    return (
        f"These labels hardly depend on the votes. {kind}, and the label error rate is {plan.wrong:.4f}. If every "
        f"label was {found.constant}, it would be {found.wrong:.4f}. "
    )


def _seldom(plan: Plan) -> str:
    """That labels are of little use, because nearly all are "none", and what the others are worth."""
    share = "nearly all" if plan.none > _ALL else f"{100 * plan.none:.1f} %"
    said = f'These labels are of little use: {share} of them are "none".'
    if plan.near_chance:
        said += f" The others are hardly better than {plan.near_chance} ({_rate(plan)})."
    found = plan.on_votes
    if found is not None and not math.isnan(plan.wrong):
        said += (
            f" The label error rate is {plan.wrong:.4f}. If every label was {found.constant}, it would be "
            f"{found.wrong:.4f}."
        )
    return f"{said} "


def _but_none(plan: Plan) -> str:
    """Which labels an error rate is of, where others are "none"."""
    return ' that are not "none"' if plan.problem.none else ""


def _rate(plan: Plan) -> str:
    """The error rate of the labels that are not "none", by its name."""
    draws = max(1, math.floor(plan.draws * (1 - plan.none))) if plan.draws and plan.none < 1 else plan.draws
    return f"{DISAGREEMENT if math.isnan(plan.wrong) else ERROR} {rate(plan.wrong_if_given, draws)}"


def _may_state(plan: Plan) -> bool:
    """Whether a known randomizer could lower the noise."""
    groups = plan.problem.groups
    return plan.voters == "fresh" and all(g.epsilon < math.inf and not g.delta and g.randomizer is None for g in groups)


def _noisy_max(plan: Plan) -> list[str]:
    """Why the plan is noisy max and for which votes its total holds; nothing of a design."""
    sigma: float | None = getattr(plan.chosen, "sigma", None)
    if sigma is None:
        return []
    voters, classes = counted(plan.problem.K, "voter"), f"{plan.problem.n_classes} classes"
    kind = "Gaussian noisy max" if getattr(plan.chosen, "sigma_check", None) is None else "Confident-GNMax"
    late = "" if plan.complete else ", or none was found in time"
    return [
        f"No table fits the votes of {voters} for {classes}{late}, so the plan is {kind}: the label is the class "
        f"with the largest count after noise of sigma {exactly(sigma)} at every count{of_check(plan.chosen)}.",
        f"The total holds for {ANY_NUMBER}. The mechanism is made for {voters} and {classes}, and refuses other rows.",
        *_better_noise(plan),
    ]


def _better_noise(plan: Plan) -> list[str]:
    """The mechanism of the comparison that is right more often than noisy max, which a plan does not choose."""
    within = [row for row in plan.comparison or () if row.within]
    best = min(within, key=lambda row: row.expected_cost, default=None)
    if best is None or plan.comparison is None or best.expected_cost > plan.comparison[0].expected_cost - _VISIBLE:
        return []
    costs = [rate(row.expected_cost, plan.draws) for row in (best, plan.comparison[0])]
    if costs[0] == costs[1]:
        return []
    cost = f"{'label error rate' if math.isnan(plan.cost) else 'expected cost'}, {costs[0]}"
    return [f"At this budget {best.called} has a lower {cost}. darrm.mechanisms releases labels by it, in Python."]


def remarks(plan: Plan) -> list[str]:
    """What should not be overlooked."""
    said = _noisy_max(plan)
    if not plan.complete:
        missing = "there is no comparison" if plan.comparison is None else "rows of a table may be missing"
        said.append(
            f"The search was stopped early: a better design may exist, or {missing}. The guarantee is certified "
            "nevertheless."
        )
    if math.isnan(plan.wrong) and (_noisy_max(plan) or not math.isnan(plan.disagreement)):  # else costs are what counts
        said.append(
            "The error rate is not known without the accuracy of the voters. Pass --accuracy (accuracy=), or for votes "
            "by randomized response --base-accuracy (base_accuracy=)."
        )
    if not math.isnan(plan.none):
        how = f'A label is "none" with probability {rate(plan.none, plan.draws)}, and counts as wrong then.'
        how = how if plan.none else 'No label is "none".'
        among = " among Gaussian noise" * bool(_noisy_max(plan) and _better_noise(plan))
        said.append(
            f"{how} The expected cost of a label is {rate(plan.cost, plan.draws)}, which the plan minimises{among}."
        )
    cost = math.nan if plan.problem.none else getattr(plan.chosen, "expected_cost", math.nan)
    if math.isfinite(plan.wrong + cost) and not math.isclose(cost, plan.wrong, rel_tol=1e-9):
        said.append(f"The plan minimises the expected cost of a label, {cost:.4f}, in place of the label error rate.")
    if _MUCH < plan.vote_epsilon < math.inf:
        said.append(
            f"Votes of epsilon {exactly(plan.vote_epsilon)} are hardly private: epsilon is in nats, and not in percent."
        )
    if plan.total_delta >= _LIKELY:
        said.append(
            f"A total delta of {exactly(plan.total_delta)} allows a release that reveals a record with that "
            "probability. Choose it far below one divided by the number of records."
        )
    if plan.near_chance or plan.mostly_none:
        better = ["ask fewer queries", "raise the privacy budget"]
        better += ["check whether fewer voters are affected (max_affected)"] * (plan.problem.max_affected > 1)
        better += ['raise the cost of "none"'] * plan.mostly_none
        better += ["see whether the voters' randomizer may be stated (randomizer, colluders)"] * _may_state(plan)
        said.append(f"To improve these labels, {', '.join(better[:-1])}, or {better[-1]}.")
    if plan.voters == "fixed" and plan.aggregator > plan.total_epsilon and plan.disagreement > 1e-9:
        said += _price(plan) + _private_voters_alone(plan)
    return said


def _price(plan: Plan) -> list[str]:
    """What a little more epsilon, delta or both would buy, where that is all that fixed voters cost too much by."""
    from darrm.accounting.voters import epsilon_of, reached

    who = reached(plan.problem)
    price = epsilon_of(who, plan.total_delta)
    enough = float(at_least(who.failure, 2))
    epsilon = epsilon_of(who, enough)
    pays, near = "", _NEAR_PRICE * plan.total_epsilon
    if plan.total_epsilon < price <= near:
        pays = f"total epsilon of {at_least(price)}"
    elif enough > plan.total_delta and plan.total_epsilon < epsilon <= near:
        pays = f"privacy budget of ({at_least(epsilon)}, {enough:g})"
    if pays:
        return [
            f"A {pays} covers the cost of the voters themselves, with all their answers: then their plain "
            f"{_most_votes(plan)} needs no output noise, for any number of labels."
        ]
    if enough <= plan.total_delta or epsilon > plan.total_epsilon:
        return []
    failure = f"{enough:g}"
    return [
        f"The deltas of the affected voters combine to {failure}, more than the total delta of "
        f"{exactly(plan.total_delta)}, so their labels need output noise. A total delta of {failure} covers the cost "
        f"of the voters themselves: with all their answers they are ({at_least(epsilon)}, {failure})-DP. Then their "
        f"plain {_most_votes(plan)} needs no output noise."
    ]


def _private_voters_alone(plan: Plan) -> list[str]:
    """What fixed voters cost without the non-private voters beside them."""
    from darrm.accounting.voters import epsilon_of, reached

    problem = plan.problem
    open_to_all = [f"group {g}" for g, group in enumerate(problem.groups, 1) if math.isinf(group.epsilon)]
    kept = [g for g, group in enumerate(problem.groups) if not math.isinf(group.epsilon)]
    private = [problem.groups[g] for g in kept]
    if not open_to_all or not private:
        return []
    reaches = min(problem.max_affected, sum(group.max_affected for group in private))
    alone = VoterModel(private, problem.classes, reaches, problem.adjacency)
    epsilon = epsilon_of(reached(alone), plan.total_delta)
    others, wrong = f"the {alone.K} other voters alone", _wrong_alone(plan.design, alone, kept)
    said = "" if math.isnan(wrong) else f", and its label error rate is {wrong:.4f}"
    better = f" That is better than this plan: plan again without {listed(open_to_all)}, and leave out those votes."
    bought = (
        f"For a record that affects none of them, any number of labels is ({at_least(epsilon)}, "
        f"{exactly(plan.total_delta)})-DP. With that guarantee the plain {_most_votes(plan)} of {others} needs no "
        "output "
        f"noise{said}." + better * (wrong < plan.wrong)
        if epsilon <= plan.total_epsilon
        else f"{others[0].upper()}{others[1:]} may need less noise: plan for them too."
    )
    return [
        f"Voters of {listed(open_to_all)} are non-private, so the output noise must hide the effect of their votes. "
        f"{bought}"
    ]


def _wrong_alone(design: Design, alone: VoterModel, kept: list[int]) -> float:
    """Error rate of the plain majority of some groups; NaN where the objective does not state how voters err."""
    from darrm import objectives
    from darrm.design.rules import cost_of, most_voted

    objective = getattr(design, "objective", None)
    if not isinstance(objective, objectives.OfVoters):
        return math.nan
    of_all = objective.of(design.problem)
    truth = objectives.truth([of_all.confusion[g] for g in kept], of_all.prior)
    return cost_of(most_voted(alone), alone, truth)


def _most_votes(plan: Plan) -> str:
    """What the answer with most votes is called."""
    return "plurality" if plan.problem.n_classes > 2 else "majority"


def wrong_rows(plan: Plan) -> list[tuple[str, str, str]]:
    """The error rate of labels, and their disagreement with the majority of their votes, with and without noise."""
    if math.isnan(plan.wrong):
        return [("planned noise", "not known", rate(plan.disagreement, plan.draws))]
    rows = [
        ("planned noise", rate(plan.wrong, plan.draws), rate(plan.disagreement, plan.draws)),
        (f"{_most_votes(plan)} of the votes, no output noise", rate(plan.wrong_without_noise, plan.draws), rate(0.0)),
    ]
    if not math.isnan(plan.wrong_without_privacy):
        rows.append(
            (f"{_most_votes(plan)} of the answers before randomization", f"{plan.wrong_without_privacy:.4f}", "")
        )
    return rows


def curve_rows(plan: Plan) -> list[tuple[str, ...]]:
    """A row for each epsilon of the votes."""
    return [
        (f"{step.epsilon:.4g}", f"{step.wrong:.4f}", at_least(step.public), at_least(step.aggregator))
        for step in plan.curve
    ]


def aggregator(plan: Plan) -> str:
    """How private all votes together are, which the aggregator receives."""
    problem = plan.problem
    affected = problem.affected
    if any(math.isinf(kind.epsilon) for kind in affected):
        return "The aggregator must be trusted with the votes: they are not private by themselves."
    if math.isinf(plan.aggregator):
        return (
            f"The aggregator must be trusted with the votes: at delta {exactly(plan.total_delta)} no finite epsilon is "
            "certified for all of them together."
        )
    largest = "at most " if len({group.epsilon for group in problem.groups}) > 1 else ""
    epsilon = f"epsilon {largest}{exactly(plan.vote_epsilon)}"
    together = (
        f"All votes together are ({at_least(plan.aggregator)}, {exactly(plan.total_delta)})-DP for any one record"
        + " at a voter that does not collude" * any(group.colluders for group in problem.groups)
    )
    shared = (
        "; darrm release-shared needs none, if all its parties follow the protocol and fewer than half of them pool"
    )
    shared = "" if _noisy_max(plan) else f"{shared} what they see"
    trusted = f"The aggregator, who receives them, must be trusted with them{shared}."
    if plan.aggregator <= plan.spent:
        trusted = "The guarantee of the labels holds against the aggregator too, who receives them."
    if plan.voters == "fixed":
        return f"{together}, from voters of {epsilon} each, over all answers of the voter together. {trusted}"
    return f"{together}, from votes of {epsilon} each. {trusted}"


def one_label(plan: Plan) -> str:
    """The single-label guarantee."""
    further = " It does not bound several labels together." if plan.voters == "fixed" else ""
    further = " It rests on the known randomizer, as the total does." if plan.problem.known else further
    if _noisy_max(plan):
        from darrm.accounting.composition import compose

        alone = compose(plan.chosen, 1, delta=plan.total_delta).upper
        return f"Single-label guarantee, at the delta of all: ({at_least(alone)}, {exactly(plan.total_delta)})-DP."
    return f"Single-label guarantee: {guarantee(plan.design.problem)}.{further}"


def plan_html(plan: Plan) -> Markup:
    """A plan in the order in which people ask."""
    parts = [
        paragraph(together(plan)),
        *map(paragraph, [*otherwise(plan), *remarks(plan)]),
        grid(RATE_HEADS, wrong_rows(plan)),
    ]
    if plan.comparison is not None:
        parts.append(comparison_html(plan.comparison, stated=True))
    if plan.curve:
        parts.append(grid(CURVE_HEADS, curve_rows(plan), caption=CURVE_TITLE))
    parts += [paragraph(aggregator(plan)), paragraph(one_label(plan))]
    parts.append(details("assumed", join([element("p", assumption) for assumption in plan.assumptions])))
    return join(parts)
