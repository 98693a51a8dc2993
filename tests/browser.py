"""JupyterLab on a free port and a headless Chromium in front of it, for `test_browser.py`."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import nbformat
from conftest import ROOT
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.remote.webdriver import WebDriver

# Named so by Debian, by others, and on a Mac.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
DRIVERS = ("chromedriver",)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--window-size=1400,1000", "--force-device-scale-factor=1"),
)
SETTINGS = {
    # All cells are in the page, also those that are out of sight.
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}


def found(names: tuple[str, ...]) -> str | None:
    """The first of these programs that is there."""
    return next(filter(None, map(shutil.which, names)), None)


def write_notebook(path: Path, cells: list[str]) -> None:
    """A notebook of code cells for the kernel `python3`."""
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in cells],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    nbformat.write(notebook, path)


@contextlib.contextmanager
def jupyterlab(folder: Path) -> Iterator[tuple[str, str]]:
    """A JupyterLab of its own settings that serves `folder`; its address and token."""
    token = secrets.token_hex(16)
    with socket.socket() as probe:  # a port that was free a moment ago
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    home = folder / "home"
    for name, values in SETTINGS.items():
        extension, plugin = name.rsplit("/", 1)
        place = home / "settings" / extension / f"{plugin}.jupyterlab-settings"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(values), encoding="utf-8")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "IPYTHONDIR": str(home / "ipython"),
        "JUPYTER_PLATFORM_DIRS": "1",
    }
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += ["--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}"]
    command += ["--ServerApp.port_retries=0", f"--IdentityProvider.token={token}"]
    command += [f"--ServerApp.root_dir={folder}", "--LabApp.expose_app_in_browser=True"]
    command += ["--LabApp.extension_manager=readonly"]
    with (folder / "jupyterlab.log").open("w", encoding="utf-8") as log:
        server = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT
        )
        address = f"http://127.0.0.1:{port}"
        try:
            _wait_for(f"{address}/api/status?token={token}", server, folder / "jupyterlab.log")
            _needs_extension(f"{address}/lab?token={token}")
            yield address, token
        finally:
            server.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(20)
            server.kill()
            server.wait()


def _wait_for(address: str, server: subprocess.Popen[bytes], log: Path, patience: int = 90) -> None:
    for _ in range(patience * 4):
        assert server.poll() is None, log.read_text(encoding="utf-8")
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except (urllib.error.URLError, ConnectionError):
            pass  # not yet
        time.sleep(0.25)
    raise AssertionError("JupyterLab does not answer:\n" + log.read_text(encoding="utf-8"))


def _needs_extension(address: str, name: str = "@jupyter-widgets/jupyterlab-manager") -> None:
    """Fail at once, and not after a minute of waiting for a widget that never comes."""
    with urllib.request.urlopen(address, timeout=30) as page:
        served = page.read().decode("utf-8")
    assert name in served, (
        f"JupyterLab has no extension {name}, so it shows no widgets: "
        "pip install --force-reinstall jupyterlab_widgets"
    )


@contextlib.contextmanager
def chromium(browser: str, driver: str, profile: Path) -> Iterator[WebDriver]:
    """A headless Chromium with a profile of its own."""
    options = Options()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    page = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield page
    finally:
        page.quit()
