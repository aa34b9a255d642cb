"""An ensemble of classifiers that answers with private labels."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._sklearn import ClassifierMixin, check_is_fitted, check_table
from darrm.accounting.theorems import Privacy
from darrm.ensemble.budgeted import fixed_labels, noisy_labels
from darrm.ensemble.composition import Composition
from darrm.ensemble.dp_classifier import generator
from darrm.ensemble.kinds import check_classes, check_kind
from darrm.ensemble.releases import Codes, DesignedLabels, Release
from darrm.ensemble.sharding import check_overlap, parts_of
from darrm.ensemble.shares import VoteShares
from darrm.ensemble.training import predictions, train_all
from darrm.ensemble.voters import check_known, template
from darrm.randomness.words import NotPrivateWarning


class PrivateMajorityClassifier(ClassifierMixin, VoteShares, Composition):  # type: ignore[misc]
    """Majority of K classifiers on shards of the data, with a proof of what its labels cost.

    ``voters="fixed"``: each classifier is private itself; labels are their most frequent vote, as many as you like.
    ``voters="fresh"``: any classifiers; each vote passes through randomized response at every query, a design releases
    the majority (DaRRM) or, of several classes, a decision (`PrivateDecision`), and a budget ends it.
    ``teachers="non-private"``: any classifiers; noisy max (PATE) or a planned decision, with a budget.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        All voters are copies of it. `DPLogisticRegression` if not given, for fixed voters; else scikit-learn's
        ``LogisticRegression``.
    estimators : list of classifiers, or of pairs (name, classifier), optional
        The K voters, in place of ``estimator``: each is a copy, trained on its shard. A
        ``sklearn.frozen.FrozenEstimator(classifier)`` is a prefitted voter, taken as it is. Its classes must be among
        those of y.
    voters : {"fixed", "fresh"}
        There is no default, except that non-private teachers are not asked.
    K : int, at least 1, optional
        The number of ``estimators``; 11 copies of ``estimator`` if not given.
    overlap : int in [1, K]
        t, the shards that each record is in, and so the voters that a change reaches. Without ``shards`` they go by
        position: record i is in the shards i to i + t - 1, each modulo K (from 0). For prefitted
        voters it is assumed, not checked, that no record reaches more than t of them.
    shards : list of K arrays of int, optional
        Rows of each shard; every row in exactly t of them. They must not depend on what the records hold. Needed if
        some voters are prefitted and others not: the shard of a prefitted voter is the rows that it was trained on,
        maybe none.
    epsilon, Delta : float, optional
        Privacy of one voter. Fixed: a limit for what each fitted classifier says by its ``epsilon_`` and ``delta_``,
        which may differ; needed for classifiers that say nothing, and then believed. Fresh: epsilon of one answer,
        needed, with t epsilon at most 20; Delta is 0.
    m : float in (0, K], optional
        Fresh: one label is (m epsilon, 0)-DP. t if not given: then the class of most answers is released. Above t it
        has no effect, and a warning comes.
    queries : int, optional
        Plan the noise for so many labels within the budget, in place of ``m`` (fresh), ``gamma`` or ``sigma``
        (non-private).
    total_epsilon, total_delta : float
        Budget of all labels. Needed but for fixed voters. For those total_epsilon is a limit that `fit` keeps or
        refuses, and total_delta is the delta of `privacy_`. Without total_delta the t largest epsilons are
        added up, and so are the t largest Deltas.
    ledger : path, optional
        Fresh, and non-private with ``queries``: the file of a `darrm.accounting.Ledger` that keeps the budget across
        fits, copies and processes. It may hold other charges too, by the rule "renyi" or "basic"; "composed" is
        refused, because charges of an ensemble are not settled beforehand. `fit` looks it up from the working folder
        once: the fitted ensemble knows it by its absolute path. Without it each fit counts for itself.
    ledger_create : bool
        Whether `fit` makes a ledger if there is none at ``ledger``. A ledger anew is a budget anew: the records must
        not have paid for anything yet.
    copies : int, at least 1
        Without a ledger: how many objects share the budget, the fitted one included. Each has ``floor(n / copies)`` of
        the n labels that it pays for. An object counts if it comes from a pickle, a deepcopy or joblib, each time that
        a pickle is loaded, and so does each forked process. You must make sure that there are no more. With 1, copies
        release nothing, and a `darrm.errors.CopiedBudgetWarning` says so when one is made. Threads share one object.
    teachers : {"private", "non-private"}
    gamma, sigma : float, optional
        Non-private: noise of one label, Laplace of rate gamma or Gaussian of standard deviation sigma.
    base_accuracy : float in (1 / classes, 1]
        How often one classifier is right, for which the noise is planned of fresh voters of more than two classes, and
        of non-private teachers by ``queries``. Guarantees do not rest on it, if it comes from elsewhere than these
        votes or records: take it from public knowledge.
    adjacency : "replace-one"
        The only one: when a record is removed, those after it change their shards.
    n_jobs : int, optional
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
        Empty if all voters are prefitted.
    privacy_ : EnsemblePrivacy
        Fixed: the optimal composition of the t least private voters, whatever the number of queries. Else the budget
        and how many labels it pays for, of this object alone if there are ``copies``.
    design_ : Design
        The noise of a label: a `Design` for fresh voters of two classes, else a `Design`. Not with ``gamma`` or
        ``sigma``.
    n_features_in_ : int
    feature_names_in_ : ndarray
        Of a frame whose columns all have names.

    Notes
    -----
    Each fit on the same records is a mechanism of its own: ``cross_val_score`` and ``GridSearchCV`` cost as many
    budgets as they make fits that see a record, composed. Their scores are computed from the labels of held-out
    records, which nothing here makes private or counts. Choose parameters on public records.

    Fixed: docs/theory.md, Lemma 8; equal votes give the first of ``classes_``. Fresh: Algorithm 1 of Jiang, Zhang,
    Joshi (TMLR 2024), or the decision of least wrong labels (docs/decisions.md), and exact adaptive composition
    (Lemma 9); equal votes are decided by coins. Non-private: Papernot et al. (ICLR 2018), disjoint shards, charged by
    exact adaptive composition (docs/composition.md). ``queries`` takes noisy max, permute-and-flip or the optimum,
    whichever is planned to be right most often. A fit that is refused tells something about the data that no epsilon
    covers.

    Examples
    --------
    >>> import darrm
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-1, 1, (600, 2))
    >>> y = np.where(X[:, 0] > 0, "yes", "no")
    >>> parties = darrm.ensemble.PrivateMajorityClassifier(
    ...     voters="fresh", K=25, epsilon=2.0, queries=50, total_epsilon=8, total_delta=1e-6
    ... ).fit(X, y)
    >>> bool(np.mean(parties.predict(X[:40]) == y[:40]) > 0.6)
    True
    >>> parties.privacy_.queries
    50
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        estimators: Sequence[Any] | None = None,
        voters: str | None = None,
        K: int | None = None,
        overlap: int = 1,
        shards: Sequence[ArrayLike] | None = None,
        epsilon: float | None = None,
        Delta: float | None = None,
        m: float | None = None,
        queries: int | None = None,
        total_epsilon: float | None = None,
        total_delta: float | None = None,
        ledger: str | os.PathLike[str] | None = None,
        ledger_create: bool = False,
        copies: int = 1,
        teachers: str = "private",
        gamma: float | None = None,
        sigma: float | None = None,
        base_accuracy: float = 0.75,
        adjacency: str = "replace-one",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.estimators = estimators
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
        self.ledger_create = ledger_create
        self.copies = copies
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

    def fit(self, X: Any, y: ArrayLike, **fit_params: Any) -> PrivateMajorityClassifier:
        """Train K classifiers, each on its shard; prefitted ones are taken as they are.

        Parameters
        ----------
        X : array_like, frame or sparse matrix, shape (n, d)
            Records. A pandas or polars frame goes to the classifiers as it is, with columns of any type; a sparse
            matrix only if all of them take it. If all voters are prefitted, X and y say the columns and the classes,
            and nothing else: public rows will do.
        y : array_like of two classes or more, of any dtype, shape (n,)
            Two for `DPLogisticRegression`, which tells no more.
        **fit_params
            Fresh voters and non-private teachers: ``sample_weight``, array_like of floats >= 0, shape (n,), if ``fit``
            of every classifier to be trained takes it; or, with scikit-learn's metadata routing, what they request.
            Entries of a record go where the record goes. The weight of a record must not depend on other records.

        Returns
        -------
        self

        Raises
        ------
        InputError
            Among others if a classifier cannot be fitted, or fixed voters do not say what they cost.
        BudgetError
            If the budget does not pay for the fixed voters, or for one label of each copy.
        MissingExtraError
        """
        kind, asked = check_kind(self), self._asked()
        K = len(asked.models)
        overlap = check_overlap(self.overlap, K)
        records, labels = check_table(self, X, y)
        classes = check_classes(labels, self._two())
        check_known(asked, classes, records.shape[1])
        parts = parts_of(self.shards, asked.prefitted, len(labels), overlap)
        metadata = self._metadata(kind, asked, len(labels), fit_params)
        rng = generator(self.random_state)
        if rng is not None:
            warnings.warn(
                "With a random_state the noise can be predicted: nothing is private. For tests only.",
                NotPrivateWarning,
                stacklevel=2,
            )
        # The budget is settled before anything is trained, where that can be.
        release = None if kind == "fixed" else noisy_labels(self, kind, K, overlap, classes.size)
        voters = [template(model, kind, classes, self.epsilon, self.Delta) for model in asked.models]
        models = train_all(
            voters,
            records,
            labels,
            parts,
            n_jobs=self.n_jobs,
            rng=rng,
            shared_seed=kind != "fixed",
            metadata=metadata,
        )
        self._release: Release = fixed_labels(self, models, overlap) if release is None else release
        self.classes_, self.estimators_, self.shards_, self._rng = classes, models, parts, rng
        self.privacy_ = replace(self._release.privacy, seeded=rng is not None)
        if isinstance(release, DesignedLabels):
            self.design_ = release.design
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Private labels: for fresh voters and non-private teachers drawn anew, and charged for, at every call.

        Parameters
        ----------
        X : array_like, frame or sparse matrix, shape (n, d)
            As in `fit`. Public, or at least no secret of those whom the ensemble protects.

        Returns
        -------
        ndarray, shape (n,), of ``classes_``

        Raises
        ------
        InputError
        BudgetError
            If n labels would overspend, or this is a copy that must not spend the budget. Then none is released and
            nothing is charged.
        """
        check_is_fitted(self)
        return np.asarray(self.classes_[self._release.labels(self._votes(X), self.classes_.size, self._rng)])

    @property
    def spent_(self) -> Privacy:
        """(epsilon, delta) of the labels so far, if their number does not depend on them.

        With a ledger, of all its labels of this design, and of nothing else that it paid for. Of fixed voters, of all
        labels there can be. Without a ledger, of this object alone; ``copies`` together are within the budget. Of a
        copy that may release nothing: of what the original had released when it was copied.
        """
        check_is_fitted(self)
        return self._release.spent

    def _votes(self, X: Any) -> Codes:
        return predictions(self.estimators_, check_table(self, X, reset=False), self.classes_)
