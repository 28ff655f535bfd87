#!/usr/bin/env python3
"""Exports a torchvision model, or one of your own, from PyTorch to ONNX. Opt-in: nothing else in Assay uses it.

    apt-get install --no-install-recommends python3-torch python3-torchvision     # Debian 12: torch 1.13
    /usr/bin/python3 workloads/export_torch.py resnet50 --batch 1 --out resnet50.onnx
    /usr/bin/python3 workloads/export_torch.py my_package.models:make_net --shape 1,16,64 --out net.onnx

Weights are random with a fixed seed: the structure is what counts for cost, and no file is downloaded. For trained
weights pass --state-dict with a file that you have. Whether a pretrained file fits is checked by PyTorch.

All four were exported with torch 1.13.1 and torchvision 0.14.1 at opset 17. Known limits: the exporter of torch 1.13 writes opset 7 to 17; models with data-dependent control flow are traced,
that is, only the branch taken for the example input is exported.
"""
import argparse
import importlib
import os
import sys

TORCHVISION = {  # name: (function in torchvision.models, side of the square input)
    "resnet18": ("resnet18", 224),
    "resnet50": ("resnet50", 224),
    "mobilenet_v2": ("mobilenet_v2", 224),
    "vit_b_16": ("vit_b_16", 224),
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help=f"one of {', '.join(TORCHVISION)}, or MODULE:FUNCTION that returns an nn.Module")
    parser.add_argument("--out", required=True, help="ONNX file to write")
    parser.add_argument("--opset", type=int, default=17)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--shape", help="whole shape of the input, comma-separated (needed for MODULE:FUNCTION)")
    parser.add_argument("--dynamic-batch", action="store_true", help="leave the batch symbolic ('batch')")
    parser.add_argument("--state-dict", help="file with weights, as saved by torch.save(model.state_dict())")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.batch < 1:
        parser.error("--batch must be at least 1")
    if not 7 <= args.opset <= 17:
        parser.error("--opset must be 7 to 17")
    if args.model not in TORCHVISION and (":" not in args.model or not args.shape):
        parser.error(f"'{args.model}' is not one of {', '.join(TORCHVISION)}; give MODULE:FUNCTION with --shape")
    try:
        args.dims = [int(d) for d in args.shape.split(",")] if args.shape else None
    except ValueError:
        parser.error(f"--shape: expected integers, found '{args.shape}'")
    return args


def make_model(args):
    if args.model in TORCHVISION:
        import torchvision

        function, side = TORCHVISION[args.model]
        return getattr(torchvision.models, function)(weights=None), args.dims or [args.batch, 3, side, side]
    module, function = args.model.split(":", 1)
    sys.path.insert(0, os.getcwd())
    return getattr(importlib.import_module(module), function)(), args.dims


def main():
    args = parse_arguments()
    try:
        import torch
    except ImportError:
        sys.exit(
            f"export_torch: {sys.executable} has no PyTorch; on Debian: apt-get install python3-torch python3-torchvision"
            " and run this with /usr/bin/python3"
        )
    torch.manual_seed(args.seed)
    model, shape = make_model(args)
    if args.state_dict:
        model.load_state_dict(torch.load(args.state_dict, map_location="cpu"))
    model.eval()
    part = args.out + ".part"  # a whole file or none
    torch.onnx.export(
        model,
        torch.randn(*shape),
        part,
        opset_version=args.opset,
        input_names=["x"],
        output_names=["y"],
        dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}} if args.dynamic_batch else None,
    )
    os.replace(part, args.out)
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{args.out}: input x {shape}, {parameters} parameters, opset {args.opset}", file=sys.stderr)


if __name__ == "__main__":
    main()
