"""What is said where something is wrong: forms, codes and their examples, limits, signals, completions."""
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import time
import warnings
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import support
import torch
from support import corten
from torch import nn

DIGITS = support.ROOT / "examples/digits"
LINE = "x = torch.cumsum(x, dim=1)"


class Sorter(nn.Module):
    """Two operators that are not supported, the second on the first's result."""

    def forward(self, x):
        x = torch.cumsum(x, dim=1)
        return torch.sort(x, dim=1).values


@pytest.fixture(scope="module")
def sorter():
    return support.export(Sorter(), [torch.rand(1, 8)])


def run(*args, cwd=None, **environment):
    """stdout and stderr of the command in another environment."""
    variables = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE")}
    variables = {**variables, "LC_ALL": "C.UTF-8", **environment}
    return subprocess.run([support.CORTEN, *map(str, args)], capture_output=True, text=True, env=variables, cwd=cwd, timeout=120)


def on_terminal(*args, **environment):
    """What the command writes where both its streams are a terminal."""
    ours, its = pty.openpty()
    process = subprocess.Popen(
        [support.CORTEN, *map(str, args)], stdout=its, stderr=its, stdin=its, env={**os.environ, "LC_ALL": "C.UTF-8", **environment}
    )
    os.close(its)
    text = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        text += part
    os.close(ours)
    process.wait()
    return text.decode()


# ---- forms --------------------------------------------------------------------------------------------------------------------


def test_both_of_a_chain_are_named(sorter):
    err = corten("compile", sorter, code=1).err
    assert "aten.cumsum.default is not supported" in err and "aten.sort.default is not supported" in err and err.endswith("2 errors\n"), err


def test_full_shows_the_source(sorter):
    err = run("compile", sorter, cwd=support.ROOT).stderr
    number = next(i for i, line in enumerate(Path(__file__).read_text().split("\n"), 1) if line.strip() == LINE)
    place = f"  --> test/python/test_diagnostics.py:{number}:13\n   |\n{number} | {LINE}\n   |     ^^^^^^^^^^^^\n"
    assert err.startswith("error[C0101]: operator aten.cumsum.default is not supported\n" + place), err
    assert "= note: node cumsum (aten.cumsum.default) of " in err and "\n   = help: " in err


def test_concise_before_and_behind_the_command(sorter):
    one = run("--diagnostics=concise", "compile", sorter, cwd=support.ROOT).stderr
    assert one == run("compile", sorter, "--diagnostics", "concise", cwd=support.ROOT).stderr
    lines = one.splitlines()
    assert len(lines) == 2 and all(re.fullmatch(r"test/python/test_diagnostics\.py:\d+:\d+: error\[C0101\]: operator .*", x) for x in lines), one


def test_json(sorter):
    told = json.loads(run("compile", sorter, "--diagnostics=json").stderr)
    assert [d["code"] for d in told] == ["C0101", "C0101"]
    assert {"severity", "title", "message", "notes", "help", "subject", "file", "line", "column", "end_column", "text", "places"} <= set(told[0])
    assert told[0]["text"][told[0]["column"] - 9 : told[0]["end_column"] - 9] == "torch.cumsum"
    assert json.loads(run("targets", "--diagnostics=json").stderr) == []


def test_github(sorter):
    first = run("compile", sorter, "--diagnostics=github", cwd=support.ROOT).stderr.splitlines()[0]
    assert re.fullmatch(r"::error file=test/python/test_diagnostics\.py,line=\d+,col=13,endColumn=24,title=C0101 [^:,]*::operator .*%0Ahelp: .*", first), first


