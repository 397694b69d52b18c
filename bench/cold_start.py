#!/usr/bin/env python3
"""Cold starts of several processes that share an empty cache directory, and the throughput of `convt warmup`.

    bench/cold_start.py CONVT LAYERS ARCH RESULT.json [PROCESSES]

Needs no GPU. Every process wants the same kernels at the same time: how long until the last of them has all, and how
many compiles there were in all of them. Throughput: one compiler over all layers, in kernels per second of a processor.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from warmup_memory import cpu_model, processor_seconds, warm

ROUNDS = 5


def start_together(convt, layers, arch, processes):
    with tempfile.TemporaryDirectory() as cache:
        command = [convt, "warmup", "--layers", layers, "--arch", arch, "--jobs", "1", "--json", "--cache",
                   os.path.join(cache, "kernels")]
        before, begin = processor_seconds(), time.perf_counter()
        running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(processes)]
        told = [json.loads(one.communicate()[0]) for one in running]
        return {"seconds": time.perf_counter() - begin, "processor_seconds": processor_seconds() - before,
                "compiled": sum(one["compiled"] for one in told), "hits": sum(one["hits"] for one in told),
                "failed": sum(one["failed"] for one in told)}


def main():
    os.environ["CUDA_CACHE_DISABLE"] = "1"  # NVRTC keeps what it compiled
    convt, layers, arch, result = sys.argv[1:5]
    many = int(sys.argv[5]) if len(sys.argv) > 5 else 8
    with open(layers) as lines:
        texts = [line for line in lines if line.strip() and not line.startswith("#")]
    starts = []
    for count in (1, 8):  # layers
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as some:
            some.writelines(texts[:count])
            some.flush()
            for processes in (1, many):
                rounds = [start_together(convt, some.name, arch, processes) for _ in range(ROUNDS)]
                starts.append({"kernels": count, "processes": processes,
                               "median_seconds": round(statistics.median(r["seconds"] for r in rounds), 3),
                               "median_processor_seconds":
                                   round(statistics.median(r["processor_seconds"] for r in rounds), 3),
                               "compiled": [r["compiled"] for r in rounds], "hits": [r["hits"] for r in rounds],
                               "failed": sum(r["failed"] for r in rounds)})
    whole = warm(convt, layers, arch, "f32")
    version = subprocess.run([convt, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE, text=True).stdout.strip()
    with open(result, "w") as file:
        json.dump({"cpu": cpu_model(), "processors": os.cpu_count(), "toolkit": version, "commit": commit,
                   "command": " ".join(["bench/cold_start.py convt", layers, arch, os.path.basename(result),
                                        *sys.argv[5:]]),
                   "cold_starts": starts,
                   "throughput": {**whole, "kernels_per_processor_second":
                                  round(whole["kernels"] / whole["processor_seconds"], 2)}}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
