"""A function recorded as a program, with what it depends on.

* The recording: `recorder` writes down the steps (`ir`) of a call, `results` what it returns.
  `masks` lets it see operators of bits, `function_effects` knows which functions are impure, and
  `effect_hooks` replaces those.
* The arguments: `signature_guards` traces them, and writes the checks of those of another call.
  `functions_made_anew` is about a function among them that each call makes anew.
* What is outside: `captured_guards` finds the variables that code reads, by the names in it
  (`mentioned_names`). Each is a `dependency`, which writes its own guard: what nests, objects and
  arrays hold is compared by `content_guards` and `array_contents`, and `changing_objects` knows
  what may change unseen. `executed_code` makes sure that no other code has run.
* The values: `domain_guards` stop a program where Python would raise an error.
"""
