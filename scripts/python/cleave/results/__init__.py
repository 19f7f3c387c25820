"""What commands print with --json, as dataclasses: a module for each kind of report.

    from cleave.results.report import Report     # of preview and split
    from cleave.results.stages import Stages     # of stage
    from cleave.results.check import Check       # of check
    from cleave.results.lowering import Lowering # of lower; advice, diff, explain, inspect, lint, reduction, support_report

What is the same in several of them is one class, of cleave.results.common, which each has under a name of its own, too.
Names of fields are those in JSON, with a `_` behind names that Python has a use for. Fields that a schema does not
require are None where they are absent. Fields that a later cleave adds are left out. The modules are imported when
they are needed.
"""
