import torch
import torch.nn as nn


class DenseBlock(nn.Module):
    def __init__(self, num_layers: int, num_input_features: int, growth_rate: int):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(
                nn.BatchNorm2d(num_input_features + i * growth_rate),
                nn.ReLU(),
                nn.Conv2d(num_input_features + i * growth_rate, growth_rate, 3, padding=1, bias=False),
            )
            for i in range(num_layers)
        )

    def forward(self, x):
        for layer in self.layers:
            x = torch.cat([x, layer(x)], dim=1)
        return x


class TransitionLayer(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.transition = nn.Sequential(
            nn.BatchNorm2d(features), nn.ReLU(), nn.Conv2d(features, features // 2, 1, bias=False), nn.AvgPool2d(2)
        )

    def forward(self, x):
        return self.transition(x)


class Model(nn.Module):
    """A convolutional classifier of four blocks whose layers each see all channels before them.

    f = pool(relu(bn(conv7x7(x)))), pool = max of 3 x 3, every other pixel;
    block: x_(l+1) = [x_l, conv3x3(relu(bn(x_l)))]; between blocks mean 2x2(conv1x1(relu(bn(x))));
    y = linear(mean over pixels of relu(bn(last block))), bn by the statistics of the batch
    """

    def __init__(self, growth_rate: int = 32, num_classes: int = 1000):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.MaxPool2d(3, stride=2, padding=1),
        )
        self.dense_blocks = nn.ModuleList()
        self.transition_layers = nn.ModuleList()
        features = 64
        block_layers = [6, 12, 24, 16]
        for number, num_layers in enumerate(block_layers, 1):
            self.dense_blocks.append(DenseBlock(num_layers, features, growth_rate))
            features += num_layers * growth_rate
            if number < len(block_layers):
                self.transition_layers.append(TransitionLayer(features))
                features //= 2
        self.final_bn = nn.BatchNorm2d(features)
        self.classifier = nn.Linear(features, num_classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.dense_blocks[0](self.features(x))
        for transition, block in zip(self.transition_layers, self.dense_blocks[1:], strict=True):
            x = block(transition(x))
        return self.classifier(torch.relu(self.final_bn(x)).mean(dim=(2, 3)))


batch_size = 10
num_classes = 10
height = 224
width = 224
in_channels = 3
growth_rate = 32


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [growth_rate, num_classes]
