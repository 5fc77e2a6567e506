// All parts as one unit: the emulator is compiled once.
#include "checks.inc"
#include "descriptors.inc"
#include "entry.inc"
#include "honest.inc"
#include "traps.inc"
