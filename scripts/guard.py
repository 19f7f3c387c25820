"""What all scripts share before they trust what they are given: how they end, what they print, which files they open, and
which folders they replace. It needs no package.

    with guard.told("script.py", folder):         what is raised inside ends the script with a line and a status
        manifest = guard.read_manifest(folder, guard.PARTS)
        guard.say(f"{len(manifest['partitions'])} partitions")

Models, manifests and folders may come from anywhere. A name in a manifest is checked before a file of that name is opened or
written; a name is escaped before it is printed; a folder is replaced only where a script of ours has written all that is in it.
"""

import argparse
import contextlib
import errno
import json
import os
import re
import shutil
import signal
import stat
import sys
import tempfile
import unicodedata
import zipfile
from pathlib import Path

# ---- words: names of models come to a terminal, and to the log of a CI ----

# What has no width or category of its own to be known by, and is not shown either.
IGNORED = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\ufff0-\uffff\U000e0000-\U000e0fff]")


def is_hidden(character):
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") or bool(IGNORED.match(character))


def shown(text):
    """The text as one line of a terminal or of a CI's log may have it. Control characters, line breaks, marks of direction
    and what else is not seen become \\xNN, byte by byte, as cleave writes them. A line gives no order to the runner of a
    CI: those begin with "::", after blanks, or have "##[" anywhere."""
    text = "".join(
        "".join(f"\\x{byte:02x}" for byte in one.encode("utf-8", "surrogatepass")) if is_hidden(one) else one
        for one in str(text)
    )
    blanks = len(text) - len(text.lstrip())
    if text.startswith("::", blanks):
        text = text[:blanks] + "\\x3a" + text[blanks + 1 :]
    return text.replace("##[", "##\\x5b")


def say(*lines, to_errors=False):
    """Prints lines, each shown(). A reader that stops early (head) is no error; a standard output that cannot be written ends the
    script, as it ends cleave itself."""
    out = sys.stderr if to_errors else sys.stdout
    text = "".join(shown(line) + "\n" for line in lines)
    try:
        if out is None:  # it was closed before Python began
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        code = out.encoding or "utf-8"
        out.write(text.encode(code, "backslashreplace").decode(code))
        out.flush()
    except OSError as error:
        if out is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())  # for Python's last flush
        if not to_errors and not isinstance(error, BrokenPipeError):
            stop("cleave: error", f"standard output cannot be written: {why(error)}", NotWritten.status)


def first_line(error):
    """What an error says, without the rest."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:300] if lines else type(error).__name__


def counted(number, thing):
    return f"{number} {thing}{'' if number == 1 else 's'}"


def listed(names, most=3):
    """The first names, in quotes, and how many others there are."""
    text = ", ".join(f'"{name}"' for name in names[:most])
    return text if len(names) <= most else f"{text} and {len(names) - most} more"


# ---- the end of a script ----


class Fault(Exception):
    """Ends a script with this text and status."""

    status = 3


class CannotRun(Fault):
    """The original neither loads nor runs with any inputs that were tried. The text has no file's name."""


class BadFile(Fault):
    """A file, or a field of it, is not what it must be. The text has both."""


class WrongUsage(Fault):
    """A file that was given is missing or wrong, or a name is unknown."""

    status = 2


class Missing(Fault):
    """A Python package is not there."""

    status = 77


class NotWritten(Fault):
    """A folder is not written or not replaced."""

    status = 4


def stop(script, text, status):
    say(f"{script}: {text}", to_errors=True)
    sys.exit(status)


def missing(name, script, error, packages, text=""):
    """For the ImportError of a script's imports: the script ends with status 77, or prints its help, `text`, where that is
    asked for. A library, whose `name` is not "__main__", raises it on."""
    if name != "__main__":
        raise error
    if text and {"-h", "--help"} & set(sys.argv[1:]):
        say(*text.splitlines())
        sys.exit(0)
    stop(script, module_text(error, packages), 77)


def module_text(error, packages=""):
    """What says that a Python module is missing."""
    name = error.name or first_line(error)
    return f"skipped: needs the Python module {name} (pip install {packages or name})"


