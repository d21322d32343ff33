"""explain: a report of what the engine did with a function, call by call."""

from autodiff.explanation.report import Explanation as Explanation, explain as explain
