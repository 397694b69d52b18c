"""Three networks whose upsampling is transposed convolutions, as their papers and first implementations have them."""
from typing import List

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


class DCGANGenerator(nn.Module):
    """Radford et al. 2016. z: (N, 100, 1, 1); image: (N, 3, 64, 64)."""

    def __init__(self, latent: int = 100, width: int = 64, colors: int = 3) -> None:
        super().__init__()
        layers: List[nn.Module] = []
        before = latent
        for i, after in enumerate((width * 8, width * 4, width * 2, width)):
            stride, padding = (1, 0) if i == 0 else (2, 1)
            layers += [nn.ConvTranspose2d(before, after, 4, stride, padding, bias=False), nn.BatchNorm2d(after),
                       nn.ReLU(True)]
            before = after
        layers += [nn.ConvTranspose2d(before, colors, 4, 2, 1, bias=False), nn.Tanh()]
        self.main = nn.Sequential(*layers)

    def forward(self, z: Tensor) -> Tensor:
        return self.main(z)


class ResBlock(nn.Module):
    """Dilated convolutions of one kernel size. (N, C, T) to (N, C, T)."""

    def __init__(self, channels: int, kernel: int) -> None:
        super().__init__()
        self.first = nn.ModuleList(nn.Conv1d(channels, channels, kernel, dilation=d, padding=d * (kernel - 1) // 2)
                                   for d in (1, 3, 5))
        self.second = nn.ModuleList(nn.Conv1d(channels, channels, kernel, padding=(kernel - 1) // 2) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        for first, second in zip(self.first, self.second):
            x = x + second(F.leaky_relu(first(F.leaky_relu(x, 0.1)), 0.1))
        return x


class HiFiGAN(nn.Module):
    """Kong et al. 2020, V1 by default. Mel spectrogram: (N, 80, T); wave: (N, 1, 256*T)."""

    def __init__(self, mels: int = 80, width: int = 512) -> None:
        super().__init__()
        self.before = nn.Conv1d(mels, width, 7, padding=3)
        self.ups = nn.ModuleList()
        self.blocks = nn.ModuleList()
        for stride, kernel in ((8, 16), (8, 16), (2, 4), (2, 4)):
            self.ups.append(nn.ConvTranspose1d(width, width // 2, kernel, stride, (kernel - stride) // 2))
            width //= 2
            self.blocks.append(nn.ModuleList(ResBlock(width, size) for size in (3, 7, 11)))
        self.after = nn.Conv1d(width, 1, 7, padding=3)

    def forward(self, mel: Tensor) -> Tensor:
        x = self.before(mel)
        for up, blocks in zip(self.ups, self.blocks):
            x = up(F.leaky_relu(x, 0.1))
            x = sum(block(x) for block in blocks) / len(blocks)
        return torch.tanh(self.after(F.leaky_relu(x)))


def _double(before: int, after: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(True),
                         nn.Conv2d(after, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(True))


class UNet(nn.Module):
    """Ronneberger et al. 2015, with padding. image: (N, 3, H, W), H and W multiples of 16; classes: (N, 2, H, W)."""

    def __init__(self, width: int = 64, classes: int = 2) -> None:
        super().__init__()
        widths = [width << i for i in range(5)]
        self.down = nn.ModuleList(_double(before, after) for before, after in zip([3] + widths, widths))
        self.ups = nn.ModuleList(nn.ConvTranspose2d(w, w // 2, 2, stride=2) for w in reversed(widths[1:]))
        self.up = nn.ModuleList(_double(w, w // 2) for w in reversed(widths[1:]))
        self.last = nn.Conv2d(width, classes, 1)

    def forward(self, image: Tensor) -> Tensor:
        kept = []
        x = image
        for i, block in enumerate(self.down):
            x = block(x if i == 0 else F.max_pool2d(x, 2))
            kept.append(x)
        kept.pop()
        for up, block in zip(self.ups, self.up):
            x = block(torch.cat([kept.pop(), up(x)], dim=1))
        return self.last(x)


def networks(small: bool = False):
    """(name, model, shape of an input without its batch): of their papers' sizes, or small ones for the CPU."""
    if small:
        return [("DCGAN", DCGANGenerator(8, 4), (8, 1, 1)), ("HiFi-GAN", HiFiGAN(6, 32), (6, 4)),
                ("U-Net", UNet(4), (3, 32, 32))]
    return [("DCGAN", DCGANGenerator(), (100, 1, 1)), ("HiFi-GAN", HiFiGAN(), (80, 128)),
            ("U-Net", UNet(), (3, 256, 256))]
