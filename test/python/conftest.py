import shutil
import signal
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
signal.signal(signal.SIGINT, signal.default_int_handler)  # what starts the tests may have had it ignored


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
    support.absent(f"models and data are not at {support.SHARED} (CORTEN_SHARED)")


@pytest.fixture(scope="module")
def driver():
    """A headless Chromium without a network: only this machine has a name. Its console is in get_log("browser")."""
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not chromedriver:
        support.absent("chromium and chromedriver are not installed (Debian: chromium chromium-driver)")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "use-angle=swiftshader", "enable-unsafe-swiftshader",
                 "hide-scrollbars", "host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver))
    yield browser
    browser.quit()


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)