# What SARIF 2.1.0 demands of the parts that are used here (sections 3.13, 3.14, 3.19, 3.27 to 3.30, 3.49).
TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "$schema": {"type": "string", "format": "uri"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "additionalProperties": False,
                "properties": {
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "tool": {
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "required": ["name"],
                                "additionalProperties": False,
                                "properties": {
                                    "name": {"type": "string"},
                                    "version": {"type": "string"},
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {
                                            "required": ["id"],
                                            "additionalProperties": False,
                                            "properties": {
                                                "id": {"type": "string"},
                                                "name": {"type": "string"},
                                                "shortDescription": TEXT,
                                                "fullDescription": TEXT,
                                                "help": TEXT,
                                            },
                                        },
                                    },
                                },
                            }
                        },
                    },
                    "results": {
                        "type": "array",
                        "items": {
                            "required": ["message"],
                            "additionalProperties": False,
                            "properties": {
                                "ruleId": {"type": "string"},
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "message": TEXT,
                                "locations": {
                                    "type": "array",
                                    "items": {
                                        "additionalProperties": False,
                                        "properties": {
                                            "physicalLocation": {
                                                "required": ["artifactLocation"],
                                                "properties": {
                                                    "artifactLocation": {"properties": {"uri": {"type": "string", "pattern": "^[^ %\\\\]*$"}}},
                                                    "region": {
                                                        "properties": {
                                                            "startLine": {"type": "integer", "minimum": 1},
                                                            "startColumn": {"type": "integer", "minimum": 1},
                                                            "endColumn": {"type": "integer", "minimum": 2},
                                                            "snippet": TEXT,
                                                        }
                                                    },
                                                },
                                            },
                                            "logicalLocations": {"type": "array", "items": {"properties": {"name": {"type": "string"}}}},
                                        },
                                    },
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}


@pytest.mark.parametrize("args", [("compile",), ("compile", "none.pt2"), ("targets",), ()])
def test_sarif_is_valid(args, sorter):
    log = json.loads(run(*(args or ("compile", sorter)), "--diagnostics=sarif", cwd=support.ROOT).stderr)
    jsonschema.Draft202012Validator(SARIF).validate(log)
    for result in log["runs"][0]["results"]:
        assert log["runs"][0]["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        for location in result.get("locations", []):
            uri = location.get("physicalLocation", {}).get("artifactLocation", {}).get("uri", "")
            assert not uri.startswith("/"), uri


def test_sarif_escapes_paths():
    uri = json.loads(run("inspect", "no such ä.pt2", "--diagnostics=sarif").stderr)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert uri["artifactLocation"]["uri"] == "no%20such%20%C3%A4.pt2"


def test_usage_errors_have_the_form_too():
    result = run("compile", "x.pt2", "--tarjet", "y", "--diagnostics=json")
    assert result.returncode == 2
    told = json.loads(result.stderr)
    assert told[0]["code"] == "C0501" and "--target" in told[0]["help"]
    told = run("compil", "x.pt2").stderr
    assert 'there is no command "compil"' in told and "did you mean compile?" in told


# ---- terminals ----------------------------------------------------------------------------------------------------------------


def test_colour_only_where_it_is_wanted(sorter):
    args = ("compile", sorter)
    assert "\033" not in run(*args).stderr
    assert "\033[1;31m" in run(*args, FORCE_COLOR="1").stderr and "\033[" in run(*args, CLICOLOR_FORCE="1").stderr
    assert "\033" not in run(*args, FORCE_COLOR="1", NO_COLOR="1").stderr
    assert "\033" in run(*args, FORCE_COLOR="1", NO_COLOR="").stderr
    assert "\033[1;31m" in on_terminal(*args, TERM="xterm")
    assert "\033[1" not in on_terminal(*args, TERM="dumb") and "\033[1" not in on_terminal(*args, TERM="xterm", NO_COLOR="1")


def test_ascii_where_the_locale_is(tmp_path):
    missing = tmp_path / "größe.pt2"
    assert "größe.pt2" in run("inspect", missing).stderr
    err = run("inspect", missing, LC_ALL="C").stderr
    assert err.isascii() and r"gr\xf6\xdfe.pt2" in err


def test_summary_is_plain_in_a_pipe_and_has_bars_on_a_terminal(tmp_path):
    args = ("compile", DIGITS / "digits_cnn.pt2", "--calibrate", DIGITS / "calib.npz", "-o", tmp_path / "out")
    piped = run(*args)
    assert piped.stderr == "" and piped.stdout.isascii() and "%" not in piped.stdout and "\033" not in piped.stdout
    assert re.search(r"image +\d+,\d{3} bytes\n", piped.stdout) and re.search(r"written +\S*out/: model.corten", piped.stdout)
    shown = on_terminal(*args, TERM="xterm")
    assert re.search(r"image +[\d,]+ bytes  █+░+ +\d+ % of \d+ KiB", shown), shown
    assert re.search(r"image +[\d,]+ bytes  #+\.+ +\d+ % of \d+ KiB", on_terminal(*args, LC_ALL="C"))


def test_warnings_go_to_stderr_and_are_counted(tmp_path):
    model = support.export(nn.ReLU(), [torch.rand(1, 8)])
    few = support.save_inputs([np.random.rand(3, 8)])
    result = run("compile", model, "--calibrate", few, "-o", tmp_path)
    assert result.returncode == 0 and result.stderr.startswith("warning[W0201]: ranges are taken from 3 samples only\n"), result.stderr
    assert re.search(r"warnings +1\n", result.stdout) and "W0201" not in result.stdout


# ---- codes --------------------------------------------------------------------------------------------------------------------

CODES = json.loads(subprocess.run([support.CORTEN, "explain", "--json"], capture_output=True, text=True).stdout or "[]")


class Stage:
    """A folder with what the examples talk about, and the means to run them as a notebook would."""

    def __init__(self, folder):
        self.home, self.done = folder, {}
        (folder / "tools").mkdir()
        (folder / "tools/corten").symlink_to(support.CORTEN)
        model, samples = self.things()["model"], self.things()["samples"]
        torch.export.save(torch.export.export(model, (torch.rand(1, 8),)), folder / "model.pt2")
        np.savez(folder / "calib.npz", in0=np.concatenate(samples))
        corten("compile", folder / "model.pt2", "--calibrate", folder / "calib.npz", "--target", "cortex-m4", "-o", folder / "build")

    @staticmethod
    def things():
        import corten as package

        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 4), nn.ReLU()).eval()
        samples = [torch.rand(1, 8) for _ in range(100)]
        return {"np": np, "torch": torch, "corten": package, "model": model, "x": torch.rand(1, 8), "samples": samples}

    def codes_of(self, example):
        """The codes of all messages that the example brings about."""
        if example not in self.done:
            folder = self.home / f"run{len(self.done)}"
            shutil.copytree(self.home, folder, symlinks=True, ignore=shutil.ignore_patterns("run*"))
            self.done[example] = self.run(example, folder)
        return self.done[example]

    def run(self, example, folder):
        codes = []
        lines = [f"_shell({line[1:]!r})" if line.startswith("!") else line for line in example.split("\n")]
        (folder / "example.py").write_text("\n".join(lines))  # the trace shows its lines

        def shell(command):
            done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120)
            found = re.findall(r"^(?:error|warning)\[([CW]\d{4})\]", done.stderr, re.M)
            assert found or done.returncode == 0, f"{command}: {done.stderr}"
            codes.extend(found)

        before, path, variables = os.getcwd(), os.environ["PATH"], dict(os.environ)
        os.chdir(folder)
        os.environ["PATH"] = f"{folder}/tools:{path}"
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                exec(compile("\n".join(lines), str(folder / "example.py"), "exec"), {**self.things(), "_shell": shell})
        except Exception as error:
            if not getattr(error, "diagnostics", None):
                raise
            codes.extend(d.code for d in error.diagnostics)
        finally:
            os.chdir(before)
            os.environ.clear()
            os.environ.update(variables)
        return codes + [d.code for w in caught for d in getattr(w.message, "diagnostics", [])]


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    return Stage(tmp_path_factory.mktemp("stage"))


@pytest.mark.parametrize("code", [c for c in CODES if c["name"] != "internal"], ids=lambda c: c["code"])
def test_examples(code, stage):
    support.package()
    assert stage.codes_of(code["wrong"]) == [code["code"]]
    assert stage.codes_of(code["right"]) == []


def test_explain():
    assert len(CODES) > 30
    listed = corten("explain").out
    for c in CODES:
        assert f"{c['code']}  {c['title']}\n" in listed
    text = corten("explain", "c0101").out
    assert text.startswith("C0101: an operator is not supported\n") and "\nWrong:\n" in text and "    corten.compile(" in text
    assert "C0101" in corten("explain", "C0111X", code=2).err or "C0111" in corten("explain", "C0111X", code=2).err


def test_python_says_the_same_and_survives_pickling(sorter):
    import pickle

    package = support.package()
    with pytest.raises(package.CompileError) as error:
        package.compile(sorter, target="cortex-m4")
    command = run("compile", sorter).stderr.rstrip("\n")
    assert str(error.value) == command
    assert str(pickle.loads(pickle.dumps(error.value))) == command
    assert [d.code for d in error.value.diagnostics] == ["C0101", "C0101"]


# ---- limits -------------------------------------------------------------------------------------------------------------------

DIGITS_ARGS = ("compile", DIGITS / "digits_cnn.pt2", "--target", "cortex-m4", "--calibrate", DIGITS / "calib.npz")


@pytest.mark.parametrize("option, limit, words", [
    ("--max-flash", "1K", ["C0302", "the image alone takes", "weights of"]),
    ("--max-ram", "256", ["C0303", "RAM takes", "arena ", "stack is not counted", "--optimize ram"]),
])
def test_limits_are_kept(option, limit, words, tmp_path):
    err = corten(*DIGITS_ARGS, "-o", tmp_path / "out", option, limit, code=1).err
    assert all(w in err for w in words), err
    assert not (tmp_path / "out").exists()


def test_ram_is_told_of_the_fullest_step(tmp_path):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.small, self.head = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.Linear(5, 8), torch.nn.Linear(16, 4)

        def forward(self, image, numbers):
            return self.head(torch.cat([self.conv(image).mean((2, 3)), self.small(numbers)], 1))

    inputs = (torch.randn(1, 3, 16, 16), torch.randn(1, 5))  # the numbers lie last in the arena, and are read late
    path = tmp_path / "net.pt2"
    torch.export.save(torch.export.export(Net().eval(), inputs), path)
    np.savez(tmp_path / "calib.npz", in0=inputs[0], in1=inputs[1])
    err = corten("compile", path, "--calibrate", tmp_path / "calib.npz", "-o", tmp_path / "out", "--max-ram", "1K", code=1).err
    assert "fullest at conv2d;" in err and "the largest: 'conv2d' 2,048 bytes, 'image' 768 bytes" in err, err


def test_flash_counts_the_code(tmp_path):
    out = tmp_path / "out"
    corten(*DIGITS_ARGS, "-o", out, "--max-flash", "1M", "--max-ram", "64KiB")
    bench = corten("bench", out / "model.corten", "--json").json
    flash, ram = bench["image_bytes"] + bench["code_bytes"], bench["arena_bytes"] + bench["state_bytes"]
    corten(*DIGITS_ARGS, "-o", out, "--max-flash", flash, "--max-ram", ram)
    err = corten(*DIGITS_ARGS, "-o", tmp_path / "no", "--max-flash", flash - 1, "--max-ram", ram - 1, code=1).err
    assert f"flash takes {flash:,} bytes, 1 more than --max-flash allows" in err and f"RAM takes {ram:,} bytes, 1 more" in err, err


@pytest.mark.parametrize("size", ["64G", "x", "", "-1", "1e3"])
def test_wrong_sizes_are_usage_errors(size):
    assert "C0501" in corten(*DIGITS_ARGS, f"--max-ram={size}", code=2).err


# ---- signals ------------------------------------------------------------------------------------------------------------------


def children_of(pid):
    found = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True).stdout.splitlines()
    return [line for line in found if line.split()[1] == str(pid)]


