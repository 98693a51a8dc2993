"""Installing, without a network: what `.ci/install` trusts and what it starts afresh."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, shared


@pytest.fixture
def installer(tmp_path, monkeypatch):
    """The installer in an empty tree, with a pip and a venv that only pretend."""
    spec = importlib.util.spec_from_file_location("installer", ROOT / ".ci" / "install.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    venv = tmp_path / ".venv"
    site = venv / "lib" / "python3" / "site-packages"
    paths = {"ROOT": tmp_path, "VENV": venv, "BUSY": venv / "installing", "LOG": venv / "log"}
    for name, path in paths.items():
        monkeypatch.setattr(module, name, path)
    module.calls, module.site, module.answer = [], site, 0

    def make_venv():
        module.calls.append("venv")
        shutil.rmtree(venv, ignore_errors=True)
        site.mkdir(parents=True)
        return 0

    def pip(extras):
        module.calls.append("pip " + " ".join(extras))
        module.LOG.write_text("ERROR: no network\n", encoding="utf-8")
        if module.answer == 0:
            (site / f"package-{len(module.calls)}").mkdir()
        elif module.answer == "half":
            (site / "half-a-package").mkdir()
        return 0 if module.answer == 0 else 1

    monkeypatch.setattr(module, "create", make_venv)
    monkeypatch.setattr(module, "pip", pip)
    monkeypatch.setattr(module, "python_runs", lambda: site.is_dir())
    return module


def test_installs_once(installer):
    assert installer.main([]) == 0
    assert installer.main([]) == 0
    assert installer.calls == ["venv", "pip "]


def test_an_extra_is_added_to_what_is_there(installer):
    installer.main([])
    assert installer.main(["test"]) == 0
    assert installer.main(["test"]) == 0
    assert installer.main([]) == 0
    assert installer.calls == ["venv", "pip ", "pip test"]


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
def test_installs_again_when_the_wishes_change(installer, name):
    installer.main([])
    with (installer.ROOT / name).open("a", encoding="utf-8") as file:
        file.write("# a change\n")
    assert installer.main([]) == 0
    assert installer.calls == ["venv", "pip ", "pip "]


def test_a_pip_that_failed_is_not_taken_for_done(installer, capsys):
    installer.answer = "offline"
    assert installer.main([]) == 1
    assert "ERROR: no network" in capsys.readouterr().err
    installer.answer = 0
    assert installer.main([]) == 0
    assert installer.calls == ["venv", "pip ", "pip "]


def test_an_extra_that_fails_offline_leaves_the_rest_usable(installer):
    installer.main([])
    installer.answer = "offline"
    assert installer.main(["lab"]) == 1
    assert installer.main([]) == 0
    assert installer.calls == ["venv", "pip ", "pip lab"]


def test_half_an_install_is_thrown_away(installer):
    installer.main([])
    installer.answer = "half"
    assert installer.main(["lab"]) == 1
    installer.answer = 0
    assert installer.main([]) == 0
    assert installer.calls == ["venv", "pip ", "pip lab", "venv", "pip "]
    assert not (installer.site / "half-a-package").exists()


def test_an_install_that_was_killed_is_thrown_away(installer):
    installer.main([])
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"],
                          check=True, capture_output=True, text=True)  # fmt: skip
    installer.BUSY.write_text(gone.stdout, encoding="utf-8")
    assert installer.main([]) == 0
    assert installer.calls == ["venv", "pip ", "venv", "pip "]


def test_two_installs_do_not_meet(installer, capsys):
    installer.main([])
    installer.BUSY.write_text(str(os.getppid()), encoding="utf-8")  # a process that is alive
    assert installer.main(["test"]) == 1
    assert installer.calls == ["venv", "pip "]
    assert "wait for it" in capsys.readouterr().err


def test_a_venv_whose_python_is_gone_is_made_anew(installer):
    installer.main([])
    shutil.rmtree(installer.site)
    assert installer.main([]) == 0
    assert installer.calls == ["venv", "pip ", "venv", "pip "]


def test_logs_that_are_absent_skip_a_test_in_words_that_ci_knows(tmp_path, monkeypatch):
    """CI fails on such a skip where the logs are there: .ci/skipped.py looks for the words."""
    monkeypatch.setenv("DRAS_LAB_SHARED", str(tmp_path / "absent"))
    with pytest.raises(pytest.skip.Exception) as skipped:
        shared("traces", "README.md")
    report = tmp_path / "report.xml"
    report.write_text(
        '<testsuites><testsuite><testcase classname="t" name="a">'
        f'<skipped message="{skipped.value}"/></testcase>'
        '<testcase classname="t" name="b"/></testsuite></testsuites>',
        encoding="utf-8",
    )
    check = [sys.executable, str(ROOT / ".ci" / "skipped.py"), str(report)]
    absent = subprocess.run(check, check=False, capture_output=True, text=True)
    assert absent.returncode == 0
    monkeypatch.setenv("DRAS_LAB_SHARED", str(tmp_path))
    present = subprocess.run(check, check=False, capture_output=True, text=True)
    assert present.returncode == 1
    assert "t.a" in present.stderr
    assert "t.b" not in present.stderr


@pytest.mark.skipif(os.name == "nt", reason="a shell script")
def test_a_python_that_is_too_old_is_explained(tmp_path):
    old = tmp_path / "python3"
    old.write_text('#!/bin/sh\ncase "$2" in *print*) echo 3.9;; *) exit 1;; esac\n')
    old.chmod(0o755)
    for tool in ("sh", "dirname", "sed"):
        (tmp_path / tool).symlink_to(shutil.which(tool))
    run = subprocess.run(
        [tmp_path / "sh", ROOT / ".ci" / "install"],
        env={"PATH": str(tmp_path)}, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 1
    assert run.stderr.startswith("No Python 3.11 or newer was found (python3 is 3.9).\n")
    assert "environment.yml" in run.stderr


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("no browser here: install chromium and chromium-driver", 1),
        ("no selenium: pip install selenium", 1),
        ("not a git checkout", 0),
    ],
)
def test_ci_fails_on_a_skip_for_want_of_a_browser(tmp_path, monkeypatch, reason, code):
    monkeypatch.setenv("DRAS_LAB_SHARED", str(tmp_path / "absent"))
    report = tmp_path / "report.xml"
    report.write_text(
        '<testsuites><testsuite><testcase classname="t" name="a">'
        f'<skipped message="{reason}"/></testcase></testsuite></testsuites>',
        encoding="utf-8",
    )
    check = [sys.executable, str(ROOT / ".ci" / "skipped.py"), str(report)]
    assert subprocess.run(check, check=False, capture_output=True).returncode == code
