import torch
import torch.nn as nn


class DoubleConv(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(in_channels, out_channels, 3, padding=1),
            nn.BatchNorm2d(out_channels),
            nn.Softmax(dim=-1),
            nn.Conv2d(out_channels, out_channels, 3, padding=1),
            nn.BatchNorm2d(out_channels),
            nn.Softmax(dim=-1),
        )

    def forward(self, x):
        return self.double_conv(x)


class Model(nn.Module):
    """A convolutional encoder and decoder with connections between equal resolutions, and softmax along the rows.

    e_1 = d(x), e_(l+1) = d(pool(e_l)), u_5 = e_5, u_l = d([upconv(u_(l+1)), e_l]), y = conv1x1(u_1);
    d(x) = s(bn(conv3x3(s(bn(conv3x3(x)))))), s = softmax over the width, pool = max of 2 x 2, bn by the statistics of the batch
    """

    def __init__(self, in_channels, out_channels, features):
        super().__init__()
        self.pool = nn.MaxPool2d(2)
        self.encoder1 = DoubleConv(in_channels, features)
        self.encoder2 = DoubleConv(features, features * 2)
        self.encoder3 = DoubleConv(features * 2, features * 4)
        self.encoder4 = DoubleConv(features * 4, features * 8)
        self.bottleneck = DoubleConv(features * 8, features * 16)
        self.upconv4 = nn.ConvTranspose2d(features * 16, features * 8, 2, stride=2)
        self.decoder4 = DoubleConv(features * 16, features * 8)
        self.upconv3 = nn.ConvTranspose2d(features * 8, features * 4, 2, stride=2)
        self.decoder3 = DoubleConv(features * 8, features * 4)
        self.upconv2 = nn.ConvTranspose2d(features * 4, features * 2, 2, stride=2)
        self.decoder2 = DoubleConv(features * 4, features * 2)
        self.upconv1 = nn.ConvTranspose2d(features * 2, features, 2, stride=2)
        self.decoder1 = DoubleConv(features * 2, features)
        self.final_conv = nn.Conv2d(features, out_channels, 1)

    def forward(self, x):
        e1 = self.encoder1(x)
        e2 = self.encoder2(self.pool(e1))
        e3 = self.encoder3(self.pool(e2))
        e4 = self.encoder4(self.pool(e3))
        u4 = self.decoder4(torch.cat([self.upconv4(self.bottleneck(self.pool(e4))), e4], dim=1))
        u3 = self.decoder3(torch.cat([self.upconv3(u4), e3], dim=1))
        u2 = self.decoder2(torch.cat([self.upconv2(u3), e2], dim=1))
        u1 = self.decoder1(torch.cat([self.upconv1(u2), e1], dim=1))
        return self.final_conv(u1)


batch_size = 8
in_channels = 8
out_channels = 4
height = 64
width = 512
features = 64


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, features]