def until(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_compilers_run_leaves_nothing(number, tmp_path):
    image = support.compile_model(DIGITS / "digits_cnn.pt2", "cortex-m4", DIGITS / "calib.npz")
    temporary, cache = tmp_path / "tmp", tmp_path / "cache"
    temporary.mkdir()
    process = subprocess.Popen([support.CORTEN, "bench", image], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env={**os.environ, "TMPDIR": str(temporary), "XDG_CACHE_HOME": str(cache)})
    until(lambda: any("g++" in c for c in children_of(process.pid)))
    process.send_signal(number)
    out, err = process.communicate(timeout=10)
    assert process.returncode == 128 + number and out == err == b""
    assert list(temporary.iterdir()) == [] and not list(cache.rglob("*.part*"))
    assert str(temporary) not in subprocess.run(["ps", "-eo", "args="], capture_output=True, text=True).stdout


def test_a_signal_while_the_board_hangs_leaves_nothing(tmp_path):
    image = support.compile_model(DIGITS / "digits_cnn.pt2", "cortex-m4", DIGITS / "calib.npz")
    tools, temporary = tmp_path / "tools", tmp_path / "tmp"
    tools.mkdir(), temporary.mkdir()
    (tools / "qemu-system-arm").write_text(f"#!/bin/sh\nsleep 300 & echo $! > {tmp_path}/started\nwait\n")
    (tools / "qemu-system-arm").chmod(0o755)
    process = subprocess.Popen([support.CORTEN, "bench", image], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env={**os.environ, "TMPDIR": str(temporary), "PATH": f"{tools}:{os.environ['PATH']}"})
    until(lambda: (tmp_path / "started").exists() and (tmp_path / "started").read_text().strip())
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130
    assert list(temporary.iterdir()) == []
    until(lambda: not Path(f"/proc/{(tmp_path / 'started').read_text().strip()}").exists(), 5)


def test_a_signal_while_calibrating_writes_nothing(tmp_path):
    model = support.export(nn.Sequential(nn.Conv2d(3, 32, 3), nn.ReLU(), nn.Conv2d(32, 32, 3)).eval(), [torch.rand(1, 3, 64, 64)])
    many = support.save_inputs([np.random.rand(300, 3, 64, 64).astype(np.float32)])
    process = subprocess.Popen([support.CORTEN, "compile", model, "--calibrate", many, "-o", tmp_path / "out"])
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert process.wait(5) == 130 and not (tmp_path / "out").exists()


def test_a_closed_pipe_is_no_error():
    line = f"set -o pipefail; {support.CORTEN} operators | head -1; echo ${{PIPESTATUS[0]}} >&2"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
    assert done.stdout == "conv2d\n" and done.stderr.strip() in ("0", "141"), done.stderr
    with open("/dev/full", "w") as full:
        done = subprocess.run([support.CORTEN, "operators"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "C0002" in done.stderr


# ---- completions --------------------------------------------------------------------------------------------------------------


def complete(shell, *words):
    """What the shell offers for the last word."""
    if not shutil.which(shell):
        support.absent(f"{shell} is not installed: scripts/setup.sh test")
    script = corten("completions", shell).out
    line = " ".join(["corten", *words])
    if shell == "fish":
        code = f"{script}\ncomplete -C '{line}'"
        out = subprocess.run(["fish", "--no-config", "-c", code], capture_output=True, text=True, timeout=60)
    elif shell == "bash":
        quoted = " ".join(f"'{w}'" for w in ("corten", *words))
        code = f'{script}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _corten; printf "%s\\n" "${{COMPREPLY[@]}}"'
        out = subprocess.run(["bash", "--norc", "-c", code], capture_output=True, text=True, timeout=60)
    assert out.returncode == 0 and not out.stderr, out.stderr
    return {x.split("\t")[0] for x in out.stdout.split("\n")} - {""}


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_completions(shell, tmp_path, monkeypatch):
    commands = {"compile", "run", "bench", "compare", "inspect", "report", "targets", "operators", "explain", "completions"}
    offered = complete(shell, "")
    assert commands <= offered and "cycles" not in offered
    assert complete(shell, "comp") == {"compile", "compare", "completions"}
    assert "cortex-m55" in complete(shell, "compile", "--target", "cortex-m5") and "cortex-m4" not in complete(shell, "compile", "--target", "cortex-m5")
    assert complete(shell, "compile", "--optimize", "s") == {"speed", "size"}
    assert {"--max-flash", "--max-ram"} <= complete(shell, "compile", "--max-")
    assert complete(shell, "explain", "C010") >= {"C0101", "C0102"}
    assert complete(shell, "run", "--on", "") == {"host", "qemu"}
    assert complete(shell, "bench", "x", "--diagnostics", "s") == {"sarif"}
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my model.pt2").touch()
    assert any("model.pt2" in x for x in complete(shell, "compile", "my"))


def test_zsh_completions(tmp_path):
    if not shutil.which("zsh"):
        support.absent("zsh is not installed: scripts/setup.sh test")
    (tmp_path / "_corten").write_text(corten("completions", "zsh").out)
    # A zsh in a terminal of its own, which is asked as a person does.
    script = f"""
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PS1=; fpath=({tmp_path} \\$fpath); autoload -Uz compinit; compinit -u -d {tmp_path}/dump; zstyle ':completion:*' list-colors; LISTMAX=0; echo re''ady"
zpty -r -m z line '*ready*'
zpty -w -n z $'corten compile --optimize \\t\\t'
sleep 2
zpty -r -t z line; while zpty -r -t z more; do line+=$more; done
print -r -- $line
zpty -d z
"""
    out = subprocess.run(["zsh", "-f", "-c", script], capture_output=True, text=True, timeout=60).stdout
    assert all(word in out for word in ("balanced", "speed", "ram", "size")), out
