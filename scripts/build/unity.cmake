# Groups the sources of a target for a unity build, in which one compilation reads several of them:
# headers are parsed and templates instantiated once a group. For builds from nothing; a build that
# is repeated after each change is faster without.
#
# At most twelve sources are read together. A source joins a group only if no name of its unnamed
# namespaces occurs in the others, and none of theirs in it: in one compilation they would be the
# same name.

# Sets `result` to the words of a source: " word " each, and " word\n" where it is called. What is
# behind a dot, an arrow or two colons belongs to the word before it.
function(cleave_words text result)
  string(REGEX REPLACE "//[^\n]*" "" text "${text}")
  string(REGEX REPLACE "\\.|->|::" "_" text "${text}")
  string(REGEX REPLACE "[^A-Za-z0-9_(]+" " " text "${text}")
  string(REPLACE "(" "\n " text "${text}")
  set(${result} " ${text} " PARENT_SCOPE)
endfunction()

# Sets `result` to the names that the source with this text defines at the start of a line, within
# its unnamed namespaces, as they are in words of sources.
function(cleave_local_names text result)
  set(names)
  string(FIND "${text}" "\nnamespace {\n" begin)
  string(FIND "${text}" "\n}  // namespace\n" end REVERSE)
  if(begin GREATER_EQUAL 0 AND end GREATER begin)
    math(EXPR length "${end} - ${begin}")
    string(SUBSTRING "${text}" ${begin} ${length} text)
    string(REPLACE "[" "<" text "${text}")  # brackets and semicolons are for CMake's lists
    string(REPLACE "]" ">" text "${text}")
    string(REPLACE ";" "," text "${text}")
    string(REGEX MATCHALL "\n(struct|class|enum|enum class) [A-Za-z_0-9]+" found "${text}")
    foreach(match IN LISTS found)
      string(REGEX REPLACE "^.* " "" name "${match}")
      list(APPEND names " ${name} ")
    endforeach()
    # Functions and variables; not the base classes of what was found before.
    string(REGEX REPLACE "\n(struct|class|enum) [^\n]*" "\n" rest "${text}")
    string(REGEX MATCHALL "\n[A-Za-z<][^\n(){}=]*[ &*>][A-Za-z_0-9]+[({=, ]" found "${rest}")
    foreach(match IN LISTS found)
      string(REGEX REPLACE "^.*[ &*>]([A-Za-z_0-9]+) ?([({=, ])$" "\\1\\2" name "${match}")
      if(name MATCHES "\\($")
        string(REPLACE "(" "\n" name "${name}")
      else()
        string(REGEX REPLACE "[{=, ]$" " " name "${name}")
      endif()
      list(APPEND names " ${name}")
    endforeach()
    string(REGEX MATCHALL "\nenum [^{]*{[^}]*}" enums "${text}")
    string(REGEX MATCHALL "k[A-Z][A-Za-z0-9]*" found "${enums}")
    foreach(name IN LISTS found)
      list(APPEND names " ${name} ")
    endforeach()
    list(REMOVE_DUPLICATES names)
  endif()
  set(${result} "${names}" PARENT_SCOPE)
endfunction()

# Sets `result` to the types and constants that the project's headers define, as words.
function(cleave_header_names result)
  file(GLOB_RECURSE headers ${PROJECT_SOURCE_DIR}/core/*.h ${PROJECT_SOURCE_DIR}/formats/*.h
       ${PROJECT_SOURCE_DIR}/cli/*.h ${PROJECT_SOURCE_DIR}/tests/*.h)
  set(names)
  foreach(header IN LISTS headers)
    file(STRINGS "${header}" lines
         REGEX "^(struct|class|enum|enum class|using|inline constexpr|constexpr) [^(]*")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^(struct|class|enum class|enum|using) ([A-Za-z_0-9]+).*" "\\2" name "${line}")
      string(REGEX REPLACE "^.* (k[A-Z][A-Za-z_0-9]*) .*" "\\1" name "${name}")
      string(APPEND names " ${name} ")
    endforeach()
  endforeach()
  set(${result} "${names}" PARENT_SCOPE)
endfunction()

# Sets `result` to whether one of the names occurs in the text.
function(cleave_any_occurs names text result)
  set(${result} OFF PARENT_SCOPE)
  foreach(name IN LISTS names)
    string(FIND "${text}" "${name}" at)
    if(at GREATER_EQUAL 0)
      set(${result} ON PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

# Turns the unity build of the target on.
function(cleave_unity target)
  set(most 12)
  set(groups 0)
  cleave_header_names(header_names)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    if(IS_ABSOLUTE "${source}")  # it is made by CMake
      set_source_files_properties("${source}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      continue()
    endif()
    file(READ "${source}" text)
    cleave_local_names("${text}" names)
    cleave_words("${text}" text)
    # A source with a type of its own that is called as one of a header is read by itself.
    cleave_any_occurs("${names}" "${header_names}" is_alone)
    if(is_alone)
      set_source_files_properties("${source}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      continue()
    endif()
    set(group 0)
    while(group LESS groups)
      set(clashes ON)
      if(size_${group} LESS most)
        cleave_any_occurs("${names}" "${text_${group}}" clashes)
        if(NOT clashes)
          cleave_any_occurs("${names_${group}}" "${text}" clashes)
        endif()
      endif()
      if(NOT clashes)
        break()
      endif()
      math(EXPR group "${group} + 1")
    endwhile()
    if(group EQUAL groups)
      math(EXPR groups "${groups} + 1")
      set(size_${group} 0)
    endif()
    math(EXPR size_${group} "${size_${group}} + 1")
    string(APPEND text_${group} "${text}")
    list(APPEND names_${group} ${names})
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP
                        UNITY_BUILD_RELOCATABLE ON)  # ccache then knows them in another clone
  list(LENGTH sources count)
  message(STATUS "${target}: ${count} sources in ${groups} compilations")
endfunction()
