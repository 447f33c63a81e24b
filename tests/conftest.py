"""Settings shared by all tests."""

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

common = {
    "deadline": None,
    "database": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
settings.register_profile("steady", max_examples=40, derandomize=True, **common)
settings.register_profile("thorough", max_examples=1000, **common)
settings.load_profile("steady")
