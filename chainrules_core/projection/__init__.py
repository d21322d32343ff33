"""Projection of cotangents onto the tangent spaces of values: a module for each kind of value."""

from chainrules_core.projection import containers as containers
