package sandbox

import (
	"os"
	"regexp"
	"strings"
	"sync"
	"time"
)

const (
	// maxStderrBytes holds a Go traceback of 100 frames, so that its first line, which says what happened, is still there.
	maxStderrBytes = 32 << 10
	excerptLines   = 3
	excerptColumns = 160
	drainTimeout   = time.Second
)

// stderrTail keeps the end of what a child writes to its standard error.
type stderrTail struct {
	pipe *os.File
	done chan struct{} // closed when the pipe has ended

	mu  sync.Mutex // guards buf
	buf []byte
}

func newStderrTail(pipe *os.File) *stderrTail {
	return &stderrTail{pipe: pipe, done: make(chan struct{})}
}

// readPipe reads the pipe to its end.
func (l *stderrTail) readPipe() {
	defer close(l.done)
	chunk := make([]byte, 4<<10)
	for {
		n, err := l.pipe.Read(chunk)
		l.mu.Lock()
		l.buf = append(l.buf, chunk[:n]...)
		if over := len(l.buf) - maxStderrBytes; over > 0 {
			l.buf = append(l.buf[:0], l.buf[over:]...)
		}
		l.mu.Unlock()
		if err != nil {
			// Any error but the end means that the pipe is of no use either: what was read stays.
			return
		}
	}
}

// drainPipe waits for the end of the pipe, which comes with the end of the process, and closes it.
func (l *stderrTail) drainPipe() string {
	// The deadline is for a pipe that something started during Setup still holds open.
	_ = l.pipe.SetReadDeadline(time.Now().Add(drainTimeout))
	<-l.done
	_ = l.pipe.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.buf)
}

var (
	// quotedText runs to the end of the line: where a quotation ends is not certain when the text within has quotes of
	// its own.
	quotedText = regexp.MustCompile("[\"`“”‘«„].*|(^|[\\s(=:,\\[])'.*")
	// goFrame finds the first frame of a Go traceback that is not the runtime's own: function, then file and line.
	goFrame = regexp.MustCompile(`(?m)^([\w./*()\[\]-]+)\(.*\)\n\t\S*/([\w.-]+\.go:\d+)`)
)

// safeExcerpt cuts last words down to what is safe and useful in a log. Engines write messages of their own, so
// whatever is quoted in them may be a document's text and goes; a panic's value goes unless the Go runtime made it,
// but its place stays.
func safeExcerpt(words string) string {
	if said, ok := describeGoCrash(words); ok {
		return said
	}
	lines := strings.Split(strings.TrimSpace(words), "\n")
	lines = lines[max(0, len(lines)-excerptLines):]
	for i, line := range lines {
		lines[i] = cleanLine(line)
	}
	return strings.Join(strings.FieldsFunc(strings.Join(lines, "\n"), func(r rune) bool { return r == '\n' }), " | ")
}

// describeGoCrash describes a Go panic or fatal error in one line.
func describeGoCrash(words string) (string, bool) {
	start := -1
	for _, mark := range []string{"panic: ", "fatal error: ", "SIGSEGV: ", "SIGABRT: ", "SIGBUS: ", "SIGILL: ", "SIGFPE: "} {
		for at := 0; ; {
			i := strings.Index(words[at:], mark)
			if i < 0 {
				break
			}
			at += i
			if (at == 0 || words[at-1] == '\n') && (start < 0 || at < start) {
				start = at
			}
			at += len(mark)
		}
	}
	if start < 0 {
		return "", false
	}
	first, rest, _ := strings.Cut(words[start:], "\n")
	if strings.HasPrefix(first, "panic: ") && !strings.HasPrefix(first, "panic: runtime error: ") {
		first = "panic: (value withheld)"
	}
	said := cleanLine(first)
	for _, m := range goFrame.FindAllStringSubmatch(rest, -1) {
		if strings.HasPrefix(m[1], "runtime.") || strings.HasPrefix(m[1], "panic") {
			continue
		}
		return said + " at " + cleanLine(m[1]) + " " + m[2], true
	}
	return said, true
}

// cleanLine makes one line printable, unquoted and short.
func cleanLine(line string) string {
	line = quotedText.ReplaceAllString(line, `$1"…"`)
	line = strings.Map(func(r rune) rune {
		if r == '…' || r >= ' ' && r <= '~' {
			return r
		}
		return -1
	}, line)
	line = strings.TrimSpace(line)
	if len(line) > excerptColumns {
		line = line[:excerptColumns]
	}
	return strings.ToValidUTF8(line, "")
}
