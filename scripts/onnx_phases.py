"""Phases of an ONNX model: a prompt, some tokens at a time, then one token at a time. `cleave run DIR` and `cleave verify MODEL
DIR` of a folder of `split --phase`.

The phase that takes the most tokens reads the prompt, in as many calls as it takes; the one that takes the fewest makes the new
tokens, each the id with the largest logit. A phase may have fixed sizes. Then the first call has padding before its tokens, a
state is given by its last entries, with zeros before them, and the mask tells what is filled: so phases of different sizes hand
state over to each other.

Each phase's partitions are compared call by call with its root (`run`), or both with the model on the same inputs (`verify`),
which also runs the model as it is, without padding: it must choose the same ids, with logits that are within 1e-5,
of the largest where that is more than 1: a small one is a sum of large terms, which padding rounds otherwise.

Of the inputs --inputs gives the ids alone: mask, positions and state follow from them.
"""

import math
import statistics

import numpy as np

import child
import guard
from chains import tell_outputs
from comparing import Tolerance, array_of, chosen, compare, content_of_array, largest_of
from guard import CannotRun, WrongUsage, counted
from onnx_chain import (
    OF_PROVIDER,
    Verification,
    check_model,
    given_inputs,
    is_half,
    original_of,
    provider_of,
    settings_of,
)
from onnx_steps import Loop, chain_loop, root_loop, whole_loop
from ort_inputs import of_split, open_original
from ort_state import ONE_TOKEN, STATE, Steps, value_of
from reports import DIFFERS, NOT_RUN, Report, Row, time_text

PHASES = {"phases": [{"name": str, "root": guard.FileName, "tokens?": (int, None), "dims?": {"*": guard.Size}, **guard.PARTS}]}
WITH_STATE = {"phases": [{**STATE, "partitions": [{"is_acc": bool, "target?": str}]}]}
OF_PADDING = 1e-5  # rtol, and atol as a share of the largest logit
NEW, PROMPT = 16, 23  # tokens, where nothing else is said
IDS = "generated_ids"  # in the file of --outputs


class NoTokens(CannotRun):
    """The model does not make tokens, one after the other."""


class Phase:
    """A way to call the model. `tokens`: that a call takes; None: as many as there are. `states`: of all loops, which phases hand
    over. `place`: of the phase in a manifest, for faults; "": it is of none."""

    original: Loop
    compared: list[Loop]  # with it: the root, for `verify`, and last the chain

    def __init__(self, options, session, manifest, tokens, states, place=""):
        bound = manifest.get("dims", {})
        check_dims(dict(options.dim), bound, manifest)
        dims, _ = of_split(session, manifest, dict(options.dim), {})
        self.steps = Steps(session, manifest, {**dims, **bound}, {}, options.seed)
        self.name, self.tokens = manifest.get("name", ""), tokens
        if self.steps.ids is None:
            raise NoTokens("has no input of token ids, or no logits")
        if (free := self.steps.declared[self.steps.ids].shape[1]) in dict(options.dim) and free not in bound:
            raise WrongUsage(f"--dim {free}={dict(options.dim)[free]}: is not used: as many tokens are read as the prompt has (--inputs)")
        batch = self.steps.declared[self.steps.ids].shape[0]
        self.batch = self.steps.dims.get(batch, 1) if isinstance(batch, str) else batch  # prompts of one length
        if place:
            self.check_tokens(place)
        self.steps.begin(ONE_TOKEN, False)
        for state in states:
            for name, value in self.steps.first().items():
                state.setdefault(name, value)

    def check_tokens(self, place):
        """Raises BadFile where the model takes another number of tokens than the manifest says."""
        steps = self.steps
        dim = steps.declared[steps.ids].shape[1]
        size = dim if isinstance(dim, int) else steps.dims.get((steps.ids, 1), steps.dims.get(dim))
        if self.tokens != size:
            said = "not there" if self.tokens is None else self.tokens
            takes = "any number of them" if size is None else counted(size, "token")
            raise guard.BadFile(f'{place}.tokens: is {said}, and "{steps.ids}" of the phase "{self.name}" takes {takes}')

    def feeds(self, ids, pads, seen):
        """The Values of a call but the state. `ids`: an array with a row for each prompt."""
        steps, name = self.steps, self.steps.ids
        dim = steps.declared[name].shape[1]
        if isinstance(dim, str):
            steps.dims[dim] = ids.shape[1]
        steps.given = {name: value_of(ids, steps.declared[name].type)}
        steps.begin(ONE_TOKEN, False)
        steps.seen = seen
        return steps.at(seen, pads)


