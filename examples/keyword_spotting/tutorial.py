# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Keyword spotting, from sound to a microcontroller
#
# We train a small network that hears six words, turn it into 8-bit integers, and count what one inference costs on an Arm
# Cortex-M55 that QEMU emulates. You should know PyTorch; nothing about microcontrollers is assumed. It takes about a minute
# on two cores, after
#
#     scripts/setup.sh test && build/venv/bin/pip install .
#
# A Cortex-M microcontroller runs one program from flash, at 50 to 400 MHz, with some 100 KiB of RAM and no operating system. Two
# budgets matter: **flash** holds code and weights and is only read; **RAM** holds activations and stack. Most of these cores
# calculate many times faster with 8-bit integers than with floats, and some have no floats at all.

# %%
import copy
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import corten
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)  # the same sums in the same order everywhere
torch.use_deterministic_algorithms(True)
rng = np.random.default_rng(0)

# %% [markdown]
# ## Sound
#
# With the environment variable `SPEECH_COMMANDS` the recordings of [Speech Commands](https://arxiv.org/abs/1804.03209) in that
# folder are used. Otherwise `espeak-ng` speaks: each of its voices says each word at another speed and pitch. These voices are
# synthetic: **the accuracy below shows that the way to the board loses nothing, not how well the network would do in your
# kitchen.**

# %%
RATE = 16000  # samples per second; every clip is one second
WORDS = ["yes", "no", "up", "down", "left", "right"]
OTHERS = ["stop", "go", "cat", "bird", "happy", "tree", "house", "seven"]
CLASSES = [*WORDS, "unknown", "silence"]
UNKNOWN, SILENCE = len(WORDS), len(WORDS) + 1
VOICES = (
    "Adam Alex Alicia Andrea Andy Annie Antonio aunty belinda benjamin boris caleb david Denis Diogo ed edward f1 f2 f3 f4 f5 "
    "Gene grandma grandpa Henrique Hugo iven Jacky john klatt Lee Linda m1 m2 m3 m4 m5 m6 m7 m8 Marcelo Marco Mario max Michael "
    "Mike Nguyen Pablo Paul Pedro Quincy rob robert sandro shelby steph Storm travis victor"
).split()
ACCENTS = ["en-us", "en-gb", "en-gb-scotland", "en-gb-x-rp", "en-us-nyc"]
TAKES = 2  # of each of the six words and voice; the other words are said once


def pcm(wav):
    """Samples of a 16-bit mono .wav file as floats in -1..1."""
    return np.frombuffer(wav[44 : len(wav) & ~1], "<i2").astype(np.float32) / 32768


def one_second(wave):
    """Exactly a second: the loudest one of a longer wave, silence around a shorter one."""
    if len(wave) > RATE:
        loudness = np.concatenate([[0], np.cumsum(wave**2)])
        wave = wave[(loudness[RATE:] - loudness[:-RATE]).argmax() :][:RATE]
    before = (RATE - len(wave)) // 2
    return np.pad(wave, (before, RATE - len(wave) - before)).astype(np.float32)


