"""scikit-learn's own checks of an estimator."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from lordclust import BLoRD, LoRD, list_methods, make_method
from lordclust.methods import KKM
from models import PAPER

WEIGHTS = (
    "a weight is mass in V mu = p, a copy is a vertex: copies change the graph of "
    "nearest neighbours, and ||V||_F^2 counts them one by one"
)
COPIES = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
}

VOTE = dict.fromkeys(COPIES, "copies are vertices, which vote one by one in predict")

AVERAGE = (
    "rows of similarities do not say which sample they are of: transform averages "
    "over the neighbours also for the fitted samples"
)
CLASSES = (
    "the check takes predict_proba for a classifier's, with a column for each class "
    "in y; sparse input to it is tested beside it"
)
CLASSIFIER = {
    "check_estimator_sparse_array": CLASSES,
    "check_estimator_sparse_matrix": CLASSES,
}
FEATURES = "the check passes features to an estimator whose tags say pairwise"
PRECOMPUTED = {
    "check_transformer_general": AVERAGE,
    "check_transformer_data_not_an_array": AVERAGE,
    "check_clustering": FEATURES,
}


# Their own tests try the defaults; here each check fits a dozen times.
QUICK = {
    "dcd": {"n_init": 1},
    "nlr": {"n_init": 1},
    "s3nmf": {"n_members": 3, "n_rounds": 2, "max_iter": 3000},
}


def quick(name):
    # Some checks warn of what chance may bring.
    return make_method(name, 3, random_state=0, **QUICK.get(name, {}))


def expected_failures(estimator):
    if not isinstance(estimator, LoRD | BLoRD):
        return VOTE if isinstance(estimator, KKM) else {}
    precomputed = estimator.affinity == "precomputed"
    return CLASSIFIER | (PRECOMPUTED if precomputed else COPIES)


@parametrize_with_checks(
    [
        LoRD(3, start="random", n_init=2),
        PAPER(3, tau="blocks", n_init=2),
        PAPER(3, affinity="precomputed"),
        *(quick(name) for name in list_methods()),
    ],
    expected_failed_checks=expected_failures,
)
def test_checks(estimator, check):
    check(estimator)
