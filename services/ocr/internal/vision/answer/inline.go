package answer

import (
	"html"
	"regexp"
	"strings"
	"unicode"
)

var (
	inlineMath  = regexp.MustCompile(`\\\((.{0,500}?)\\\)|\$([^$\n]{1,500}?)\$`)
	markdownImg = regexp.MustCompile(`!\[([^\]\n]{0,500})\]\([^)\n]{0,500}\)`)
	markdownURL = regexp.MustCompile(`\[([^\]\n]{1,500})\]\((?:https?:|#|/|mailto:|\.)[^)\n]{0,500}\)`)
	strongMarks = regexp.MustCompile(`\*\*([^*\n]{1,1000}?)\*\*|__([^_\n]{1,1000}?)__`)
	emphasis    = regexp.MustCompile(`(^|[\s("'])\*([^*\s](?:[^*\n]{0,1000}[^*\s])?)\*($|[\s.,;:!?)"'])`)
	codeMarks   = regexp.MustCompile("`([^`\n]{1,1000})`")
	anyTag      = regexp.MustCompile(`</?[A-Za-z][A-Za-z0-9_-]{0,30}(?:\s[^<>]{0,500})?/?>|<!--.{0,900}?-->`)
	brokenWord  = regexp.MustCompile(`(\pL)- (\pL|\d)`)
	suspended   = regexp.MustCompile(`^(?:and|or|und|oder|bis|et|ou|y|e|o) `)
)

// plainInline returns a line of Markdown or HTML as plain text.
func plainInline(s string) string {
	s = inlineMath.ReplaceAllStringFunc(s, func(m string) string {
		if strings.HasPrefix(m, "$") {
			inner := strings.Trim(m, "$")
			if !looksLikeMath(inner) {
				return m
			}
			return plainLatex(inner)
		}
		return plainLatex(m[2 : len(m)-2])
	})
	s = markdownImg.ReplaceAllString(s, "")
	s = markdownURL.ReplaceAllString(s, "$1")
	s = strongMarks.ReplaceAllString(s, "$1$2")
	s = emphasis.ReplaceAllString(s, "$1$2$3")
	s = codeMarks.ReplaceAllString(s, "$1")
	s = html.UnescapeString(stripTags(s))
	return joinBroken(strings.Join(strings.Fields(s), " "))
}

// looksLikeMath tells a formula between dollars from two prices.
func looksLikeMath(s string) bool {
	if s == "" || unicode.IsSpace(rune(s[0])) || unicode.IsSpace(rune(s[len(s)-1])) {
		return false
	}
	return strings.ContainsAny(s, `\^_=+<>{}`) || len(s) <= 3 && !strings.ContainsFunc(s, unicode.IsDigit)
}

func stripTags(s string) string {
	return anyTag.ReplaceAllStringFunc(s, func(tag string) string {
		if strings.HasPrefix(tag, "<br") || strings.HasPrefix(tag, "<p") || strings.HasPrefix(tag, "</p") ||
			strings.HasPrefix(tag, "<li") || strings.HasPrefix(tag, "<div") {
			return " "
		}
		return ""
	})
}

// joinBroken takes the blank out of words that models write as "multi- column", where the line of print ended.
func joinBroken(s string) string {
	for range 2 { // neighbours share a letter
		matches := brokenWord.FindAllStringIndex(s, -1)
		for k := len(matches) - 1; k >= 0; k-- {
			space := matches[k][0] + strings.Index(s[matches[k][0]:], "- ") + 1
			if !suspended.MatchString(s[space+1:]) {
				s = s[:space] + s[space+1:]
			}
		}
	}
	return s
}

var (
	latexCommand = regexp.MustCompile(`\\([A-Za-z]{1,30})\*?`)
	latexSymbols = map[string]string{
		"rightarrow": "→", "to": "→", "leftarrow": "←", "Rightarrow": "⇒", "cdot": "·", "times": "×", "pm": "±", "leq": "≤", "le": "≤", "geq": "≥",
		"ge": "≥", "neq": "≠", "approx": "≈", "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "theta": "θ", "lambda": "λ",
		"mu": "μ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "omega": "ω", "Delta": "Δ", "Sigma": "Σ", "Omega": "Ω",
		"infty": "∞", "sum": "∑", "int": "∫", "sqrt": "√", "partial": "∂", "nabla": "∇", "in": "∈", "degree": "°", "circ": "°",
		"ldots": "…", "cdots": "…", "dots": "…", "quad": " ", "qquad": " ", "bullet": "•", "dagger": "†", "S": "§",
	}
	latexMarks = strings.NewReplacer(`\%`, "%", `\$`, "$", `\&`, "&", `\#`, "#", `\_`, "_", `\{`, "{", `\}`, "}", `\,`, " ", `\;`, " ", `\:`, " ",
		`\!`, "", `\ `, " ", `\\`, " ", "~", " ")
)

// plainLatex returns what a formula shows, as far as a line of text can.
func plainLatex(s string) string {
	s = latexMarks.Replace(s)
	s = latexCommand.ReplaceAllStringFunc(s, func(m string) string {
		name := strings.TrimSuffix(m[1:], "*")
		if symbol, known := latexSymbols[name]; known {
			return symbol
		}
		switch name {
		case "sin", "cos", "tan", "log", "ln", "exp", "lim", "max", "min":
			return name + " "
		}
		return ""
	})
	s = strings.NewReplacer("{", "", "}", "", "^", "", "_", "").Replace(s)
	return strings.Join(strings.Fields(s), " ")
}

// trimMath takes the delimiters off a displayed formula.
func trimMath(s string) string {
	s = strings.TrimSpace(s)
	for _, d := range [][2]string{{`\[`, `\]`}, {"$$", "$$"}, {`\(`, `\)`}, {"$", "$"}} {
		if len(s) >= len(d[0])+len(d[1]) && strings.HasPrefix(s, d[0]) && strings.HasSuffix(s, d[1]) {
			return strings.TrimSpace(s[len(d[0]) : len(s)-len(d[1])])
		}
	}
	return s
}

// trimFence takes the fence off code.
func trimFence(s string) string {
	lines := strings.Split(strings.Trim(s, "\n"), "\n")
	if len(lines) > 0 && strings.HasPrefix(lines[0], "```") {
		lines = lines[1:]
	}
	if n := len(lines); n > 0 && strings.HasPrefix(lines[n-1], "```") {
		lines = lines[:n-1]
	}
	return strings.Join(lines, "\n")
}
