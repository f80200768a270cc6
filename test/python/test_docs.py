"""Documents that are written from the code are what the code says."""
import os
import subprocess
import sys

import pytest
import support

try:
    import corten  # noqa: F401
except ImportError:
    if os.environ.get("CI"):
        raise
    pytest.skip("the package is not installed: pip install .", allow_module_level=True)


def test_api_reference():
    done = subprocess.run([sys.executable, support.ROOT / "tools/api_reference.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
