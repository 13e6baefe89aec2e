package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// serverProfile is a server that is talked to often.
type serverProfile struct {
	Server      string `yaml:"server"`
	KeyFile     string `yaml:"key_file"`
	CAFile      string `yaml:"ca_file"`
	InsecureTLS bool   `yaml:"insecure_tls"`
}

// profileFile is the configuration file.
type profileFile struct {
	// Default names the profile that is taken where none is named.
	Default  string                   `yaml:"default"`
	Profiles map[string]serverProfile `yaml:"profiles"`
}

// profileHelp is what help says of the file.
const profileHelp = `Profiles stand in ~/.config/inkstream/config.yaml ($XDG_CONFIG_HOME/inkstream/config.yaml):

  default: work
  profiles:
    work:
      server: https://inkstream.example.com
      key_file: ~/.config/inkstream/work.key   # readable by you alone
      ca_file: /etc/ssl/our-ca.pem             # only for an authority of your own
    laptop:
      server: grpc://127.0.0.1:9090`

// configPath returns where the configuration file is, empty where there is no home.
func configPath(s streams) string {
	if dir := s.getenv("XDG_CONFIG_HOME"); dir != "" {
		return filepath.Join(dir, "inkstream", "config.yaml")
	}
	if home := s.getenv("HOME"); home != "" {
		return filepath.Join(home, ".config", "inkstream", "config.yaml")
	}
	return ""
}

// readProfiles reads the configuration file; one that is not there is empty.
func readProfiles(s streams) (profileFile, string, error) {
	var all profileFile
	path := configPath(s)
	if path == "" {
		return all, path, nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, path, nil
	}
	if err != nil {
		return all, path, err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return all, path, nil
	}
	// An unknown field is a misspelt one.
	if err := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(&all); err != nil {
		return all, path, fmt.Errorf("%s: %s", path, strings.TrimSpace(yaml.FormatError(err, false, true)))
	}
	return all, path, nil
}

// loadProfile returns the profile of a name, or the default one; none is fine where none was named.
func loadProfile(s streams, name string) (serverProfile, error) {
	all, path, err := readProfiles(s)
	if err != nil {
		return serverProfile{}, err
	}
	name = firstNonEmpty(name, all.Default)
	if name == "" {
		return serverProfile{}, nil
	}
	p, ok := all.Profiles[name]
	switch {
	case ok:
		return p, nil
	case path == "":
		return p, fmt.Errorf("there is no profile %q: neither HOME nor XDG_CONFIG_HOME is set", name)
	case len(all.Profiles) == 0:
		return p, fmt.Errorf("there is no profile %q: %s has none", name, path)
	default:
		return p, fmt.Errorf("there is no profile %q in %s; there are %s", name, path,
			strings.Join(slices.Sorted(maps.Keys(all.Profiles)), ", "))
	}
}

// expandHome puts the home folder for a leading ~/.
func expandHome(s streams, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(s.getenv("HOME"), rest)
	}
	return path
}
