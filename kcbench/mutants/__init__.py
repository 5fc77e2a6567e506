"""Mutation study: faults planted in honest kernels, and witnesses that they are faults, to see what the gates let through."""

from kcbench.mutants.mutant import Mutant, mutants, shared_out
from kcbench.mutants.operator import Operator
from kcbench.mutants.registry import all_operators, fault_classes
from kcbench.mutants.subject import Subject, subjects

__all__ = ["Mutant", "Operator", "Subject", "all_operators", "fault_classes", "mutants", "shared_out", "subjects"]
