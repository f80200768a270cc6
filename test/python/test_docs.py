"""Documents that are written from the code are what the code says."""
import subprocess
import sys

import support

support.package()


def test_api_reference():
    done = subprocess.run([sys.executable, support.ROOT / "tools/api_reference.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
