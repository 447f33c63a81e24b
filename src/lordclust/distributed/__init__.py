"""B-LoRD on more than one machine, by dask.distributed.

>>> from lordclust.distributed import BLoRD
>>> BLoRD(3, tau=0.5).n_clusters
3
"""

from importlib.util import find_spec

from lordclust._core.validation import missing_extra

if find_spec("distributed") is None or find_spec("dask") is None:
    raise missing_extra("dask.distributed", "dask")

from lordclust.distributed.blord import BLoRD

__all__ = ["BLoRD"]
