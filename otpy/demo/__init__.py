"""Floor 8: a program as users write one, run by `otpy demo` and shown in `examples/`."""
