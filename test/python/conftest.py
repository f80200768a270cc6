import os
import shutil
import tempfile
from pathlib import Path

import pytest
import support
import torch
from hypothesis import HealthCheck, Phase, settings

# Examples are the same in every run and not shrunk; `--hypothesis-profile=explore` draws new ones and shrinks what fails.
common = dict(deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
settings.register_profile("steady", derandomize=True, database=None, phases=[Phase.explicit, Phase.generate], **common)
settings.register_profile("explore", max_examples=200, **common)
settings.load_profile("steady")
torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def temporary_files():
    """All temporary files of a session lie in one folder that goes at its end."""
    before = tempfile.tempdir
    tempfile.tempdir = tempfile.mkdtemp(prefix="corten-test-", dir=before)
    yield
    shutil.rmtree(tempfile.tempdir, ignore_errors=True)
    tempfile.tempdir = before


@pytest.fixture(scope="session", autouse=True)
def command(temporary_files):
    if not Path(support.CORTEN).is_file():
        pytest.exit(f"no {support.CORTEN}: build the release preset, or set CORTEN", returncode=1)


@pytest.fixture(scope="session")
def shared():
    """The folder with models and data. Absent: the test is skipped, but fails where CI is set."""
    if (support.SHARED / "models").is_dir():
        return support.SHARED
    message = f"models and data are not at {support.SHARED} (CORTEN_SHARED)"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)
