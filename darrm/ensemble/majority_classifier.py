"""An ensemble of classifiers that answers with private labels."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._sklearn import BaseEstimator, ClassifierMixin, check_is_fitted, check_records
from darrm._validation import MAX_EPSILON, check_count, check_positive, check_total_delta, check_total_epsilon, real
from darrm.accounting.theorems import Privacy
from darrm.design.design import AnyDesign
from darrm.ensemble.designs import checked_base, checked_loss, fresh_majority, fresh_plurality, teachers_decision
from darrm.ensemble.dp_classifier import DPClassifier, generator, is_private_model
from darrm.ensemble.dp_logistic_regression import DPLogisticRegression
from darrm.ensemble.kinds import check_classes, check_kind
from darrm.ensemble.noisy_max import NoisyMax
from darrm.ensemble.releases import DesignedLabels, PlainMajority, Release, budget_of, fixed_privacy
from darrm.ensemble.sharding import check_overlap, check_shards, shards
from darrm.ensemble.training import predictions, train_all
from darrm.errors import BudgetError, InputError
from darrm.randomness.words import NotPrivateWarning


class PrivateMajorityClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Majority of K classifiers on shards of the data, with a proof of what its labels cost.

    ``voters="fixed"``: each classifier is private itself; labels are their most frequent vote, as many as you like.
    ``voters="fresh"``: any classifiers; each vote passes through randomized response at every query, a design releases
    the majority (DaRRM) or, of several classes, a decision (`PrivateDecision`), and a budget ends it.
    ``teachers="non-private"``: any classifiers; noisy max (PATE) or a planned decision, with a budget.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        `DPLogisticRegression` if not given, for fixed voters; else scikit-learn's ``LogisticRegression``.
    voters : {"fixed", "fresh"}
        There is no default, except that non-private teachers are not asked.
    K : int, at least 1
    overlap : int in [1, K]
        t, the shards that each record is in, and so the voters that a change reaches. Without ``shards`` they go by
        position: record i is in shards i, i + 1, ..., i + t - 1 modulo K.
    shards : list of K arrays of int, optional
        Rows of each shard; every row in exactly t of them. They must not depend on what the records hold.
    epsilon, Delta : float, optional
        Privacy of one voter. Fixed: of one fitted classifier; needed if it has no ``epsilon_`` and ``delta_``, and then
        believed. Fresh: epsilon of one answer, needed, with t epsilon at most 20; Delta is 0.
    m : float in (0, K], optional
        Fresh: one label is (m epsilon, 0)-DP. t if not given, with which the class of most answers is released; above
        t it has no effect, which a warning says.
    queries : int, optional
        Plan the noise for so many labels within the budget, in place of ``m`` (fresh), ``gamma`` or ``sigma``
        (non-private).
    total_epsilon, total_delta : float
        Budget of all labels. Needed but for fixed voters, where total_epsilon is a limit that `fit` keeps or refuses,
        and total_delta is that of `privacy_` (t Delta if not given, with t epsilon).
    ledger : path, optional
        Fresh, and non-private with ``queries``: a `darrm.accounting.Ledger` that keeps the budget across fits, copies
        and processes; made if missing. Without it each fit, and each copy of the fitted ensemble, counts for itself.
    teachers : {"private", "non-private"}
    gamma, sigma : float, optional
        Non-private: noise of one label, Laplace of rate gamma or Gaussian of standard deviation sigma.
    base_accuracy : float in (1 / classes, 1]
        How often one classifier is right, for which the noise is planned of fresh voters of more than two classes, and
        of non-private teachers by ``queries``. Guarantees do not rest on it. Take it from public knowledge.
    adjacency : "replace-one"
        The only one: when a record is removed, those after it change their shards.
    n_jobs : int
        Of joblib, for training; threads unless ``joblib.parallel_config`` says otherwise.
    random_state : optional
        For tests only: labels can then be predicted, which a `NotPrivateWarning` says. Without it all randomness comes
        from the operating system.

    Attributes
    ----------
    classes_ : ndarray
        Taken to be public.
    estimators_ : list of K fitted classifiers
        Only fixed ones are private. Those of fresh voters belong to their parties, and the fitted object with them.
    shards_ : list of K ndarrays of int
    privacy_ : EnsemblePrivacy
        Fixed: the optimal composition of t voters, whatever the number of queries. Else the budget and how many labels
        it pays for.
    design_ : Design or DecisionDesign
        The noise of a label: a `Design` for fresh voters of two classes, else a `DecisionDesign`. Not with ``gamma`` or
        ``sigma``.
    n_features_in_ : int

    Notes
    -----
    Fixed: docs/theory.md, Lemma 8; equal votes give the first of ``classes_``. Fresh: Algorithm 1 of Jiang, Zhang,
    Joshi (TMLR 2024), or the decision of least wrong labels (docs/decisions.md), and exact adaptive composition
    (Lemma 9); equal votes are decided by coins. Non-private: Papernot et al. (ICLR 2018), disjoint shards, charged by
    exact adaptive composition (docs/many_answers.md); ``queries`` takes noisy max, permute-and-flip or the optimum,
    whichever is planned to be right most often. A fit that is refused tells something about the data that no epsilon
    covers.
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        voters: str | None = None,
        K: int = 11,
        overlap: int = 1,
        shards: Sequence[ArrayLike] | None = None,
        epsilon: float | None = None,
        Delta: float | None = None,
        m: float | None = None,
        queries: int | None = None,
        total_epsilon: float | None = None,
        total_delta: float | None = None,
        ledger: str | os.PathLike[str] | None = None,
        teachers: str = "private",
        gamma: float | None = None,
        sigma: float | None = None,
        base_accuracy: float = 0.75,
        adjacency: str = "replace-one",
        n_jobs: int = 1,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.voters = voters
        self.K = K
        self.overlap = overlap
        self.shards = shards
        self.epsilon = epsilon
        self.Delta = Delta
        self.m = m
        self.queries = queries
        self.total_epsilon = total_epsilon
        self.total_delta = total_delta
        self.ledger = ledger
        self.teachers = teachers
        self.gamma = gamma
        self.sigma = sigma
        self.base_accuracy = base_accuracy
        self.adjacency = adjacency
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = not self._two()
        tags.non_deterministic = self.voters == "fresh" or self.teachers == "non-private"
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike) -> PrivateMajorityClassifier:
        """Train K classifiers, each on its shard.

        Parameters
        ----------
        X : array_like, shape (n, d)
        y : array_like of two classes or more, of any dtype, shape (n,)
            Two for `DPLogisticRegression`, which tells no more.

        Returns
        -------
        self

        Raises
        ------
        InputError
            Among others if a classifier cannot be fitted, or fixed voters do not say what they cost.
        BudgetError
            If the budget does not pay for the fixed voters, or for one label.
        MissingExtraError
        """
        kind, K = check_kind(self), check_count("K", self.K)
        overlap = check_overlap(self.overlap, K)
        records, labels = check_records(self, X, y)
        classes = check_classes(labels, self._two())
        if self.shards is None:
            parts = shards(len(records), K, overlap)
        else:
            parts = check_shards(self.shards, len(records), K, overlap)
        rng = generator(self.random_state)
        if rng is not None:
            warnings.warn(
                "With a random_state the noise can be predicted: nothing is private. For tests only.",
                NotPrivateWarning,
                stacklevel=2,
            )
        # The budget is settled before anything is trained, where that can be.
        release = None if kind == "fixed" else self._noisy(kind, K, overlap, classes.size)
        model = self._model(kind, classes)
        models = train_all(model, records, labels, parts, n_jobs=self.n_jobs, rng=rng, shared_seed=kind != "fixed")
        self._release: Release = self._fixed(models, overlap) if release is None else release
        self.classes_, self.estimators_, self.shards_, self._rng = classes, models, parts, rng
        self.privacy_ = self._release.privacy
        if isinstance(release, DesignedLabels):
            self.design_ = release.design
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Private labels: for fresh voters and non-private teachers drawn anew, and charged for, at every call.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Public, or at least no secret of those whom the ensemble protects.

        Returns
        -------
        ndarray, shape (n,), of ``classes_``

        Raises
        ------
        InputError
        BudgetError
            If n labels would overspend. Then none is released and nothing is charged.
        """
        check_is_fitted(self)
        votes = predictions(self.estimators_, check_records(self, X, reset=False), self.classes_)
        return np.asarray(self.classes_[self._release.labels(votes, self.classes_.size, self._rng)])

    @property
    def spent_(self) -> Privacy:
        """(epsilon, delta) of so many labels, if their number does not depend on them.

        Of fixed voters, of all there can be.
        """
        check_is_fitted(self)
        return self._release.spent

    def _two(self) -> bool:
        """Whether the voters are `DPLogisticRegression`, of two classes."""
        default = self.estimator is None and self.teachers == "private" and self.voters != "fresh"
        return default or isinstance(self.estimator, DPLogisticRegression)

    def _noisy(self, kind: str, K: int, overlap: int, classes: int) -> DesignedLabels | NoisyMax:
        totals = check_total_epsilon(self.total_epsilon), check_total_delta(self.total_delta, "total_delta")
        base = checked_base(self.base_accuracy, classes)
        queries = None if self.queries is None else check_count("queries", self.queries)
        epsilon: float | None = None
        design: AnyDesign
        if kind == "fresh":
            epsilon = checked_loss(self.epsilon, overlap)
            asked = (K, epsilon, overlap, self.adjacency, self.m, queries, *totals)
            design = fresh_majority(*asked) if classes == 2 else fresh_plurality(*asked, classes, base)
        elif queries is None:
            return NoisyMax(self.gamma, self.sigma, *totals, self.adjacency, K, classes)
        else:
            design = teachers_decision(K, self.adjacency, queries, *totals, classes, base)
        return DesignedLabels(design, budget_of(design, *totals, self.ledger), *totals, epsilon)

    def _model(self, kind: str, classes: NDArray[Any]) -> Any:
        """The classifier of one voter, not yet fitted."""
        from sklearn.base import clone
        from sklearn.linear_model import LogisticRegression

        if self.estimator is None:
            model = DPLogisticRegression() if kind == "fixed" else LogisticRegression()
        else:
            try:
                model = clone(self.estimator)
            except TypeError as error:
                raise InputError(f"estimator must be a scikit-learn classifier. Got {self.estimator!r}.") from error
        if not (hasattr(model, "fit") and hasattr(model, "predict")):
            raise InputError(f"estimator must be a classifier, with fit and predict. Got {self.estimator!r}.")
        if isinstance(model, DPClassifier):
            known: dict[str, Any] = {"classes": tuple(classes.tolist())}
            if kind == "fixed":
                epsilon = None if self.epsilon is None else check_positive("epsilon", self.epsilon)
                Delta = None if self.Delta is None else real("Delta", self.Delta, 0, 1, "[)")
                known |= {"epsilon": epsilon, "delta": Delta}
            model.set_params(**{name: value for name, value in known.items() if getattr(model, name) is None})
        return model

    def _fixed(self, models: list[Any], overlap: int) -> PlainMajority:
        """The plain majority of fitted voters, and what they cost."""
        if any(getattr(model, "adjacency_", self.adjacency) != self.adjacency for model in models):
            raise InputError(
                f"estimator must be private under adjacency {self.adjacency!r}. Got {models[0].adjacency_!r}."
            )
        missing = [name for name in ("epsilon", "Delta") if getattr(self, name) is None]
        if all(is_private_model(model) for model in models):
            epsilon = max(float(model.epsilon_) for model in models)
            Delta = max(float(model.delta_) for model in models)
            for name, cost, most in (("epsilon", epsilon, self.epsilon), ("Delta", Delta, self.Delta)):
                if most is not None and not cost <= most:
                    raise InputError(f"A voter costs ({epsilon:g}, {Delta:g}), above the declared {name} {most:g}.")
        elif not missing:
            epsilon = real("epsilon", self.epsilon, 0, MAX_EPSILON, hint="Pass that of one voter.")
            Delta = real("Delta", self.Delta, 0, 1, "[)", hint="Pass that of one voter.")
        else:
            raise InputError(
                f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing. Fixed voters must be private "
                f"themselves, and {type(models[0]).__name__} has no epsilon_ and delta_ after fit to say how private. "
                "Declare epsilon and Delta (0.0 if it never fails) if you know them, take DPLogisticRegression, or use "
                "fresh voters."
            )
        total_delta = None if self.total_delta is None else check_total_delta(self.total_delta, "total_delta")
        privacy = fixed_privacy(epsilon, Delta, overlap, self.adjacency, total_delta)
        if self.total_epsilon is not None and not privacy.epsilon <= check_total_epsilon(self.total_epsilon):
            raise BudgetError(
                f"Fixed voters cost ({privacy.epsilon:g}, {privacy.delta:g}) in all, above total_epsilon = "
                f"{self.total_epsilon:g}. Raise it, make the voters more private, or lower overlap."
            )
        return PlainMajority(privacy)
