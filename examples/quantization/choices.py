"""choices.py MODEL.pt2 CALIB.npz EVAL.npz [MODULE...]: what each choice of docs/choices.md does to a float classifier of one input.

Prints a line for each: SQNR of the output against float32 over EVAL's samples, share of the same top-1, top-1 accuracy.
MODULE: keeps such a module float in PyTorch, each by itself.
"""
import copy
import dataclasses
import sys

import corten
import numpy as np
import torch
from corten.quantizer import CortenQuantizer, get_symmetric_quantization_config
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

TARGET = "cortex-m55"


def loaded(path):
    """Inputs as (N, 1, ...) tensors, labels or None."""
    with np.load(path) as z:
        return torch.from_numpy(z["in0"]).float(), z["labels"].ravel() if "labels" in z.files else None


def show(what, outputs, wanted, labels):
    """outputs, wanted: (N, classes)"""
    outputs, wanted = outputs.reshape(len(outputs), -1), wanted.reshape(len(wanted), -1)
    error = np.square(wanted - outputs).sum()
    sqnr = 10 * np.log10(np.square(wanted).sum() / error) if error else np.inf
    same = 100 * (outputs.argmax(1) == wanted.argmax(1)).mean()
    right = "" if labels is None else f"{100 * (outputs.argmax(1) == labels).mean():8.2f} %"
    print(f"{what:44}{sqnr:6.1f} dB{same:8.2f} %{right}", flush=True)


def pt2e(exported, config, samples, kept_float=None):
    """The program with PyTorch's own scales; `samples` give those that PyTorch does not."""
    graph = copy.deepcopy(exported).module()
    quantizer = CortenQuantizer().set_global(config)
    if kept_float:
        quantizer.set_module_name(kept_float, None)
    prepared = prepare_pt2e(graph, quantizer)
    corten.calibrate(prepared, samples)
    quantised = torch.export.export(convert_pt2e(prepared), exported.example_inputs[0])
    return corten.compile(quantised, target=TARGET, calibration=samples)


def symmetric(config):
    """Activations with zero point 0."""
    activation = dataclasses.replace(config.activation, qscheme=torch.per_tensor_symmetric, quant_min=-127)
    return dataclasses.replace(config, activation=activation)


def main():
    model, (calibration, _), (images, labels) = sys.argv[1], loaded(sys.argv[2]), loaded(sys.argv[3])
    exported = torch.export.load(model)
    shape = exported.example_inputs[0][0].shape
    calibration, images = (x.reshape(-1, *shape[1:]) for x in (calibration, images))
    with torch.no_grad():
        wanted = torch.cat([exported.module()(x[None]) for x in images]).numpy()

    def evaluate(what, program):
        show(what, np.asarray(program(images)), wanted, labels)

    print(f"{'':44}{'SQNR':>6}   {'same top-1':>10}{'accuracy':>10}")
    show("float32", wanted, wanted, labels)
    for observer in ("minmax", "mse", "auto"):
        evaluate(f"observer {observer}", corten.compile(model, target=TARGET, calibration=calibration, observer=observer))
    for count in (1, 4, 16, 64, 256):
        if count < len(calibration):
            spread = calibration[:: len(calibration) // count][:count]
            evaluate(f"auto, {count} samples", corten.compile(model, target=TARGET, calibration=spread))
    for what, samples in (("auto, half the range", calibration / 2), ("auto, twice the range", calibration * 2)):
        evaluate(what, corten.compile(model, target=TARGET, calibration=samples))
    noise = torch.randn(len(calibration), *shape[1:], generator=torch.Generator().manual_seed(0))
    evaluate("auto, normal noise as data", corten.compile(model, target=TARGET, calibration=noise))
    channel, tensor = (get_symmetric_quantization_config(is_per_channel=p) for p in (True, False))
    evaluate("PT2E per channel, asymmetric", pt2e(exported, channel, calibration))
    evaluate("PT2E per tensor, asymmetric", pt2e(exported, tensor, calibration))
    evaluate("PT2E per channel, symmetric activations", pt2e(exported, symmetric(channel), calibration))
    for module in sys.argv[4:]:
        program = pt2e(exported, channel, calibration, module)
        evaluate(f"PT2E, {module} float, {len(program.report()['steps'])} steps", program)


if __name__ == "__main__":
    main()
