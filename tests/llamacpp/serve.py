"""Serves a GGUF model with llama.cpp's own HTTP server until it is stopped.

usage: serve.py MODEL ADDRESS_FILE

The server picks a free port of 127.0.0.1; its address is written to ADDRESS_FILE
once it responds.
"""

import os
import signal
import sys

import xllamacpp


def main():
    model, address_file = sys.argv[1:]
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {"smollm2"}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = 2048
    params.n_parallel = 1
    # On a busy machine threads that wait for each other are slow; a single one is not.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.ui = False
    params.sampling.seed = 1
    server = xllamacpp.Server(params)
    # Written atomically: a reader must never see half an address.
    with open(address_file + ".part", "w", encoding="utf-8") as file:
        file.write(server.listening_address.removeprefix("http://"))
    os.replace(address_file + ".part", address_file)
    # A signal ends the process; the server's threads need no cleanup.
    signal.pause()


if __name__ == "__main__":
    main()
