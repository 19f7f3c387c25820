#!/usr/bin/env python3
"""Prints standard input without what differs from run to run: times, hashes, and where lines break for their lengths.

usage: COMMAND | untimed.py

A time becomes TIME. Of JSON the members "seconds", "backend_seconds" and "hash" are left
out, and of fractions all but six digits.
"""
import json
import re
import sys

LEFT_OUT = ("seconds", "backend_seconds", "hash", "durationMs")


def without_times(content):
    if isinstance(content, dict):
        return {key: without_times(value) for key, value in content.items() if key not in LEFT_OUT}
    if isinstance(content, list):
        return [without_times(one) for one in content]
    return float(f"{content:.6g}") if isinstance(content, float) else content


def line_of(content, indent=""):
    """JSON in lines of up to 110 columns, where it can be."""
    text = json.dumps(content, ensure_ascii=False)
    if len(indent) + len(text) <= 110 or not isinstance(content, (dict, list)) or not content:
        return text
    if isinstance(content, dict):
        items = [f"{json.dumps(key)}: {line_of(value, indent + ' ')}" for key, value in content.items()]
        return "{" + f",\n{indent} ".join(items) + "}"
    return "[" + f",\n{indent} ".join(line_of(one, indent + " ") for one in content) + "]"


def plain(text):
    if text.startswith("{"):
        lines = text.splitlines() if text.count("\n{") else [text]
        return "\n".join(line_of(without_times(json.loads(line))) for line in lines) + "\n"
    text = re.sub(r"\b[0-9][0-9.,]* (ns|us|ms|s)\b", "TIME", text)
    text = re.sub(r'(time|timestamp)="[^"]*"', r'\1="TIME"', text)
    text = re.sub(r"(?<!\n)\n {2,}(?! *<)", " ", text)
    return re.sub(r"(?<=\S) {2,}", "  ", text)


if __name__ == "__main__":
    sys.stdout.write(plain(sys.stdin.read()))
