"""Door 3: calls are seen because the source of a traced function is rewritten."""

from autodiff.intercept.functions import intercept as intercept
