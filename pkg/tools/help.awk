# Prints the targets of a Makefile that have a "##" comment, under the headings that "##@" lines give.
BEGIN { FS = ":.*## " }
/^##@ / { printf "\n%s\n", substr($0, 5) }
/^[a-z][a-z-]*:.*## / { printf "  make %-16s %s\n", $1, $2 }
