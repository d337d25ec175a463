"""Serve a GGUF file on loopback; run by the Python that has llama.cpp.

    python serve.py MODEL.gguf NAME PORT [TEMPLATE.jinja]

Without a template it takes no functions, like many a server. It serves for as long as its
standard input is open, so that it never outlives who started it.
"""

import sys
from pathlib import Path

import xllamacpp

SLOTS = 2
"""Prompts that are kept: that of deciding and that of phrasing don't push each other out."""
CONTEXT = SLOTS * 6144
THREADS = 2


def parameters(model: str, name: str, port: str, template: str = "") -> xllamacpp.CommonParams:
    """What makes answers repeat: the likeliest token, a fixed seed."""
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {name}
    params.hostnames = ["127.0.0.1"]
    params.port = int(port)
    params.n_ctx = CONTEXT
    params.n_parallel = SLOTS
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = THREADS
    params.use_jinja = bool(template)
    if template:
        params.chat_template = Path(template).read_text(encoding="utf-8")
    params.ui = False
    params.sampling.temp = 0.0
    params.sampling.seed = 42
    return params


if __name__ == "__main__":
    server = xllamacpp.Server(parameters(*sys.argv[1:]))
    print("ready", flush=True)
    sys.stdin.read()
