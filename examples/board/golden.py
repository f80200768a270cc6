"""golden.py FOLDER DATA.npz [SAMPLES]: writes FOLDER/golden.h, inputs as the core takes them and the outputs that the host gives.

FOLDER is what `corten compile` or `program.save` wrote. For programs with one int8 input and one int8 output.
"""
import sys
from pathlib import Path

import corten
import numpy as np


def rows(values):
    return "\n".join("  {" + ", ".join(map(str, row.ravel())) + "}," for row in values)


def main():
    folder, data, samples = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 4
    program = corten.load(folder)
    (given,), (made,), report = program.inputs, program.outputs, program.report()
    reals = np.load(data)["in0"][:samples].reshape(samples, *given.shape)
    quantised = np.clip(np.round(reals / given.scale) + given.zero_point, -128, 127).astype(np.int8)
    outputs = [program(one, raw=True).reshape(made.shape) for one in quantised]
    # To the device's order: channels last.
    inputs = [one.transpose(report["inputs"][0]["perm"]) for one in quantised]
    outputs = [one.transpose(report["outputs"][0]["perm"]) for one in outputs]
    (folder / "golden.h").write_text(
        "#pragma once\n#include <stdint.h>\n"
        f"static constexpr uint32_t kSamples = {samples};\n"
        f"static const int8_t kInput[kSamples][{inputs[0].size}] = {{\n{rows(inputs)}\n}};\n"
        f"static const int8_t kExpected[kSamples][{outputs[0].size}] = {{\n{rows(outputs)}\n}};\n"
    )


if __name__ == "__main__":
    main()
