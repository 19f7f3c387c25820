"""The worker's side of cleave's worker protocol, which each backend's worker builds on.

One process serves many requests, so that loading the compiler is paid once. Requests and answers are
JSON, one a line, on standard input and output:

    -> {"op": "check" | "compile" | "run" | "capture", "model": "piece.onnx", "out": "prefix", ...}
    <- {"ok": true}    or    {"ok": false, "stage": "compile", "error": "what the compiler says"}

    run      also has "inputs" and "outputs": [{"name", "file"}], each file a TensorProto
    capture  (the reference only) runs the model once and writes each tensor that it makes

The first line that a worker writes is {"ready": NAME, "version": VERSION}. Whatever the compiler prints
goes to standard error. The stage "driver" means that the worker itself is at fault, not the compiler.
"""

import json
import os
import sys
import traceback

MOST_ERROR_CHARACTERS = 60000


class StageError(Exception):
    """What a compiler raised, and in which stage."""

    def __init__(self, stage, error):
        super().__init__(str(error))
        self.stage = stage
        self.error = error


def in_stage(name, function, *arguments, **options):
    """Calls the function; what it raises is a fault of that stage."""
    try:
        return function(*arguments, **options)
    except StageError:
        raise
    except Exception as error:
        raise StageError(name, error) from error


def text_of(error):
    """The message, cut in the middle where it is very long."""
    text = str(error) or type(error).__name__
    if len(text) <= MOST_ERROR_CHARACTERS:
        return text
    half = MOST_ERROR_CHARACTERS // 2
    return text[:half] + "\n...\n" + text[-half:]


def read_tensor(path):
    """The numpy array in a TensorProto file."""
    import numpy as np
    import onnx
    from onnx import numpy_helper

    with open(path, "rb") as file:
        # A copy: some compilers take no array that cannot be written.
        return np.array(numpy_helper.to_array(onnx.TensorProto.FromString(file.read())), order="C")


def write_tensor(path, name, array):
    """Writes the array as a TensorProto. Scalars stay of rank 0."""
    import numpy as np
    from onnx import numpy_helper

    with open(path, "wb") as file:
        file.write(numpy_helper.from_array(np.asarray(array), name).SerializeToString())


def read_inputs(request):
    """Arrays by name, of a "run" request."""
    return {
        one["name"]: in_stage("driver", read_tensor, one["file"]) for one in request["inputs"]
    }


def write_outputs(request, arrays):
    """Writes the outputs of a "run" request. `arrays`: by name."""
    for one in request["outputs"]:
        if one["name"] not in arrays:
            raise StageError("driver", f'the backend has no output "{one["name"]}"')
        in_stage("driver", write_tensor, one["file"], one["name"], arrays[one["name"]])


def match_values(names, declared):
    """The index in `declared` (a set of names for each value of the compiled model) of each of `names`:
    by name where there is one, else by position. Compilers rename values, and give some several."""
    taken = {}
    for i, name in enumerate(names):
        at = next((k for k, those in enumerate(declared) if name in those), None)
        if at is None and len(declared) == len(names):
            at = i
        if at is not None:
            taken[name] = at
    return taken


def serve(name, version, handlers):
    """Answers requests until standard input ends. `handlers`: functions of a request by op."""
    answers = os.dup(1)
    os.dup2(2, 1)

    def answer(content):
        os.write(answers, (json.dumps(content) + "\n").encode())

    answer({"ready": name, "version": version})
    for line in sys.stdin:
        try:
            request = json.loads(line)
            handler = handlers.get(request["op"])
            if handler is None:
                raise StageError("driver", f'this worker has no op "{request["op"]}"')
            answer({"ok": True, **(handler(request) or {})})
        except StageError as fault:
            answer({"ok": False, "stage": fault.stage, "error": text_of(fault.error)})
        except BaseException:  # whatever it is: the worker must answer
            answer({"ok": False, "stage": "driver", "error": traceback.format_exc()[-3000:]})