def fault_of(error, subject=None):
    """The text and the status that a script ends with for what was raised. `subject`: as for told()."""
    about = f"{subject}: " if subject else ""
    if isinstance(error, Fault):
        return f"{about if isinstance(error, CannotRun) else ''}{error}", error.status
    if isinstance(error, ImportError):
        return module_text(error), 77
    is_bare = isinstance(error, (LookupError, TypeError, AttributeError, AssertionError))  # its text alone says little
    return f"{about}{f'{type(error).__name__}: ' if is_bare else ''}{first_line(error)}", 3  # whatever a runtime raises


@contextlib.contextmanager
def told(script, subject=None):
    """Ends the script with a line and a status where the block raises. `subject`: the file that fails where a runtime does."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that new_folder() leaves nothing
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except Exception as error:
        stop(script, *fault_of(error, subject))


def parse_value(text):
    """NAME=VALUE of a command line."""
    name, _, value = text.rpartition("=")
    if not name or not value:
        raise argparse.ArgumentTypeError(f'"{text}" is not NAME=VALUE')
    return name, value


def number_in(text):
    """What int() and float() read of a value of --set-input, which may be a truth."""
    return {"true": "1", "false": "0"}.get(text, text)


def parse_dim(text):
    """N=8 of a command line."""
    name, _, size = text.rpartition("=")
    if not name or not size.isdigit():
        raise argparse.ArgumentTypeError(f'"{text}" is not NAME=SIZE')
    return name, int(size)


def check_dims(asked, bound, by="the folder"):
    """Raises WrongUsage for sizes of --dim that are not those of the split. Both by the same names; `by`: what was split."""
    for name, size in asked.items():
        if bound.get(name, size) != size:
            text = name if isinstance(name, str) else f"{name[0]}:{name[1]}"
            raise WrongUsage(f"--dim {text}={size}: {by} was split at {text}={bound[name]}, and runs with no other size: split again "
                             "without --dim, or with yours")  # fmt: skip


def parse_tolerance(text):
    """{"rtol": 0.01, "atol": 0.1} of rtol=0.01,atol=0.1 of a command line."""
    tolerance = {}
    for entry in text.split(","):
        key, _, number = entry.partition("=")
        try:
            tolerance[key] = float(number)
        except ValueError:
            tolerance[key] = -1.0
        if key not in ("rtol", "atol") or not tolerance[key] >= 0:
            raise argparse.ArgumentTypeError(f'"{entry}" is no tolerance: write rtol=0.01,atol=0.01, each a number of 0 or more')
    return tolerance


def inputs_of_run(options):
    """The files and folders that `cleave run` reads."""
    return [options.folder, *([options.inputs] if options.inputs else [])]


# ---- files ----

MOST_BYTES = 1 << 30  # of a manifest
MOST_ELEMENTS = 1 << 28  # of an input that is drawn


def why(error):
    return getattr(error, "strerror", None) or first_line(error)


def npz_file(path):
    """The path, of a .npz file. Raises BadFile."""
    if not zipfile.is_zipfile(regular(path)):
        raise BadFile(f"{path}: is no .npz file: numpy.savez(FILE, NAME=ARRAY) writes one, of arrays by the names of inputs")
    return path


def regular(path, said_by=None):
    """The path, of a regular file. Pipes and devices would be read for ever. `said_by`: the file and field that name it."""
    said_by = f'{said_by}: "{path}"' if said_by else path
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        raise BadFile(f"{said_by}: cannot be read: {why(error)}") from error
    if not stat.S_ISREG(mode):
        raise BadFile(f"{said_by}: is no regular file")
    return path


def is_plain(name):
    """Whether it is a relative path that stays below the folder in which it begins."""
    return bool(name) and "\0" not in name and not os.path.isabs(name) and ".." not in Path(name).parts


def inside(folder, name, said_by):
    """The path of a file in `folder` that a manifest or model names: regular, and there after all links are followed."""
    path = Path(folder) / name
    try:
        is_inside = is_plain(name) and path.resolve().is_relative_to(Path(folder).resolve())
    except (OSError, ValueError, RuntimeError) as error:  # links in a circle, names that no file has
        raise BadFile(f'{said_by}: "{name}" cannot be read: {why(error)}') from error
    if not is_inside:
        raise BadFile(f'{said_by}: "{name}" leads out of {folder}')
    return regular(path, said_by)


def size_of_draw(name, shape):
    """The shape of an input that is drawn. A manifest may ask for more than the machine has."""
    count = 1
    for size in shape:
        count *= size
    if count > MOST_ELEMENTS:
        raise CannotRun(f"input {name} would be too large: {list(shape)}")
    return shape


# ---- JSON: what a file must have, as types ----


class FileName(str):
    """A text that names a file in the folder of the JSON file."""


class PlainName(str):
    """A text that may become a part of a path."""


class Size(int):
    """Of a dim: 0 or more, and no more than a tensor can have."""


WORDS = {Size: "a size", str: "a text", FileName: "a file's name", PlainName: "a name", bool: "true or false", int: "a whole number",
         float: "a number", list: "a list", dict: "an object", type(None): "null"}


def kind_of(wanted):
    return type(wanted) if isinstance(wanted, (list, dict)) or wanted is None else wanted


class Checked:
    """Checks a JSON document against types: str, bool, int and so on, [type of all items], {"name": type, "may lack?": type},
    {"*": type of all values}, (one type, another)."""

    def __init__(self, path):
        self.path = path

    def fault(self, field, text):
        return BadFile(f"{self.path}: {field or 'the whole'}: {text}")

    def __call__(self, value, wanted, field=""):
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        found = str if isinstance(value, str) else type(value)
        for one in wanted:
            kind = kind_of(one)
            if found is kind or (found is str and kind in (FileName, PlainName)) or (found is int and kind is Size):
                return self.look_inside(value, one, field)
        raise self.fault(field, f"is {WORDS[found]}, and must be {' or '.join(WORDS[kind_of(one)] for one in wanted)}")

    def look_inside(self, value, wanted, field):
        if wanted is FileName:
            inside(self.path.parent, value, f"{self.path}: {field}")
        elif wanted is PlainName and not is_plain(value):
            raise self.fault(field, f'"{value}" leads out of a folder')
        elif wanted is Size and not 0 <= value < 1 << 63:
            raise self.fault(field, f"is {value}, and no dim has that size")
        elif isinstance(wanted, list):
            for i, one in enumerate(value):
                self(one, wanted[0], f"{field}[{i}]")
        elif isinstance(wanted, dict):
            begin = f"{field}." if field else ""
            for name, kind in wanted.items():
                key = name.removesuffix("?")
                if key == "*":
                    for own, one in value.items():
                        self(one, kind, f"{begin}{own}")
                elif key in value:
                    self(value[key], kind, f"{begin}{key}")
                elif key == name:
                    raise self.fault(begin + key, "is not there")


def read_json(path, *wanted):
    """The content of a JSON file that has these types. Raises BadFile, WrongUsage where there is no file."""
    path = Path(path)
    if not os.path.lexists(path):
        raise WrongUsage(f"{path}: there is no such file")
    regular(path)
    if path.stat().st_size > MOST_BYTES:
        raise BadFile(f"{path}: has more than {MOST_BYTES} bytes")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadFile(f"{path}: {why(error)}") from error
    for one in wanted:
        Checked(path)(content, one)
    return content


# ---- manifests ----

NAMES = [{"name": str}]
SETTINGS = {"dims?": {"*": Size}, "input_shapes?": {"*": [(int, str, None)]}, "set_inputs?": {"*": str},
            "signature?": (str, None)}
SHAPES = [{"name": str, "shape": ([(int, str, None)], None)}]
# Of a split of an ONNX model.
PARTS = {"partitions": [{"name": str, "file": (FileName, None), "inputs": SHAPES, "outputs": NAMES}],
         "settings?": SETTINGS}
# Of a split of a TensorFlow Lite or torch model.
CALLED = {"file": FileName, "model?": str, "outputs": [str]}
SIGNED = [{"value": str, "name": str}]
CHAIN = {
    "chain": {
        "order": [{"name": PlainName, "inputs": [str], **CALLED}], "init?": CALLED,
        "inputs": [(str, None)], "outputs": [(str, dict)], "state": [{"name": str, "target": str}],
        "mutations": [{"target": str, "value": str}],
        "signature?": ({"key": str, "inputs": SIGNED, "outputs": SIGNED}, None),
    },
    "settings?": SETTINGS,
}
TORCH = {"chain": {"order": [{"writes_inputs": [str]}], "mutations": [{"kind": str}]}}


def read_manifest(folder, *wanted):
    """manifest.json of a folder that cleave split or stage wrote, with these types. Stages are partitions, too."""
    path = Path(folder) / "manifest.json"
    manifest = read_json(path, {})
    if "stages" in manifest:
        manifest["partitions"] = manifest["stages"]
    parts = manifest["partitions"] if isinstance(manifest.get("partitions"), list) else []
    named = [part for part in parts if isinstance(part, dict) and isinstance(part.get("name"), str)]
    for part in named:
        part.setdefault("file", part["name"] + ".onnx")  # absent in old manifests
    for one in wanted:
        Checked(path)(manifest, one)
    check_once(path, "partitions: the name", [part["name"] for part in named])
    return manifest


def model_text(manifest):
    """What a manifest says of the model that it is of: its name and its file."""
    model = manifest.get("model") if isinstance(manifest.get("model"), dict) else {}
    name, path = model.get("name"), model.get("path")
    return " of ".join([*([f'"{name}"'] if name and name != path else []), *([str(path)] if path else [])]) or "another"


def check_once(path, what, names):
    seen = set()
    for name in names:
        if name in seen:
            raise BadFile(f'{path}: {what} "{name}" is there twice')
        seen.add(name)


def read_chain(folder, *more):
    """The chain of the manifest, whose partitions read what is made before."""
    path = Path(folder) / "manifest.json"
    chain = read_manifest(folder, CHAIN, *more)["chain"]
    check_once(path, "chain.order: the name", [part["name"] for part in chain["order"]])
    held = {one["target"]: one["name"] for one in chain["state"]}
    check_once(path, "chain.inputs: the name", [name for name in chain["inputs"] if name is not None])
    known = {*chain["inputs"], *(chain["init"]["outputs"] if "init" in chain else held.values())}
    for i, part in enumerate(chain["order"]):
        unmade = [name for name in part["inputs"] if name not in known]
        if unmade:
            raise BadFile(f'{path}: chain.order[{i}].inputs: nothing makes "{unmade[0]}" before')
        known.update(part["outputs"])
    for i, one in enumerate(chain["mutations"]):
        if one["target"] in held and one["value"] not in known:
            raise BadFile(f'{path}: chain.mutations[{i}].value: nothing makes "{one["value"]}"')
    return chain


# ---- files that are written ----


def check_new_file(path, force, inputs=()):
    """Refuses a file that is there already, but for `force`, and one that the run reads. `inputs`: files and folders."""
    if not os.path.lexists(path):
        return
    for one in inputs:
        if Path(path).resolve().is_relative_to(Path(one).resolve()):
            raise NotWritten(f'"{path}" is an input of this run, "{one}": give another')
    if not force:
        raise NotWritten(f'"{path}" is there already: give another, or --force')
    if not stat.S_ISREG(os.lstat(path).st_mode):
        raise NotWritten(f'"{path}" is no regular file')


@contextlib.contextmanager
def new_file(path, force, inputs=()):
    """A binary file to write, which becomes `path` when the block ends: until then, and where it raises, `path` stays as it was."""
    check_new_file(path, force, inputs)
    path = Path(path)
    scratch = None
    try:
        handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as out:
            yield out
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(scratch, 0o666 & ~mask)
        check_new_file(path, force, inputs)  # what others have written in the meantime
        os.replace(scratch, path)
        scratch = None
    except OSError as error:
        raise NotWritten(f'"{path}" cannot be written: {why(error)}') from error
    finally:
        if scratch:
            os.unlink(scratch)


# ---- folders ----

RECORD = "captured.json"
RECORDED = {"format": str, "files": [{"name": str, "bytes": int}]}
FORMAT = "cleave.captured"


def files_below(folder):
    """By path below the folder, with slashes: what os.lstat() says of each file; of folders those that are empty. Raises
    OSError where something cannot be looked at."""
    found = {}

    def refuse(error):
        raise error

    for place, folders, files in os.walk(folder, onerror=refuse):
        links = [name for name in folders if os.path.islink(os.path.join(place, name))]
        names = [*files, *links] if files or folders else [""]
        for name in names:
            path = os.path.normpath(os.path.join(place, name))
            found[Path(os.path.relpath(path, folder)).as_posix()] = os.lstat(path)
    return found


def write_record(folder):
    """Notes in the folder which files a script has written there."""
    files = [{"name": name, "bytes": facts.st_size} for name, facts in sorted(files_below(folder).items())
             if stat.S_ISREG(facts.st_mode)]  # fmt: skip
    content = {"format": FORMAT, "version": 1, "files": files}
    (folder / RECORD).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def check_ours(folder, out):
    """Refuses a folder, which `out` names, with anything that its record does not list as it is."""
    found = files_below(folder)
    if set(found) == {"."}:
        return  # it is empty
    if RECORD not in found:
        raise NotWritten(f'"{out}" has no {RECORD}, so no capture wrote it: it holds {listed(sorted(found))}; remove it '
                         "yourself, or give another with -o")  # fmt: skip
    record = read_json(folder / RECORD, RECORDED)
    sizes = {one["name"]: one["bytes"] for one in record["files"]} if record["format"] == FORMAT else {}
    others = [name for name, facts in sorted(found.items())
              if not stat.S_ISREG(facts.st_mode) or (name != RECORD and sizes.get(name) != facts.st_size)]  # fmt: skip
    if others:
        raise NotWritten(f'"{out}" holds what its {RECORD} does not list: {listed(others)}; --force removes what a capture '
                         "wrote and nothing else")  # fmt: skip


def check_replaceable(out, force, inputs):
    """Refuses what is at `out` unless it may go."""
    try:
        mode = os.lstat(out).st_mode
    except FileNotFoundError:
        return
    if not force:
        raise NotWritten(f'"{out}" is there already: give another with -o, or --force')
    if not stat.S_ISDIR(mode):
        raise NotWritten(f'"{out}" is no folder')
    for one in inputs:
        if Path(one).resolve().is_relative_to(Path(out).resolve()):
            raise NotWritten(f'"{out}" holds an input of this run, "{one}": give another with -o')
    check_ours(out, out)


@contextlib.contextmanager
def new_folder(out, force, inputs):
    """A folder to write into, which becomes `out` when the block ends: until then, and where it raises, `out` stays as it was.
    With `force` one that a capture wrote is replaced: the old one goes when the new one is in its place. `inputs`: files and
    folders that the run reads."""
    scratch = made = None
    try:
        check_replaceable(out, force, inputs)
        out.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
        made, old = scratch / "new", scratch / "old"
        made.mkdir()
        yield made
        write_record(made)
        swap(made, out, old, force)
    except OSError as error:
        if error.filename is not None and scratch and not str(error.filename).startswith(str(scratch)):
            raise  # of something that was read
        place = str(error.filename or out).replace(f"{scratch}/new", str(out))
        raise NotWritten(f'"{place}" cannot be written: {why(error)}') from error
    finally:
        if scratch:
            shutil.rmtree(made, ignore_errors=True)
            with contextlib.suppress(OSError):
                scratch.rmdir()  # not empty where the old folder could not be put back


def swap(made, out, old, force):
    """Puts `made` in the place of `out`, which goes to `old` first, and back where it may not be removed after all."""
    if not os.path.lexists(out):
        os.rename(made, out)
        return
    if not force:
        raise NotWritten(f'"{out}" was made by another while this ran')
    os.rename(out, old)
    try:
        check_ours(old, out)  # what others have written in the meantime
        os.rename(made, out)
    except BaseException:
        os.rename(old, out)
        raise
    shutil.rmtree(old)