def check_dims(asked, bound, manifest):
    """Raises WrongUsage for sizes that a phase was not split with."""
    guard.check_dims(asked, bound, f'the phase "{manifest.get("name")}"')


def room_of(phase):
    """How many entries the state holds after a call of the phase."""
    return min((pair.size + (phase.tokens or 1) for pair in fixed_pairs(phase)), default=math.inf)


def fixed_pairs(phase):
    return [pair for pair in phase.steps.pairs if pair.is_long and pair.size is not None]


def end_text(phase, made, asked, prompt):
    """Why fewer tokens are made than were asked for."""
    pair = min(fixed_pairs(phase), key=lambda one: one.size)
    dim = phase.steps.declared[pair.input].shape[pair.axis]
    size = f"{dim}={pair.size}" if isinstance(dim, str) else f"a size of {pair.size}"
    return (f'{made} of {counted(asked, "token")} {"is" if made == 1 else "are"} made, since the state holds {room_of(phase)} entries: '
            f'"{pair.input}" of the phase "{phase.name}" was split at {size}, and the prompt takes {prompt}')  # fmt: skip


def reader_of(phases):
    """The Phase that reads the prompt: the one that takes the most tokens."""
    return max(phases, key=lambda one: one.tokens or math.inf)


def maker_of(phases):
    """The Phase that makes the new tokens: the one that takes the fewest."""
    return min(phases, key=lambda one: one.tokens or math.inf)


def calls_of(phases, prompt):
    """The calls that read the prompt, an array with a row for each of a batch: (Phase, ids, how many of a row are padding)."""
    phase, length = reader_of(phases), prompt.shape[1]
    size = phase.tokens or length
    pads = -length % size
    padded = np.pad(prompt, ((0, 0), (pads, 0)))
    return [(phase, padded[:, i : i + size], 0 if i else pads) for i in range(0, length + pads, size)]


def generate(phases, prompt, new, call):
    """The new ids, a row for each prompt. `call`(phase, feeds): makes a call, and gives the logits, None where nothing is to follow."""
    last = maker_of(phases)
    if (last.tokens or 1) != 1:
        raise CannotRun(f"no phase takes one token: the smallest takes {last.tokens}")
    seen, made, pending = 0, [], calls_of(phases, prompt)
    while pending:
        phase, ids, pads = pending.pop(0)
        logits = call(phase, phase.feeds(ids, pads, seen))
        if logits is None:
            return None
        seen += ids.shape[1] - pads
        if not pending:
            made.append(logits[:, -1].argmax(-1)[:, None])
            if len(made) < new:
                pending.append((last, made[-1], 0))
    return np.concatenate(made, 1)


