#!/usr/bin/env python3
"""`split --pipeline genai`: onnxruntime-genai generates the ids of the model, part by part.

usage: genai_test.py PROJECT CLEAVE      exit status 1 if a test fails
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
import onnxruntime_genai

PROJECT, CLEAVE = (Path(argument).resolve() for argument in sys.argv[1:3])
MODEL, PROMPT, STEPS = PROJECT / "samples" / "decoder.onnx", [5, 9, 3, 7, 11, 2], 32


def generated(folder):
    model = onnxruntime_genai.Model(str(folder))
    options = onnxruntime_genai.GeneratorParams(model)
    options.set_search_options(max_length=len(PROMPT) + STEPS, do_sample=False)
    generator = onnxruntime_genai.Generator(model, options)
    generator.append_tokens(np.array(PROMPT, np.int32))
    ids = []
    while not generator.is_done() and len(ids) < STEPS:
        generator.generate_next_token()
        ids.append(int(generator.get_next_tokens()[0]))
    return ids


def expected():
    session = onnxruntime.InferenceSession(str(MODEL))
    names = [output.name for output in session.get_outputs()]
    past = {value.name: np.zeros((1, 2, 0, 8), np.float32) for value in session.get_inputs() if "past" in value.name}
    ids, seen, new = [], 0, PROMPT
    while len(ids) < STEPS:
        seen += len(new)
        feeds = {"input_ids": np.array([new]), "attention_mask": np.ones((1, seen), np.int64),
                 "position_ids": np.arange(seen - len(new), seen)[None], **past}
        made = dict(zip(names, session.run(None, feeds)))
        new = [int(made["logits"][0, -1].argmax())]
        past = {name: made[name.replace("past_key_values", "present")] for name in past}
        ids += new
    return ids


def main():
    wanted = expected()
    for accepted in ("MatMul\nSoftmax\nAdd\n", "*\n", "Concat\n", "Transpose\nReshape\n"):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "list.txt").write_text(accepted)
            command = [CLEAVE, "-q", "split", MODEL, "-s", folder / "list.txt", "--phase=prompt:", "--phase=token:T=1",
                       "--pipeline", "genai:eos_token_id=63,context_length=128", "-o", folder / "out"]
            done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                print(done.stderr)
                return 1
            model = json.loads((folder / "out" / "genai_config.json").read_text())["model"]
            found = generated(folder / "out")
            end = wanted[:wanted.index(63) + 1] if 63 in wanted else wanted
            if found[:len(end)] != end or model["eos_token_id"] != 63:
                print(accepted, found, end)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
