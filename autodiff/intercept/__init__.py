"""Interception: calls are seen because the source of a traced function is rewritten."""

from autodiff.intercept.runtime.replacements import intercept as intercept
