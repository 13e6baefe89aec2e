# Splits what wasm2c writes of a module named pdfium: its code into a header, parts that compile side by side, and the
# rest; and its header into a table of what the module exports and stubs of what it imports.

function to_part() { return sprintf("part%02d.c", part) }
BEGIN {
  stage = "head"
  print "#pragma GCC system_header" > "module.h" # no warnings
  print "#include \"module.h\"" > "rest.c"
}

# The code: the head of macros and declarations, the functions, and the data and tables around them.
FILENAME ~ /\.c$/ && /^static bool s_module_initialized/ { stage = "rest" }
FILENAME ~ /\.c$/ && stage == "head" {
  patched += sub(/&mem->data\[addr\]/, "\\&MEMORY(mem)[addr]")
  sub(/wasm_asm\("" ::"r"\(result\)\);/, "") # a load whose result is not used may go
  print > "module.h"
  next
}
FILENAME ~ /\.c$/ {
  if (/^static u32 func_types/) {
    sub(/^static /, "")
    print "extern " $0 > "module.h"
  } else if (/^static .*\);$/) {
    print substr($0, 8) > "module.h"
    next
  } else if (/^static .* w2c_[A-Za-z0-9_]+\(/) {
    stage = "parts"
    sub(/^static /, "")
    if (size > 2000000) {
      close(to_part())
      part++
      size = 0
    }
    if (size == 0) print "#include \"module.h\"" > to_part()
  } else if (/^static / || /^\/\* export/) {
    stage = "rest"
  }
  size += length($0)
  print > (stage == "parts" ? to_part() : "rest.c")
  next
}

# The header.
/^\/\* (import|export): / {
  name = $NF == "*/" ? $(NF - 1) : $NF
  gsub(/'/, "", name)
  kind = $2
  next
}
kind == "export:" && $0 !~ /^wasm_rt_/ {
  split($0, f, /[ (),;]+/)
  values = ""
  for (i = 4; i in f && f[i] != ""; i++)
    values = values ", " (f[i] ~ /^f/ ? "to_" f[i] "(v[" i - 4 "])" : "(" f[i] ")v[" i - 4 "]")
  called = f[2] "(module" values ")"
  if (f[1] ~ /^f/) called = "v[0] = from_" f[1] "(" called ")"
  else if (f[1] != "void") called = "v[0] = " called
  print "static void call_" name "(Z_pdfium_instance_t *module, uint64_t *v) { (void)v; " called "; }" > "exports.h"
  exports = exports "  {\"" name "\", call_" name "},\n"
}
kind == "import:" {
  if (stubs == "") print "#include \"module.h\"" > "stubs.c"
  stubs = "some"
  answer = $1 == "void" ? "" : "return " ($0 ~ /wasi/ ? 52 : 0) ";" # 52 is "not supported"
  sub(/;$/, "")
  print "__attribute__((weak)) " $0 " { " answer " }" > "stubs.c"
}
kind != "" { kind = "" }

END {
  print "static const struct export exports[] = {\n" exports "  OWN_EXPORTS\n};" > "exports.h"
  if (patched != 2 || stubs == "" || exports == "") {
    print "wasm2c writes another form than this script knows" > "/dev/stderr"
    exit 1
  }
}
