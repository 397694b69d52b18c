#!/usr/bin/env python3
"""Peak memory and processor time of the compilers of `convt warmup`: all layers in one process, and each in its own.

    bench/warmup_memory.py CONVT LAYERS ARCH[,ARCH...] RESULT.json [DTYPE...]

Needs no GPU. Sizes are of the compiler's process as a whole (VmHWM), so with the program, NVRTC and what it keeps; times
are those of processors (user and system), so that other work on the machine changes them little.
"""
import json
import os
import resource
import subprocess
import sys
import tempfile


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cpu_model():
    with open("/proc/cpuinfo") as lines:
        return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")


def warm(convt, layers, arch, dtype):
    with tempfile.TemporaryDirectory() as cache:
        manifest = os.path.join(cache, "manifest")
        command = [convt, "warmup", "--layers", layers, "--arch", arch, "--jobs", "1", "--dtype", dtype, "--json",
                   "--cache", os.path.join(cache, "kernels"), "--manifest", manifest]
        before = processor_seconds()
        told = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        seconds = processor_seconds() - before
        with open(manifest) as lines:
            families = sorted({json.loads(line)["plan"].split()[0] for line in lines})
    return {"kernels": told["compiled"], "families": families, "peak_mb": round(told["peak_bytes"] / 2**20, 1),
            "processor_seconds": round(seconds, 2)}


def main():
    os.environ["CUDA_CACHE_DISABLE"] = "1"  # NVRTC keeps what it compiled, and what it finds takes no memory
    convt, layers, archs, result, *dtypes = sys.argv[1:]
    dtypes = dtypes or ["f32", "f16"]
    with open(layers) as lines:
        texts = [line for line in lines if line.strip() and not line.startswith("#")]
    alone, together = [], []
    for arch in archs.split(","):
        for dtype in dtypes:
            for text in texts:
                with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as one:
                    one.write(text)
                    one.flush()
                    alone.append({"name": json.loads(text)["name"], "arch": arch, "dtype": dtype,
                                  **warm(convt, one.name, arch, dtype)})
            together.append({"layers": layers, "arch": arch, "dtype": dtype, **warm(convt, layers, arch, dtype)})
    version = subprocess.run([convt, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE, text=True).stdout.strip()
    with open(result, "w") as file:
        json.dump({"cpu": cpu_model(), "processors": os.cpu_count(), "toolkit": version, "commit": commit,
                   "command": " ".join(["bench/warmup_memory.py convt", layers, archs, os.path.basename(result),
                                        *sys.argv[5:]]),
                   "peak_mb": max(item["peak_mb"] for item in alone + together),
                   "together": together, "alone": alone}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