def prompt_of(options, reader, path, room):
    """The ids of the prompts, a row for each: those of --inputs, else random ones. They fill all calls of the phase that reads them
    if the model would take padding for tokens."""
    steps, size = reader.steps, 1 if reader.steps.tells_padding() else reader.tokens or 1
    inputs = given_inputs(options, path)
    unknown = [name for name in inputs if name not in steps.declared]
    if unknown:
        raise WrongUsage(f"the model has no input {guard.listed(unknown)} (it has: {', '.join(steps.declared)})")
    unused = [name for name in inputs if name != steps.ids]
    if unused:
        raise WrongUsage(f'{guard.listed(unused)} cannot be given: phases are given the ids, "{steps.ids}", alone; mask, positions and '
                         "state are made from them, and other inputs are drawn")  # fmt: skip
    given = inputs.get(steps.ids)
    if given is None:
        length = min(PROMPT, max(1, room - NEW // 2))
        length = max(size, length - length % size)
        shape = guard.size_of_draw(steps.ids, (reader.batch, length))
        return np.random.default_rng(options.seed).integers(0, steps.vocabulary, shape)
    ids = given.plain()
    if ids.dtype.kind not in "iu":
        raise WrongUsage(f'--inputs: "{steps.ids}" is an array of {ids.dtype.name}, and must be one of whole numbers, as int64')
    if ids.ndim != 2 or len(ids) != reader.batch or not ids.size:
        rows = "one row" if reader.batch == 1 else f"{reader.batch} rows"
        raise WrongUsage(f'--inputs: "{steps.ids}" must have {rows} of ids')
    if not 0 <= ids.min() <= ids.max() < steps.vocabulary:
        wrong = ids.max() if ids.min() >= 0 else ids.min()
        raise WrongUsage(f'--inputs: "{steps.ids}" has the id {wrong}, and the model has {counted(steps.vocabulary, "id")}, from 0')
    if ids.shape[1] % size:
        raise WrongUsage(f'--inputs: "{steps.ids}" has {counted(ids.shape[1], "id")}, and must have a multiple of {size}: that many are '
                         "read at a time, and the model has no mask and positions, by which padding is told from tokens")  # fmt: skip
    return ids


def apart(options, model, manifests, has_state=False):
    """The Report of phases of a model that makes no tokens: each is a split by itself, and makes one call."""
    if options.steps:
        lack = "token ids and logits, and this one lacks them" if has_state else "state, and this one has none"
        raise WrongUsage(f"{options.folder}: --steps is for models with {lack}: each phase makes one call")
    report = Report([], ran="" if model else f"ran: {counted(len(manifests), 'phase')}")
    if has_state:
        report.notes.append("the model makes no tokens: each phase makes one call, with a state of its own")
    for manifest in manifests:
        path = model or options.folder / manifest["root"]
        if model:
            check_model(model, options.folder, manifest["root"], manifest)
        dims = {**dict(options.dim), **manifest.get("dims", {})}
        check_dims(dict(options.dim), manifest.get("dims", {}), manifest)
        original = original_of(path, manifest, dims, given_inputs(options, path), options.seed, is_root=model is None)
        tolerance, provider = chosen(options, None), provider_of(options.ep)
        split = Verification(original, options.folder, manifest, tolerance, provider, manifest["root"])
        rows = split.rows() if model else split.chain_rows()
        for row in rows:
            row.what = f"{manifest['name']}: {row.what}"
            row.source = row.source and f"{manifest['name']}: {row.source}"
        report.rows += rows
        report.outputs = len(original.wanted)
    return report


def generated(options, model):
    """The Report. `model`: the path of the model; None: each phase is held against its own root."""
    folder, provider = options.folder, provider_of(options.ep)
    if options.times or getattr(options, "overlap", False):
        raise WrongUsage(f"{folder}: has phases, which --times and --overlap are not for: --steps says how many tokens are made")
    phases, whole, parts, held, roots = [], {}, {}, {}, {}  # states of the loops
    manifests = guard.read_json(folder / "manifest.json", PHASES)["phases"]
    guard.check_once(folder / "manifest.json", "phases: the name", [one["name"] for one in manifests])
    if not any("state" in manifest for manifest in manifests):
        return apart(options, model, manifests)
    guard.Checked(folder / "manifest.json")({"phases": manifests}, WITH_STATE)
    ran = "" if model else f"ran: {counted(len(manifests), 'phase')}"
    report = Report([], ran=ran, each="token", calls=options.steps or NEW)
    for i, manifest in enumerate(manifests):
        root = folder / manifest["root"]
        path = model or root
        if model:
            check_model(model, folder, root.name, manifest)
        settings = settings_of(path, manifest["partitions"])
        child.tell(child.ORIGINAL)
        session = open_original(path, settings)
        place = f"{folder / 'manifest.json'}: phases[{i}]"
        try:
            phase = Phase(options, session, manifest, manifest.get("tokens"), (whole, parts, held, roots), place)
        except NoTokens:
            return apart(options, model, manifests, has_state=True)
        chain, rows = chain_loop(options, manifest, phase.steps, path, settings, provider, (parts, held))
        chain.row.what = chain.row.source = f"{manifest['name']}: {chain.row.what}"
        phase.original = whole_loop(session, phase.steps, state=whole)
        phase.compared = [*([root_loop(root, phase.steps, settings, chosen(options), roots)] if model else []), chain]
        report.rows += [*(loop.row for loop in phase.compared[:-1]), *rows, chain.row]
        report.outputs = len(phase.steps.outputs)
        phases.append(phase)
    logits, last = [], {}

    def call(phase, feeds):
        nonlocal last
        wanted = phase.original.step(feeds)
        ends = [loop.compare(len(logits) + 1, wanted, feeds) for loop in phase.compared]
        last = ends[-1]
        logits.append(wanted[phase.steps.logits])
        return None if None in ends else array_of(last[phase.steps.logits])

    room = room_of(maker_of(phases))
    of_prompt = min(room, room_of(reader_of(phases)))
    prompt = prompt_of(options, reader_of(phases), model or folder / manifests[0]["root"], of_prompt)
    length = prompt.shape[1]
    if length > of_prompt:
        raise CannotRun(f"the prompt has {counted(length, 'token')}, and the state of the phases holds {of_prompt}")
    if length + report.calls - 1 > room:
        report.calls, report.asked = room - length + 1, report.calls
        report.notes.append(end_text(maker_of(phases), report.calls, report.asked, length))
    ids = generate(phases, prompt, report.calls, call)
    report.facts.append(("prompt tokens", f"{length}, in {counted(len(calls_of(phases, prompt)), 'call')}"))
    if len(prompt) > 1:
        report.facts.append(("batch", f"{len(prompt)} prompts of one length"))
    for phase in phases:
        seconds = phase.compared[-1].seconds
        if seconds:
            report.facts.append((phase.name, f"{time_text(statistics.median(seconds))} a call"))
        for loop in phase.compared if not seconds else []:
            loop.row.ran = "no"
            if model and ids is not None:
                loop.row.fault(NOT_RUN, "no token was left for it: give a shorter prompt (--inputs), or more --steps")
    called = sum(bool(phase.compared[-1].seconds) for phase in phases)
    if not model and called < len(phases):
        report.ran = f"ran: {called} of {counted(len(phases), 'phase')}"
    if ids is not None:
        report.facts += [("ids", " ".join(map(str, row[:12])) + (" ..." if len(row) > 12 else "")) for row in ids.tolist()]
        if not model:
            tell_outputs(report, options, {IDS: content_of_array(ids), **last})
    if model and ids is not None:
        report.rows.append(open_row(options, model, manifests[0]["state"], prompt, ids, logits[len(calls_of(phases, prompt)) - 1 :]))
    return report


def open_row(options, model, state, prompt, ids, logits):
    """The row about the model as it is, without padding: it must choose the same ids. `state`: the pairs of a manifest; `logits`:
    contents of those that chose them."""
    row = Row("the model without padding", source="the model without padding, which chooses the same ids")
    child.tell(child.ORIGINAL)
    session = open_original(model)
    batches = {one.shape[0] for one in session.get_inputs() if one.shape and isinstance(one.shape[0], str)}
    bound = dict.fromkeys(batches, len(prompt))
    whole = Phase(options, session, {"partitions": [], "state": state, "dims": bound}, None, ({},))
    loop, last = whole_loop(session, whole.steps, row), []

    def call(one, feeds):
        made = loop.step(feeds)
        last.append(array_of(made[one.steps.logits])[:, -1])
        return last[-1][:, None]

    own = generate([whole], prompt, ids.shape[1], call)
    wanted, made = content_of_array(np.concatenate(last)), content_of_array(np.concatenate([array_of(one)[:, -1] for one in logits]))
    near = Tolerance(OF_PADDING, OF_PADDING * max(1.0, largest_of(array_of(wanted))))
    compare(row, {"logits": wanted}, {"logits": made}, chosen(options, OF_PROVIDER if is_half(wanted) else near))
    row.ran = "yes"
    if (own != ids).any():
        at, prompt_at = np.argwhere((own != ids).T)[0]
        row.fault(DIFFERS, f"token {at + 1} is {own[prompt_at, at]}, and the phases choose {ids[prompt_at, at]}")
    return row


def run(options):
    """The Report of `cleave run` on phases."""
    return generated(options, None)


def verify(options):
    """The Report of `cleave verify` on phases."""
    return generated(options, options.model)
