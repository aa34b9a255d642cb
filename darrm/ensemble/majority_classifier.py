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
from darrm.ensemble.row_digests import SIZE, row_digests
from darrm.ensemble.sharding import check_overlap, parts_of
from darrm.ensemble.shares import VoteShares
from darrm.ensemble.training import predictions, train_all
from darrm.ensemble.voters import check_known, template
from darrm.numerics.printed import counted
from darrm.randomness.words import NotPrivateWarning


class PrivateMajorityClassifier(ClassifierMixin, VoteShares, Composition):  # type: ignore[misc]
    """Majority of K classifiers on shards of the data, with a certified privacy cost of its labels.

    ``voters="fixed"``: each classifier is private itself; labels are their most frequent vote, any number of them.
    ``voters="fresh"``: any classifiers; each vote passes through randomized response at every query, and a design
    releases the majority (DaRRM) or, for several classes, a decision (`PrivateDecision`), within a budget.
    ``teachers="non-private"``: any classifiers; noisy max (PATE) or a planned decision, within a budget.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        All voters are copies of it. `DPLogisticRegression` if not given, for fixed voters; else scikit-learn's
        ``LogisticRegression``.
    estimators : list of classifiers, or of pairs (name, classifier), optional
        The K voters, in place of ``estimator``: each is a copy, trained on its shard. A
        ``sklearn.frozen.FrozenEstimator(classifier)`` is a prefitted voter, which is not trained. Its classes must be
        among those of y.
    voters : {"fixed", "fresh"}
        There is no default; leave it out for non-private teachers.
    K : int, at least 1, optional
        The number of ``estimators``; 11 copies of ``estimator`` if not given.
    overlap : int in [1, K]
        t, the number of shards that each record is in, and so of affected voters. Without ``shards`` they go by
        position: record i is in the shards i to i + t - 1, each modulo K (from 0). For prefitted
        voters it is assumed, not checked, that one record affects at most t of them.
    shards : list of K arrays of int, optional
        Rows of each shard; every row in exactly t of them. They must not depend on the content of the records. Needed
        if some voters are prefitted and others not: the shard of a prefitted voter is the rows that it was trained on,
        maybe none.
    epsilon, Delta : float, optional
        Privacy of one voter. Fixed: a limit for the ``epsilon_`` and ``delta_`` that each fitted classifier states,
        which may differ; required for classifiers that state none, and then taken as true. Fresh: epsilon of one
        answer, required, with t epsilon at most 20; Delta is 0.
    m : float in (0, K], optional
        Fresh: one label is (m epsilon, 0)-DP. t if not given, which releases the class with most answers. Above t it
        has no effect, and a warning is issued.
    queries : int, optional
        Plan the noise for that many labels within the budget, in place of ``m`` (fresh), ``gamma`` or ``sigma``
        (non-private).
    colluders : int in [0, K - t], optional
        Fresh: all guarantees of labels rest on the randomized response of all voters but this number, whose votes may
        be known to somebody else, or who see the labels and may try to learn. ``privacy_.assumption`` says it, and
        docs/known_randomizers.md lists what must hold. Labels then need less noise. Records at colluders have no
        guarantee. The labels are within twice ``total_epsilon`` too, and with ``m`` one label within twice m epsilon,
        if only the affected voters randomize as stated, the others may be any mechanism that learns no vote of others,
        and no vote is used twice or decides what to ask, draw again or release; a ledger that was created elsewhere
        keeps its own budgets. ``privacy_.otherwise`` is that total. If not given, the votes of other voters protect
        nothing.
    total_epsilon, total_delta : float
        Budget for all labels; required except for fixed voters. For fixed voters `fit` raises if total_epsilon would be
        exceeded, and total_delta is the delta of `privacy_`. Without total_delta the t largest epsilons are added up,
        and so are the t largest Deltas.
    ledger : path or URL, optional
        Fresh, and non-private but with ``gamma``: the place of a `darrm.accounting.Ledger` that keeps the budget across
        fits, copies and processes. It may hold other charges too, by the rule "renyi-filter" or, but for ``sigma``,
        "basic-filter"; "in-advance" is refused, because charges of an ensemble are not fixed in advance. Labels with
        ``sigma`` are counted there for any number of votes and classes, so it covers fewer than a fit without a ledger.
        `fit` looks it up from the working folder once: the fitted ensemble knows it by its absolute path. Copies, and
        workers of joblib, share it. A URL holds no password, because ``repr`` and pickles would show it. Without a
        ledger each fit counts for itself.
    ledger_create : bool
        Whether `fit` creates a ledger if there is none at ``ledger``. A new ledger has a new budget: nothing may have
        been released from the records before.
    copies : int, at least 1
        Without a ledger: how many objects share the budget, the fitted one included. Each has ``floor(n / copies)`` of
        the n labels that the budget covers. Every object from a pickle, a deepcopy or joblib counts, each time that a
        pickle is loaded, and so does each forked process. You must make sure that there are no more than ``copies``.
        With 1, copies release nothing, and a `darrm.errors.CopiedBudgetWarning` says so when one is made. Threads share
        one object.
    keyed : bool
        Fresh, and non-private: whether a row that comes again has its label again, at no charge, so that the budget
        counts different rows. `fit` draws a secret key of 32 bytes, and a row is known by a digest of its values with
        that key (BLAKE2b). The noise is not computed from the key: it comes from the operating system, once for each
        row, and the label is kept. So the guarantee is that of labels without ``keyed``, and needs no secret key. With
        a ledger, labels are kept there, for all copies and processes; its readers see neither rows nor labels unless
        they have the fitted object, which is as secret as the votes. Without one, this object keeps them, and a copy
        has those of before it was made. Another fit has another key and gives other labels.
    teachers : {"private", "non-private"}
    gamma, sigma : float, optional
        Non-private: noise of one label, Laplace of rate gamma or Gaussian of standard deviation sigma.
    base_accuracy : float in (1 / classes, 1]
        Accuracy of one classifier, for which noise is planned: for fresh voters with more than two classes or with
        ``colluders``, and for non-private teachers with ``queries``. Guarantees do not rest on it, if it comes from
        elsewhere than these votes or records: take it from public knowledge.
    adjacency : "replace-one"
        The only one allowed: if a record is removed, those after it change their shards.
    n_jobs : int, optional
        Number of jobs of joblib for training; threads unless ``joblib.parallel_config`` sets another backend.
    random_state : optional
        For tests only: labels can then be predicted, which a `NotPrivateWarning` says. Without it all randomness comes
        from the operating system.

    Attributes
    ----------
    classes_ : ndarray
        The classes, assumed to be public.
    estimators_ : list of K fitted classifiers
        Only those of fixed voters are private. Those of fresh voters are non-private, and so is the fitted object.
    shards_ : list of K ndarrays of int
        Empty if all voters are prefitted.
    privacy_ : EnsemblePrivacy
        Fixed: the optimal composition of the t least private voters, for any number of queries. Else the budget and the
        number of labels that it covers, for this object alone if there are ``copies``. It is of this fit alone: those
        of a cross-validation, each with a statement of its own, cost their composition.
    design_ : Design
        The design of a label. Not set with ``gamma`` or ``sigma``.
    n_features_in_ : int
    feature_names_in_ : ndarray
        Of a frame whose columns all have names.

    Notes
    -----
    Each fit on the same records is another mechanism: ``cross_val_score`` and ``GridSearchCV`` cost the composition of
    as many budgets as there are fits with a record. Their scores are computed from the labels of held-out records,
    which are neither private nor charged. Choose parameters on public records.

    Fixed: docs/theory.md, Lemma 8; equal votes release the first of ``classes_``. Fresh: Algorithm 1 of Jiang, Zhang,
    Joshi (TMLR 2024), or the decision of least label error rate (docs/decisions.md), and exact adaptive composition
    (Lemma 9); ties are decided at random. Non-private: Papernot et al. (ICLR 2018), disjoint shards, charged by exact
    adaptive composition (docs/composition.md). ``queries`` selects noisy max, permute-and-flip or the optimum, by the
    least planned error rate. An error of `fit` can depend on the data, and no epsilon covers that.

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

    _row_key: bytes | None = None

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
        colluders: int | None = None,
        total_epsilon: float | None = None,
        total_delta: float | None = None,
        ledger: str | os.PathLike[str] | None = None,
        ledger_create: bool = False,
        copies: int = 1,
        keyed: bool = False,
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
        self.colluders = colluders
        self.total_epsilon = total_epsilon
        self.total_delta = total_delta
        self.ledger = ledger
        self.ledger_create = ledger_create
        self.copies = copies
        self.keyed = keyed
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
        """Train K classifiers, each on its shard; prefitted ones are not trained.

        For fresh voters and non-private teachers it searches for the noise of labels first, in silence, which takes
        seconds for few voters and minutes for many voters or classes. The noise depends on no record, and a process
        keeps what it found last, so the folds of a cross-validation search once.

        Parameters
        ----------
        X : array_like, frame or sparse matrix, shape (n, d)
            Records. A pandas or polars frame is passed to the classifiers unchanged, with columns of any type; a sparse
            matrix only if all of them take it. If all voters are prefitted, X and y only set the columns and the
            classes: pass public rows.
        y : array_like of two classes or more, of any dtype, shape (n,)
            Two classes for `DPLogisticRegression`.
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
            For example if a classifier cannot be fitted, or fixed voters have no stated or declared privacy.
        BudgetError
            If the budget does not cover the fixed voters, or one label of each copy.
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
        # The budget is checked before anything is trained, where possible.
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
        self._row_key = os.urandom(SIZE) if self.keyed else None
        self.privacy_ = replace(self._release.privacy, seeded=rng is not None)
        if any(asked.prefitted) and overlap < K:
            rests = (self.privacy_.assumption, f"one record affects at most {counted(overlap, 'voter')}, as declared")
            self.privacy_ = replace(self.privacy_, assumption="; ".join(filter(None, rests)))
        if isinstance(release, DesignedLabels):
            self.design_ = release.design
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Release private labels; for fresh voters and non-private teachers drawn anew, and charged, at every call.

        With ``keyed`` a row that was asked before, or comes twice, has the same label and is charged once.

        Parameters
        ----------
        X : array_like, frame or sparse matrix, shape (n, d)
            As in `fit`. It must be public, or at least not a secret of the protected persons.

        Returns
        -------
        ndarray, shape (n,), of ``classes_``

        Raises
        ------
        InputError
        BudgetError
            If n labels would exceed the budget, or this is a copy that must not spend the budget. Nothing is released
            or charged then. With ``keyed`` only labels of new rows count.
        """
        check_is_fitted(self)
        records = check_table(self, X, reset=False)
        rows = None if self._row_key is None else row_digests(self._row_key, records)
        votes = predictions(self.estimators_, records, self.classes_)
        return np.asarray(self.classes_[self._release.labels(votes, self.classes_.size, self._rng, rows)])

    @property
    def spent_(self) -> Privacy:
        """(epsilon, delta) of the labels so far, if their number does not depend on them.

        With a ledger, for all its labels of this design, without its other charges. For fixed voters, for any number of
        labels. Without a ledger, for this object alone; ``copies`` together are within the budget. For a copy that may
        release nothing: for the labels that the original had released when it was copied.
        """
        check_is_fitted(self)
        return self._release.spent

    def _votes(self, X: Any) -> Codes:
        return predictions(self.estimators_, check_table(self, X, reset=False), self.classes_)
