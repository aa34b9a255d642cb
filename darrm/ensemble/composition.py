"""The scikit-learn parameters, tags and metadata of an ensemble of classifiers."""

from __future__ import annotations

from typing import Any

from darrm._sklearn import BaseComposition, FrozenEstimator, check_weights
from darrm.ensemble.dp_logistic_regression import DPLogisticRegression
from darrm.ensemble.voters import Asked, are_pairs, listed, names_of, of_copies, of_list, tags_of
from darrm.errors import InputError


class Composition(BaseComposition):  # type: ignore[misc]
    """The base of an ensemble of copies of ``estimator``, or of ``estimators``, which may be pairs with names."""

    estimator: Any
    estimators: Any
    K: int | None
    voters: str | None
    teachers: str

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the ensemble.

        Parameters
        ----------
        deep : bool
            Whether to include those of its classifiers, as ``estimator__parameter`` or ``name__parameter``.

        Returns
        -------
        dict
        """
        named = are_pairs(self.estimators)
        return dict(self._get_params("estimators", deep) if named else super().get_params(deep))

    def set_params(self, **params: Any) -> Any:
        """Set parameters by their names in `get_params`; a classifier itself by its name.

        Returns
        -------
        self

        Raises
        ------
        ValueError
        """
        if are_pairs(params.get("estimators", self.estimators)):
            self._set_params("estimators", **params)
        else:
            super().set_params(**params)
        return self

    def get_metadata_routing(self) -> Any:
        """The metadata that the classifiers to be trained request in `fit`.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRouter
            Classifiers by their names; ``estimator``, or ``voter_0``, ``voter_1``, ... where they have none.
        """
        from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

        router = MetadataRouter(owner=self)
        names = ("estimator",) if self.estimators is None else names_of(self.estimators)
        for name, model in zip(names, self._models(), strict=True):
            if not isinstance(model, FrozenEstimator):
                router.add(**{name: model}, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        each = [tags_of(model) for model in self._models()]
        tags.input_tags.sparse = all(of is not None and of.input_tags.sparse for of in each)
        tags.input_tags.allow_nan = all(of is not None and of.input_tags.allow_nan for of in each)
        return tags

    def _models(self) -> list[Any]:
        """The classifiers, unchecked; a single one if all voters are copies of it."""
        if self.estimators is not None:
            return listed(self.estimators)
        if self.estimator is not None:
            return [self.estimator]
        from sklearn.linear_model import LogisticRegression

        private = self.teachers == "private" and self.voters != "fresh"
        return [DPLogisticRegression() if private else LogisticRegression()]

    def _two(self) -> bool:
        """Whether a voter to be trained is `DPLogisticRegression`, of two classes."""
        return any(isinstance(model, DPLogisticRegression) for model in self._models())

    def _asked(self) -> Asked:
        """The voters, checked."""
        if self.estimators is None:
            return of_copies(self._models()[0], self.K)
        if self.estimator is not None:
            raise InputError("Pass estimator, for copies of it, or estimators, a list of voters. Got both.")
        asked = of_list(self.estimators, self.K)
        if are_pairs(self.estimators):
            try:
                self._validate_names(asked.names)
            except ValueError as error:
                raise InputError(f"estimators must have different names. {error}.") from None
        return asked

    def _metadata(self, kind: str, asked: Asked, n: int, given: dict[str, Any]) -> list[dict[str, Any]]:
        """What ``fit`` of each voter gets besides records and labels, for all n records."""
        given = {name: value for name, value in given.items() if value is not None}
        if not given:
            return [{} for _ in asked.models]
        if kind == "fixed":
            raise InputError(
                f"{', '.join(given)} must not be given for fixed voters: a weight changes the effect of one record on "
                "a voter, which their epsilon does not cover. Leave it out, or use fresh voters."
            )
        if all(asked.prefitted):
            raise InputError(f"{', '.join(given)} must not be given: all voters are prefitted, none is trained.")
        fits = self._routed(given) if _routing_is_on() else _weights(asked, n, given)
        return [{} if frozen else fits[name] for name, frozen in zip(asked.names, asked.prefitted, strict=True)]

    def _routed(self, given: dict[str, Any]) -> dict[str, dict[str, Any]]:
        from sklearn.utils.metadata_routing import process_routing

        routed = process_routing(self, "fit", **given)
        return {name: dict(of.fit) for name, of in routed.items()}


def _routing_is_on() -> bool:
    from sklearn import get_config

    return bool(get_config()["enable_metadata_routing"])


def _weights(asked: Asked, n: int, given: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Weights for every voter to be trained: without routing there is nothing else, and all get it or none."""
    from sklearn.utils.validation import has_fit_parameter

    if set(given) != {"sample_weight"}:
        raise InputError(
            f"fit takes sample_weight. Got {', '.join(given)}. Other metadata goes to the classifiers that request it, "
            "with sklearn.set_config(enable_metadata_routing=True)."
        )
    for model, frozen in zip(asked.models, asked.prefitted, strict=True):
        if not frozen and not has_fit_parameter(model, "sample_weight"):
            raise InputError(
                f"sample_weight must not be given: fit of {type(model).__name__} takes none. Leave it out, or have it "
                "routed to the classifiers that request it: sklearn.set_config(enable_metadata_routing=True)."
            )
    weights = check_weights(given["sample_weight"], n)
    return {name: {"sample_weight": weights} for name in asked.names}
