package processtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// BuildTool returns the path of the program of a package that pkg/tools/go.mod requires: .bin/<name> of the repository,
// as make builds it. Where it is missing it is built, which takes minutes.
func BuildTool(importPath string) (string, error) {
	return buildProgram(path.Base(importPath), func(root, program string) *exec.Cmd {
		if _, err := os.Stat(program); err == nil {
			return nil
		}
		cmd := exec.Command("go", "-C", filepath.Join(root, "pkg", "tools"), "build", "-o", program, importPath)
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS="+strings.ReplaceAll(os.Getenv("GOFLAGS"), "-race", ""))
		return cmd
	})
}

// plainProgramsVariable names the folder of programs without the race detector, where these are built before the tests,
// as make does: each package would otherwise ask go build whether they are current.
const plainProgramsVariable = "INKSTREAM_PLAIN_PROGRAMS"

// BuildPlainProgram returns the path of the program of a package of this repository, built without the race detector.
func BuildPlainProgram(name, importPath string) (string, error) {
	if folder := os.Getenv(plainProgramsVariable); folder != "" {
		return filepath.Join(folder, name), nil
	}
	return buildProgram(name, func(root, program string) *exec.Cmd {
		cmd := exec.Command("go", "build", "-race=false", "-o", program, importPath)
		cmd.Dir = root
		return cmd
	})
}

// buildProgram has a command build .bin/<name> of the repository, and returns the path of it. The command is nil if the
// program is there.
func buildProgram(name string, command func(root, program string) *exec.Cmd) (program string, err error) {
	root, err := repositoryRoot()
	if err != nil {
		return "", err
	}
	program = filepath.Join(root, ".bin", name)
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		return "", err
	}
	// The tests of several packages may come here at once.
	lock, err := os.OpenFile(program+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	cmd := command(root, program)
	if cmd == nil {
		return program, nil
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w: %s", name, err, out)
	}
	return program, nil
}

// repositoryRoot returns the folder that holds go.work, which is this one or above it.
func repositoryRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.work above this folder")
		}
	}
}
