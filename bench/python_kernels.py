#!/usr/bin/env python3
"""Compiles ahead, without a GPU, the kernels that bench/python_device.sh wants, into one archive.

    python_kernels.py [--build build] [--arch sm_90a] [--only tests|networks]

From the repository's root, after a build with -DCONVT_JIT_BUILD_PYTHON=ON, with a python3 that has torch (2.4 or
later) and pytest, on all cores. Writes BUILD/python-kernels.tar.gz, which python_device.sh unpacks. Kernels that are
there and still fit are not compiled again; others stay in the archive until BUILD/python-kernels is deleted. Run it
once more after each change of templates or plans. The NVRTC must be the one of the machine with the GPU, as it is part
of every kernel's key (docs/cache.md).
"""
import argparse
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tarfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]


def record(file, workers):
    """The layers that the GPU tests ask for, each once."""
    shards = []
    for i in range(workers):
        environment = {**os.environ, "CONVT_TEST_RECORD": f"{file}.{i}", "CONVT_TEST_SHARD": f"{i}/{workers}",
                       "CONVT_JIT_RECORDS": "off"}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "cuda or gpu",
                   str(ROOT / "python/tests")]
        shards.append(subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL))
    layers = set()
    for i, shard in enumerate(shards):
        shard.wait()
        part = pathlib.Path(f"{file}.{i}")
        layers.update(part.read_text().splitlines() if part.exists() else ())
        part.unlink(missing_ok=True)
    return sorted(layers)


def compile_one(job):
    line, arch = job
    from convt_jit import _core, library

    text, batch, sizes = line.split("\t")
    try:
        layer = _core.Layer(text, int(batch), [int(size) for size in sizes.split("x")])
        return [library.engine().compile(layer, arch, plan)[1] for plan in _core.plans(layer, arch)], ""
    except _core.Error as error:
        return [], f"{text}: {error}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--only", choices=("tests", "networks"))
    options = parser.parse_args()
    build = pathlib.Path(options.build).resolve()
    folder = build / "python-kernels"
    os.environ["CONVT_JIT_CACHE_DIR"] = str(folder)
    os.environ["PYTHONPATH"] = str(build / "python/site")
    sys.path.insert(0, os.environ["PYTHONPATH"])  # which processes of a pool inherit
    workers = os.cpu_count() or 1
    begin = time.time()
    if options.only != "networks":
        layers = record(build / "python-layers", workers)
        print(f"{len(layers)} layers recorded, {time.time() - begin:.0f} s", flush=True)
        os.environ["CONVT_JIT_RECORDS"] = "off"  # as the tests have it
        with multiprocessing.get_context("spawn").Pool(workers) as pool:
            made = pool.map(compile_one, [(line, options.arch) for line in layers], chunksize=4)
        del os.environ["CONVT_JIT_RECORDS"]
        origins = [origin for origins, _ in made for origin in origins]
        print(f"{len(origins)} kernels, {origins.count('compiler')} compiled, {time.time() - begin:.0f} s", flush=True)
        for why in sorted({why for _, why in made if why}):
            print(why)
    if options.only != "tests":
        command = [sys.executable, str(ROOT / "bench/python_networks.py"), "--warm", "--arch", options.arch]
        subprocess.run(command, check=True)
    archive = build / "python-kernels.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, "python-kernels")
    print(f"{archive}: {archive.stat().st_size / 1e6:.1f} MB, {time.time() - begin:.0f} s")


if __name__ == "__main__":
    main()
