"""Generated code for elementwise operations: several recorded as one value, or a single one."""
