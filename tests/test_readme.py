"""What the README says is true: its commands, names, and example."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)


def blocks(language):
    return [text.strip() for name, text in BLOCKS if name == language]


def set_up_commands():
    """The command lines that install something."""
    lines = "\n".join(blocks("bash")).splitlines()
    return [line for line in lines if line.startswith("pip install")]


def test_set_up_is_two_commands():
    assert set_up_commands() == [
        'pip install ".[demo]" && keras-albert quickstart',
        'pip install -e ".[test]" && python -m tests',
    ]


def test_ci_runs_the_test_command_of_the_readme():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert set_up_commands()[1] in script.splitlines()


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_ci_script_is_executable_and_parses():
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    subprocess.run(["bash", "-n", script], check=True)


def test_extras_in_the_readme_exist():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = re.findall(r"\[(\w+(?:,\w+)*)\]\"", README)
    extras = {extra for names in named for extra in names.split(",")}
    assert extras <= set(project["optional-dependencies"])


def test_commands_in_the_readme_exist():
    from keras_albert.cli.main import app

    commands = {
        command.name or command.callback.__name__.replace("_", "-")
        for command in app.registered_commands
    } | {group.typer_instance.info.name for group in app.registered_groups}
    lines = "\n".join(blocks("bash"))
    used = set(re.findall(r"keras-albert ([a-z-]+)", lines))
    assert used == commands


def test_python_example_runs(tmp_path):
    """The example runs as it stands, in a folder of its own."""
    (example,) = blocks("python")
    script = tmp_path / "example.py"
    script.write_text(example, encoding="utf-8")

    result = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )

    assert result.returncode == 0, result.stderr[-2000:]


def test_public_names_are_in_the_glossary():
    import keras_albert

    for names in keras_albert._PUBLIC.values():
        for name in names:
            assert f"`{name}`" in README


def test_links_to_files_lead_somewhere():
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    files = [t for t in targets if "://" not in t]
    assert all((ROOT / target).exists() for target in files)
