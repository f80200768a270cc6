"""Trains a small CNN on scikit-learn's handwritten digits (8x8) and writes what `corten` needs next to this file:

  digits_cnn.pt2  the exported program, logits of ten classes
  calib.npz       in0: 100 training images, for calibration
  eval.npz        in0, labels: 400 test images the training never saw

Run: scripts/setup.sh test && build/venv/bin/python examples/digits/train.py
"""
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

EPOCHS = 60
BATCH = 64
HERE = Path(__file__).resolve().parent


class DigitsCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.classify = nn.Linear(32 * 2 * 2, 10)

    def forward(self, x):
        x = self.pool(torch.relu(self.conv1(x)))
        x = self.pool(torch.relu(self.conv2(x)))
        return self.classify(x.flatten(1))


def load():
    """Images as float32 (N, 1, 8, 8) in 0..1 and their labels, split into training and test."""
    digits = load_digits()
    images = (digits.images / 16).astype(np.float32)[:, None]
    return train_test_split(images, digits.target, test_size=400, random_state=0, stratify=digits.target)


def train(model, images, labels):
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(images)).split(BATCH):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images[batch]), labels[batch]).backward()
            optimizer.step()
        schedule.step()


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)  # the same sums in the same order everywhere
    train_x, test_x, train_y, test_y = load()
    model = DigitsCnn()
    train(model, torch.from_numpy(train_x), torch.from_numpy(train_y))
    model.eval()
    with torch.no_grad():
        top1 = (model(torch.from_numpy(test_x)).argmax(1).numpy() == test_y).mean()
    print(f"float32 top-1 on the test images: {100 * top1:.2f} %")

    torch.export.save(torch.export.export(model, (torch.from_numpy(test_x[:1]),)), HERE / "digits_cnn.pt2")
    np.savez_compressed(HERE / "calib.npz", in0=train_x[:100])
    np.savez_compressed(HERE / "eval.npz", in0=test_x, labels=test_y)


if __name__ == "__main__":
    main()
