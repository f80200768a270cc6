"""How a user with a type checker writes against the package; test_typing.py has mypy look at it."""
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch

import corten
from corten.quantizer import CortenQuantizer, QuantizationConfig, get_symmetric_quantization_config


def batches() -> Iterator[dict[str, torch.Tensor]]:
    for _ in range(4):
        yield {"x": torch.randn(8, 6)}


def deploy(model: torch.nn.Module, folder: Path) -> int:
    exported = torch.export.export(model.eval(), (torch.randn(1, 6),))
    explanation: corten.Explanation = corten.explain(exported, target="cortex-m55", optimize="speed")
    macs: list[int | None] = [row["macs"] for row in explanation.rows]
    try:
        program: corten.Program = corten.compile(exported, target="cortex-m55", calibration=batches(), progress=False)
    except corten.CompileError as error:
        for d in error.diagnostics:
            print(d.severity, d.file, d.line, d.message, d.help)
        raise
    info: corten.TensorInfo = program.inputs[0]
    shape: tuple[int, ...] = info.shape
    bench: corten.Bench = program.bench("qemu")
    saved: Path = program.save(folder)
    image: bytes = corten.load(saved).image
    return bench.instructions + len(image) + len(shape) + len(macs) + program.summary().arena_bytes


def quantizer() -> CortenQuantizer:
    config: QuantizationConfig = get_symmetric_quantization_config(is_qat=True)
    return CortenQuantizer().set_global(config).set_module_type(torch.nn.Linear, None).set_filter_function(lambda node: True)


def judge(program: corten.Program, model: torch.nn.Module) -> float | None:
    def spread(outputs: torch.Tensor, labels: torch.Tensor) -> dict[str, float]:
        return {"mean": float(outputs.mean()), "samples": float(len(labels))}

    comparison: corten.Comparison = program.compare(model, batches(), metrics=["top1", spread], board="qemu", rank=True)
    values: corten.BoardValues = program.decode("uart.log")
    worst: list[dict[str, object]] = comparison.ranking
    print(worst, values.arrays, comparison.metrics["top1"]["host"], comparison.board_equal, comparison.first_difference)
    return comparison.top1_int8
