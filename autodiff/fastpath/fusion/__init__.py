"""Code generation for elementwise operations: single ones, and fused expressions."""