def speak(voice, word, speed, pitch):
    """A word as espeak-ng says it. Its 22,050 samples per second become 16,000 by leaving out the spectrum above 8 kHz."""
    command = ["espeak-ng", "-v", voice, "-s", str(speed), "-p", str(pitch), "--stdout", word]
    wave = pcm(subprocess.run(command, capture_output=True, check=True).stdout)
    length = len(wave) * RATE // 22050
    return one_second(np.fft.irfft(np.fft.rfft(wave)[: length // 2 + 1], length) * length / len(wave))


def synthetic():
    """(speaker, class, wave) of all voices."""
    said = [(word, number) for number, word in enumerate(WORDS)] * TAKES + [(word, UNKNOWN) for word in OTHERS]
    jobs = [
        (name, label, (f"{ACCENTS[n % len(ACCENTS)]}+{name}", word, rng.integers(120, 200), rng.integers(25, 75)))
        for n, name in enumerate(VOICES)
        for word, label in said
    ]
    with ThreadPoolExecutor(4) as pool:
        waves = list(pool.map(lambda job: speak(*job[2]), jobs))
    return [(name, label, wave) for (name, label, _), wave in zip(jobs, waves)]


def recorded(folder):
    """(speaker, class, wave) of Speech Commands: 240 of each word, 40 of each other word; files are <speaker>_nohash_<take>.wav."""
    return [
        (file.name.split("_")[0], WORDS.index(word) if word in WORDS else UNKNOWN, one_second(pcm(file.read_bytes())))
        for word in WORDS + OTHERS
        for file in sorted(Path(folder, word).glob("*.wav"))[: 240 if word in WORDS else 40]
    ]


speech_commands = os.environ.get("SPEECH_COMMANDS")
clips = recorded(speech_commands) if speech_commands else synthetic()
speakers = sorted({speaker for speaker, _, _ in clips})
print(f"{len(clips)} clips of {len(speakers)} {'speakers' if speech_commands else 'synthetic voices'}")

# %% [markdown]
# ## Split by speaker
#
# A quarter of the speakers is held out. If clips were split instead, the network could recognise voices that it knows, and the
# accuracy would flatter it.
#
# Each clip is used twice, each time louder or quieter, up to 0.1 s earlier or later, with some noise; the class `silence` is noise
# alone.

# %%
held_out = set(rng.permutation(speakers)[: len(speakers) // 4])


def augmented(wave):
    gain, noise, shift = 10 ** rng.uniform(-0.7, 0.1), 10 ** rng.uniform(-3.3, -1.7), rng.integers(-1600, 1600)
    return (gain * np.roll(wave, shift) + noise * rng.standard_normal(RATE)).astype(np.float32)


def waves_and_labels(chosen):
    pairs = [(augmented(wave), label) for _, label, wave in chosen * 2]
    pairs += [(augmented(np.zeros(RATE)), SILENCE) for _ in range(len(pairs) // 12)]
    return np.stack([wave for wave, _ in pairs]), torch.tensor([label for _, label in pairs])


train_waves, train_y = waves_and_labels([clip for clip in clips if clip[0] not in held_out])
test_waves, test_y = waves_and_labels([clip for clip in clips if clip[0] in held_out])

# %% [markdown]
# ## Features
#
# 16,000 numbers a second are too many for a small core, and most of them say nothing. The usual features say how much energy
# there is at which pitch, every 20 ms:
#
# 1. cut the second into 49 frames of 40 ms, one every 20 ms, and take the power spectrum of each;
# 2. sum it into 40 bands that widen with frequency, as hearing does (the *mel* scale); take logarithms;
# 3. a cosine transform puts the spectrum's rough shape into few numbers: keep 10. These are called MFCC.
#
# A clip becomes 49 x 10 numbers. One step more matters for what follows: **each of the 10 is scaled to mean 0 and deviation 1**.
# The first one (loudness) varies ten times as much as the last. All of an input's 490 numbers will share one 8-bit scale, so that
# without this step most of the 256 values would go to loudness and few would be left for the rest.

# %%
FRAME, HOP, FFT, BANDS, COEFFICIENTS = 640, 320, 1024, 40, 10


def mel(frequency):
    return 1127 * np.log1p(frequency / 700)


def band_weights():
    """(FFT / 2 + 1, BANDS): overlapping triangles from 20 Hz to 4 kHz."""
    edges = np.linspace(mel(20), mel(4000), BANDS + 2)
    bins = mel(np.fft.rfftfreq(FFT, 1 / RATE))[:, None]
    rising = (bins - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - bins) / (edges[2:] - edges[1:-1])
    return np.clip(np.minimum(rising, falling), 0, None).astype(np.float32)


WINDOW, WEIGHTS = np.hanning(FRAME).astype(np.float32), band_weights()
COSINES = np.cos(np.pi / BANDS * np.outer(np.arange(BANDS) + 0.5, np.arange(COEFFICIENTS))).astype(np.float32)


def mfcc(waves):
    """(N, 16000) -> (N, 49, 10)"""
    frames = np.lib.stride_tricks.sliding_window_view(waves, FRAME, axis=1)[:, ::HOP] * WINDOW
    power = np.abs(np.fft.rfft(frames, FFT)) ** 2
    return (np.log(power @ WEIGHTS + 1e-6) @ COSINES).astype(np.float32)


def features(waves):
    return np.concatenate([mfcc(part) for part in np.split(waves, range(64, len(waves), 64))])


train_x, test_x = features(train_waves), features(test_waves)
mean, deviation = train_x.mean((0, 1)), train_x.std((0, 1))
print("deviation of each coefficient before scaling:", *(f"{d:.3g}" for d in deviation))
train_x, test_x = (torch.from_numpy((x - mean) / deviation)[:, None] for x in (train_x, test_x))
print("training", tuple(train_x.shape), "held-out voices", tuple(test_x.shape))

# %%
figure, axes = plt.subplots(2, 4, figsize=(10, 2.6), layout="constrained")
for column in range(4):
    index = int((train_y == column).nonzero()[0])
    axes[0, column].plot(train_waves[index], linewidth=0.3)
    axes[0, column].set(title=CLASSES[column], xticks=[], yticks=[])
    axes[1, column].imshow(train_x[index, 0].T, aspect="auto", cmap="magma", vmin=-3, vmax=3)
    axes[1, column].set(xticks=[], yticks=[])
axes[0, 0].set_ylabel("wave")
axes[1, 0].set_ylabel("MFCC")
plt.show()

# %% [markdown]
# ## The network
#
# A DS-CNN: one convolution, then blocks of a depthwise (one filter per channel) and a pointwise (1x1) convolution, which need about
# an eighth of the multiplications of an ordinary 3x3 convolution. Batch norm and ReLU cost nothing on the core: they are folded into
# the convolution before them.


# %%
def conv(inputs, outputs, kernel, **options):
    layers = nn.Conv2d(inputs, outputs, kernel, bias=False, **options), nn.BatchNorm2d(outputs), nn.ReLU()
    return nn.Sequential(*layers)


class KeywordNet(nn.Module):
    def __init__(self, width=32, blocks=3):
        super().__init__()
        self.first = conv(1, width, (10, 4), stride=2, padding=(5, 1))
        self.depthwise = nn.ModuleList(conv(width, width, 3, padding=1, groups=width) for _ in range(blocks))
        self.pointwise = nn.ModuleList(conv(width, width, 1) for _ in range(blocks))
        self.drop = nn.Dropout(0.2)
        self.classify = nn.Linear(width, len(CLASSES))

    def forward(self, x):
        x = self.first(x)
        for depthwise, pointwise in zip(self.depthwise, self.pointwise):
            x = depthwise(x)
            x = pointwise(x)
        x = x.mean((2, 3))
        return self.classify(self.drop(x))


def train(model, epochs, peak):
    steps = epochs * -(-len(train_x) // 64)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, peak, total_steps=steps)
    for epoch in range(epochs):
        total = 0.0
        for batch in torch.randperm(len(train_x)).split(64):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(train_x[batch]), train_y[batch])
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item() * len(batch)
        print(f"epoch {epoch + 1:2}: loss {total / len(train_x):.3f}")


def accuracy(model):
    """Percent of the held-out voices' clips."""
    with torch.no_grad():
        return 100 * (model(test_x).argmax(1) == test_y).float().mean().item()


model = KeywordNet().train()
train(model, epochs=12, peak=8e-3)
model.eval()
float_accuracy = accuracy(model)
print(f"float32, held-out voices: {float_accuracy:.1f} %")

# %% [markdown]
# ## Compile
#
# `torch.export` takes the network down as a graph, for one clip at a time: a core hears one clip after the other. Corten needs
# some ordinary inputs besides: it runs them through the network in float and sees which range of values each layer produces; the
# 256 values of an int8 are then spread over that range. This is called calibration. A few hundred samples **of the training data**
# are right. Here it is the DataLoader that training could have used; labels are left out.

# %%
exported = torch.export.export(model, (test_x[:1],))
loader = DataLoader(TensorDataset(train_x[::8], train_y[::8]), batch_size=32)
program = corten.compile(exported, target="cortex-m55", calibration=loader)
print(program.summary())

# %% [markdown]
# Every line is a step on the core. Seven convolutions, a mean and a linear layer are left: batch norms and ReLUs are inside the
# convolutions, dropout is gone. The **image** is what goes to flash: weights, tables, the list of steps. The **arena** is the RAM
# that all activations share; the compiler placed them so that a tensor lies where dead ones were. The lower bound is what the
# hungriest step needs alone. `corten.explain(exported, target="cortex-m55")` lists what became of every node of the graph, and
# says what to do about an operator that is not supported.
#
# `program` can be called like the model. It then runs the very kernels of the core on this machine, with the same bytes as
# result:

# %%
int8_accuracy = accuracy(program)
print(f"held-out voices: float32 {float_accuracy:.1f} %, int8 {int8_accuracy:.1f} %")
assert float_accuracy > (50 if speech_commands else 80) and abs(int8_accuracy - float_accuracy) < 1.5
print("scores of one clip, float32:", *(f"{v:.2f}" for v in model(test_x[:1])[0]))
print("                       int8:", *(f"{v:.2f}" for v in program(test_x[:1])[0]))

# %% [markdown]
# ## Where does it differ?
#
# `compare` runs three programs side by side: float32, the same with rounding but in float arithmetic (*fake_quant*), and the
# integers that the core runs (*host*). Each column in dB is the ratio of signal to error against float32 in a layer's output, with
# the errors of all layers before it: 20 dB is an error of a tenth, 40 dB of a hundredth. 25 to 40 dB at the output is usual for
# int8. Both columns alike means that the integer arithmetic adds nothing to the rounding. *Saturated* is the part of the values that
# fell outside the calibrated range, *cost* a layer's own part in the error of the output. [Comparing](../../docs/compare.md) has the
# details, [Quantisation choices](../../docs/choices.md) says what can be done.

# %%
comparison = program.compare(exported, DataLoader(TensorDataset(test_x, test_y), batch_size=32))
print(comparison)
assert comparison.output_sqnr_db[0] > 15

# %% [markdown]
# ## What it costs
#
# `bench` compiles firmware, the runtime, the kernels and the image, with the same compiler that your board would have, and runs one
# inference on an emulated core. Instructions are counted exactly. QEMU knows no clock cycles, so cycles are estimated from the
# instructions, for memory without wait states: good for ratios and for a first idea. A board whose flash is slow needs more.

# %%
bench = program.bench("qemu", input=test_x[:1])
print(bench)

# %%
CLOCK = 160e6  # Hz: a usual Cortex-M55 on a low-power board
print(f"one inference: {1000 * bench.cycles / CLOCK:.2f} ms at {CLOCK / 1e6:.0f} MHz")
print(f"one inference a second keeps the core busy for {100 * bench.cycles / CLOCK:.2f} % of the time")
print(f"flash: {bench.image_bytes / 1024:.1f} KiB image + {bench.code_bytes / 1024:.1f} KiB code")
print(f"RAM:   {bench.arena_bytes / 1024:.1f} KiB arena + {bench.stack_bytes} bytes of stack")

# %% [markdown]
# The same network for other cores: an M4 has instructions for two products at a time, an M0+ for one, and no long multiplication.

# %%
for target in ("cortex-m4", "cortex-m0plus"):
    other = corten.compile(exported, target=target, calibration=loader)
    assert torch.equal(other(test_x[:50]), program(test_x[:50]))  # all cores give the same bytes
    cost = other.bench("qemu", input=test_x[:1])
    print(f"{target}: {cost.cycles / bench.cycles:.1f} times the cycles, {cost.arena_bytes / 1024:.1f} KiB arena")

# %% [markdown]
# ## Onto the device

# %%
program.save("build/kws")
print(*sorted(file.name for file in Path("build/kws").iterdir()))
print(*(line for line in Path("build/kws/model.h").read_text().splitlines() if line.startswith("//   ")), sep="\n")

# %% [markdown]
# The program on the core, in C++ (there is a C API too):
#
# ```cpp
# #include "model.h"
# KEYWORD_NET_ARENA(arena);                                   // the RAM that model.h says
# corten::Model model;
# if (keyword_net::init(model, arena) != CORTEN_OK) fail();   // once: verifies the image
# quantise(features, static_cast<int8_t*>(model.input(0).data));
# model.run();
# const int8_t* scores = static_cast<const int8_t*>(model.output(0).data);
# ```
#
# `quantise` is `round(x / kScale) + kZero`, cut to -128..127, with the constants of `model.h`. With one channel, channels-last
# and PyTorch's order are the same. The scores need no conversion where only the largest counts. The features themselves are
# yours to calculate on the core, with the `mean` and `deviation` from above; they must be the same as in training.
# [Porting to a board](../../docs/porting.md) goes on from here, with a whole project.
#
# The report shows the memory over time, every step with its line in the model above, and what is worth a look. Open
# `build/kws.html` in a browser; [Reading the report](../../docs/report.md) explains it.

# %%
program.report("build/kws.html")
quantised = test_x[:1].div(program.inputs[0].scale).round().add(program.inputs[0].zero_point).clip(-128, 127).to(torch.int8)
assert torch.equal(program(quantised, raw=True), program(test_x[:1], raw=True))  # what `quantise` above has to do

# %% [markdown]
# For the command line, or to try all the choices at once (`examples/quantization/choices.py`), the network and the data as files:
#
#     corten compile build/keyword_net.pt2 --target cortex-m55 --calibrate build/calib.npz -o build/kws
#     python examples/quantization/choices.py build/keyword_net.pt2 build/calib.npz build/eval.npz

# %%
torch.export.save(exported, "build/keyword_net.pt2")
np.savez_compressed("build/calib.npz", in0=train_x[::8])
np.savez_compressed("build/eval.npz", in0=test_x, labels=test_y)

# %% [markdown]
# ## Training with quantisation
#
# If int8 loses too much, the network can learn to live with it: in quantisation-aware training (QAT) the forward pass rounds as
# the core will, while the weights are adjusted in float. It is PyTorch's own (torchao's PT2E); `CortenQuantizer` says what the
# kernels want quantised together. We go on from the trained network for one epoch. The program then has all its scales and needs
# no calibration.

# %%
from corten.quantizer import CortenQuantizer, get_symmetric_quantization_config  # noqa: E402
from torchao.quantization.pt2e import disable_observer, move_exported_model_to_eval, move_exported_model_to_train  # noqa: E402
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_qat_pt2e  # noqa: E402

batch = {0: torch.export.Dim("batch", min=1, max=4096)}
trainable = torch.export.export(copy.deepcopy(model), (train_x[:64],), dynamic_shapes=(batch,)).module()  # else it shares weights
quantizer = CortenQuantizer().set_global(get_symmetric_quantization_config(is_qat=True))
prepared = prepare_qat_pt2e(trainable, quantizer)
move_exported_model_to_train(prepared)
train(prepared, epochs=1, peak=1e-4)
move_exported_model_to_eval(prepared)
prepared.apply(disable_observer)
fake_accuracy = accuracy(prepared)

# %%
qat_program = corten.compile(torch.export.export(convert_pt2e(prepared), (test_x[:1],)), target="cortex-m55")
qat_accuracy = accuracy(qat_program)
print(f"held-out voices: PyTorch's fake-quantised model {fake_accuracy:.1f} %, compiled {qat_accuracy:.1f} %")
assert abs(qat_accuracy - fake_accuracy) < 1.5 and qat_accuracy > float_accuracy - 3

# %% [markdown]
# Where the first program was as good as float32 already, as here, there is nothing to win. Try QAT after the cheaper choices:
# [Quantisation choices](../../docs/choices.md) has them in order.
