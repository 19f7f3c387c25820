# The program is a splitter with shelves. The splitter, cleave_split, is the graph, its passes, readers, writers and
# the report: it builds and is tested alone. A shelf adds commands to it, and -DCLEAVE_WITH_<SHELF>=OFF leaves it out.
#
# A shelf may use the splitter; only what is named after USES of the other shelves. The splitter uses none.
# tests/structure/includes_test.py reads this table, and fails on an include that breaks it.

# cleave_shelf(NAME "what it is" [USES shelf...] COMMANDS word... PLACES pattern...): the words are commands, and options
# of the splitter's commands; a place is the beginning of a path, and its tests lie at the same place below tests/.
set(CLEAVE_PLACES "" CACHE INTERNAL "")         # a pattern of paths for each shelf
set(CLEAVE_LEFT_OUT "" CACHE INTERNAL "")       # of these, those that are not built
set(CLEAVE_WORDS_LEFT_OUT "" CACHE INTERNAL "") # their commands and options
function(cleave_shelf name what)
  cmake_parse_arguments(SHELF "" "" "USES;COMMANDS;PLACES" ${ARGN})
  option(CLEAVE_WITH_${name} "Build ${what}" ON)
  list(JOIN SHELF_PLACES "|" places)
  set(CLEAVE_PLACES ${CLEAVE_PLACES} "^(${places})" CACHE INTERNAL "")
  set(value 0)
  if(CLEAVE_WITH_${name})
    set(value 1)
    foreach(other IN LISTS SHELF_USES)
      if(NOT CLEAVE_WITH_${other})
        message(FATAL_ERROR "CLEAVE_WITH_${name} needs CLEAVE_WITH_${other}")
      endif()
    endforeach()
  else()
    set(CLEAVE_WORDS_LEFT_OUT ${CLEAVE_WORDS_LEFT_OUT} ${SHELF_COMMANDS} CACHE INTERNAL "")
    set(CLEAVE_LEFT_OUT ${CLEAVE_LEFT_OUT} "^(${places})" CACHE INTERNAL "")
  endif()
  set_property(SOURCE cli/commands/commands.cc cli/commands/preview.cc cli/commands/split.cc APPEND PROPERTY
               COMPILE_DEFINITIONS CLEAVE_WITH_${name}=${value})
endfunction()

cleave_shelf(STAGES "pipelines: stages, and partitions of a given map"
  COMMANDS stage --map
  PLACES core/stages/ formats/lists/stage_tables formats/report/stages/ formats/run/jobs/stage_
         cli/commands/stage[.] cli/jobs/stage_run cli/options/stage_args)
cleave_shelf(COMPILERS "what runs compilers"
  COMMANDS lower reduce probe backend
  PLACES core/lowering/ formats/run/backend/ formats/run/lowering/ formats/report/lowering/
         formats/run/jobs/lower_job cli/commands/backend cli/commands/lower[.]
         cli/commands/probe cli/commands/reduce cli/jobs/lower_run
         cli/options/backend_args)
cleave_shelf(ADVICE "advice and tuning"
  COMMANDS advise tune
  PLACES core/measures/advice formats/report/advice/ formats/run/jobs/tune_
         cli/commands/advise cli/commands/tune)
cleave_shelf(LISTS "lists that are started, shown and linted"
  COMMANDS lists
  PLACES core/lists/lint formats/report/lint/ cli/commands/lists)
cleave_shelf(CI "checks and comparisons for CI"
  COMMANDS check diff
  PLACES core/measures/check formats/report/check/ formats/run/jobs/check_ cli/commands/check cli/commands/diff cli/options/gate_args)

# Divides the sources into those of the splitter and those of shelves; shelves that are left out are in neither.
function(cleave_divide sources splitter shelves)
  set(own ${sources})
  set(others ${sources})
  foreach(pattern IN LISTS CLEAVE_PLACES)
    list(FILTER own EXCLUDE REGEX "${pattern}")
  endforeach()
  foreach(pattern IN LISTS CLEAVE_LEFT_OUT)
    list(FILTER others EXCLUDE REGEX "${pattern}")
  endforeach()
  list(REMOVE_ITEM others ${own})
  set(${splitter} ${own} PARENT_SCOPE)
  set(${shelves} ${others} PARENT_SCOPE)
endfunction()
