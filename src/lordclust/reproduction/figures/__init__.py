"""The paper's figures, drawn from a results file."""

from lordclust.reproduction.figures.blocks import learned_z, tau_blocks
from lordclust.reproduction.figures.descent import convergence, inner_iterations
from lordclust.reproduction.figures.mixtures import synthetic
from lordclust.reproduction.figures.starts import init, objective_acc
from lordclust.reproduction.figures.tau import landscape, tau_acc

__all__ = [
    "convergence",
    "init",
    "inner_iterations",
    "landscape",
    "learned_z",
    "objective_acc",
    "synthetic",
    "tau_acc",
    "tau_blocks",
]
