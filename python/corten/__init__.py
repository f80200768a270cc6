"""From a PyTorch model to an Arm Cortex-M microcontroller.

    exported = torch.export.export(model.eval(), example_inputs)
    program = corten.compile(exported, target="cortex-m55", calibration=loader)
    program(x)                  # the core's bytes, on the host
    program.save("build/kws")
"""
from importlib.metadata import version as _version

from ._calibrate import calibrate
from ._compile import Target, compile, targets
from ._errors import CompileError, CompileWarning, Diagnostic, InputTypeError
from ._explain import Explanation, explain
from ._program import CommandError, Program, load
from ._results import Bench, BoardValues, Comparison, Summary, TensorInfo

__version__ = _version("corten")
__all__ = [
    "Bench", "BoardValues", "CommandError", "Comparison", "CompileError", "CompileWarning", "Diagnostic", "Explanation", "InputTypeError",
    "Program", "Summary", "Target", "TensorInfo", "calibrate", "compile", "explain", "load", "targets",
]  # fmt: skip
for _name in __all__:  # messages and pickles name what people import
    globals()[_name].__module__ = __name__
