#!/usr/bin/env python3
"""A decoder's cache stays on the device that writes it: latency and bytes of a real export, against numbers by hand.

usage: state_test.py CLEAVE LIST MODEL     MODEL: the decoder with 4 layers of 4 heads of 32, with its cache
exit status 1 when a number is more than 1% off
"""

import json
import subprocess
import sys
from pathlib import Path

LAYERS, HEADS, WIDTH, WORDS = 4, 4, 32, 4000
LINK = 4 * 1.969e9  # gen4x4
LAUNCH = 20.0
# By hand: work of the model on the accelerator, without launch and link.
BY_HAND = {16: 136, 512: 304, 4096: 1518}


def preview(cleave, support, model, past, *more):
    command = [cleave, "preview", model, "-s", support, "--json", "--dim", "B=1", "--dim", "T=1", "--dim", f"P={past}",
               "--pcie-bw", "gen4x4", "--target", "acc:flops=4TFLOP/s,bandwidth=50GB/s,launch=20us",
               "--target", "cpu:flops=100GFLOP/s,bandwidth=20GB/s", *more]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def near(is_, wanted):
    return abs(is_ - wanted) <= 0.01 * wanted


def main():
    cleave, support, model = sys.argv[1:4]
    if not Path(model).exists():
        print("skipped: there is no such model here")
        return 77
    faults = 0

    def check(is_right, what):
        nonlocal faults
        faults += not is_right
        if not is_right:
            print("FAILED ", what)

    for past, by_hand in BY_HAND.items():
        report = preview(cleave, support, model, past)
        latency = report["latency"]
        crossing = 8 + 4 * WORDS  # the token in, logits out
        check(report["partitions"][0]["input_bytes"] == 8, f"P={past}: bytes in")
        check(report["partitions"][0]["output_bytes"] == 4 * WORDS, f"P={past}: bytes out")
        check(near(latency["link_us"], crossing / LINK * 1e6), f"P={past}: link {latency['link_us']}")
        check(near(latency["total_us"], latency["acc_us"] + LAUNCH + crossing / LINK * 1e6), f"P={past}: sum")
        check(near(latency["total_us"], by_hand), f"P={past}: {latency['total_us']} us, by hand {by_hand}")
        check(len(report["state"]) == 2 * LAYERS, f"P={past}: pairs")
        for pair in report["state"]:
            check(pair["bytes"] == HEADS * (past + 1) * WIDTH * 4, f"P={past}: bytes of {pair['input']}")
            check((pair["kind"], pair["axis"]) == ("grows", 2), f"P={past}: kind of {pair['input']}")
        without = preview(cleave, support, model, past, "--state", "off")
        caches = 2 * LAYERS * HEADS * WIDTH * 4 * (2 * past + 1)
        more = without["latency"]["link_us"] - latency["link_us"]
        check(near(more, caches / LINK * 1e6), f"P={past}: --state off costs {more} us more")
        check("state" not in without, f"P={past}: --state off still has state")
    print(f"{faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
