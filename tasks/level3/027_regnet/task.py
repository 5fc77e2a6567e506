import torch
import torch.nn as nn


class Model(nn.Module):
    """A convolutional classifier of stages that each halve the image.

    stage(x) = pool(relu(bn(conv3x3(relu(bn(conv3x3(x))))))), pool = max of 2 x 2, bn by the statistics of the batch;
    y = fc(mean over pixels of the last stage)
    """

    def __init__(self, input_channels, stages, block_widths, output_classes):
        super().__init__()
        layers = []
        before = input_channels
        for width in block_widths[:stages]:
            layers.append(
                nn.Sequential(
                    nn.Conv2d(before, width, 3, padding=1),
                    nn.BatchNorm2d(width),
                    nn.ReLU(),
                    nn.Conv2d(width, width, 3, padding=1),
                    nn.BatchNorm2d(width),
                    nn.ReLU(),
                    nn.MaxPool2d(2),
                )
            )
            before = width
        self.feature_extractor = nn.Sequential(*layers)
        self.fc = nn.Linear(block_widths[-1], output_classes)

    def forward(self, x):
        return self.fc(self.feature_extractor(x).mean(dim=(2, 3)))


batch_size = 8
input_channels = 3
image_height = 224
image_width = 224
stages = 3
block_widths_0 = 64
block_widths_1 = 128
block_widths_2 = 256
block_widths = [block_widths_0, block_widths_1, block_widths_2]
output_classes = 10


def get_inputs():
    return [torch.rand(batch_size, input_channels, image_height, image_width)]


def get_init_inputs():
    return [input_channels, stages, block_widths, output_classes]
