package rules

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Folder is a folder of rules, as its files say it.
type Folder struct {
	Dir    string
	Events []EventType // by their types
	Rows   []Row       // in the order of the files, the installation's first

	files []*file
	texts map[string]bool // the files with texts by name; true: a row has the text
}

// EventType is the file of an event type.
type EventType struct {
	Type  string
	File  string // its path
	Tests []Test
}

// Row is a row of a table, as a file says it.
type Row struct {
	Table  string
	Values map[string]any // by column; columns that the file leaves out have their standard values
	File   string         // the path of the file
	Line   int

	of       *table
	key      string // of the values
	source   *file
	section  *section
	textFile string // the name of the file that holds the text; empty: the rules hold it
	node     *yaml.Node
}

// file is a file of rules.
type file struct {
	name      string // within the folder
	eventType string // empty: the installation
	source    []byte
	root      *yaml.Node // a mapping
}

func (f *file) sections() []section {
	if f.eventType == "" {
		return installationSections
	}
	return eventSections
}

// maxFileSize limits a file of rules or a text.
const maxFileSize = 1 << 20

var errNoRules = errors.New("there are no rules")

// Load reads a folder. The error of a folder with mistakes is [Mistakes].
func Load(dir string) (*Folder, error) { return LoadFS(os.DirFS(dir), dir) }

// LoadFS reads a folder from files, as [Load] does. dir is the folder's name in errors.
func LoadFS(files fs.FS, dir string) (*Folder, error) {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, fmt.Errorf("read the folder of rules: %w", named(err, dir))
	}
	l := loading{source: files, Folder: &Folder{Dir: dir, texts: map[string]bool{}}, keys: map[string]Row{}}
	var names []string
	for _, entry := range entries {
		name := entry.Name()
		switch extension := filepath.Ext(name); {
		case strings.HasPrefix(name, "."): // an editor's
		case extension == ".yml":
			l.refuse(name, 1, "rename it to %s.yaml", strings.TrimSuffix(name, extension))
		case extension == ".yaml":
			names = append(names, name)
		case extension == textExtension, extension == htmlExtension:
			l.texts[name] = false
		}
	}
	if len(names) == 0 && len(l.mistakes) == 0 {
		return l.Folder, fmt.Errorf("%w: %s needs a file EVENT_TYPE.yaml or %s", errNoRules, dir, installationFile)
	}
	slices.SortFunc(names, installationFirst)
	for _, name := range names {
		if err := l.load(name); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.texts)) {
		if !l.texts[name] {
			l.refuse(name, 1, "no text is in this file: name it EVENT-TYPE.CHANNEL.LOCALE of a text without a body in the rules, or remove it")
		}
	}
	if len(l.mistakes) > 0 {
		return nil, l.mistakes
	}
	return l.Folder, nil
}

func installationFirst(a, b string) int {
	switch installationFile {
	case a:
		return -1
	case b:
		return 1
	}
	return strings.Compare(a, b)
}

// loading is the state of one [Load].
type loading struct {
	*Folder
	source   fs.FS
	keys     map[string]Row // the first row of each key
	mistakes Mistakes
}

func (l *loading) refuse(name string, line int, format string, args ...any) {
	l.mistakes = append(l.mistakes, Mistake{File: filepath.Join(l.Dir, name), Line: max(line, 1), Problem: fmt.Sprintf(format, args...)})
}

// load reads a file of rules.
func (l *loading) load(name string) error {
	source, err := l.read(name)
	if err != nil {
		return err
	}
	f := &file{name: name, source: source}
	if name != installationFile {
		if f.eventType, err = typeOf(name); err != nil {
			l.refuse(name, 1, "its name is no event type: %s", err)
			return nil
		}
	}
	if f.root = l.parse(f); f.root == nil {
		return nil
	}
	l.files = append(l.files, f)
	known := []string{}
	for _, s := range f.sections() {
		known = append(known, s.key)
	}
	if f.eventType != "" {
		known = append(known, testsKey)
		l.Events = append(l.Events, EventType{Type: f.eventType, File: filepath.Join(l.Dir, name)})
	}
	l.each(f, f.root, known, "key", func(key, value *yaml.Node) {
		if key.Value == testsKey {
			l.tests(f, value)
			return
		}
		sections := f.sections()
		i := slices.IndexFunc(sections, func(s section) bool { return s.key == key.Value })
		l.section(f, &sections[i], value)
	})
	return nil
}

// parse returns the file's mapping, or nil after a mistake.
func (l *loading) parse(f *file) *yaml.Node {
	var document, more yaml.Node
	decoder := yaml.NewDecoder(strings.NewReader(string(f.source)))
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	} else if err != nil {
		line, problem := yamlProblem(err)
		l.refuse(f.name, line, "%s", problem)
		return nil
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		l.refuse(f.name, more.Line, "it must be one document")
		return nil
	}
	root := document.Content[0]
	switch {
	case root.Kind == yaml.MappingNode:
		return root
	case root.Tag == "!!null":
		return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	}
	l.refuse(f.name, root.Line, "it must be a mapping, such as `channels:` with the channels below it")
	return nil
}

// yamlProblem returns the line and the text of an error of the YAML library.
func yamlProblem(err error) (line int, problem string) {
	problem = strings.TrimPrefix(err.Error(), "yaml: ")
	if _, scanErr := fmt.Sscanf(problem, "line %d:", &line); scanErr == nil {
		_, problem, _ = strings.Cut(problem, ": ")
	}
	return line, problem
}

func (l *loading) read(name string) ([]byte, error) {
	path := filepath.Join(l.Dir, name)
	opened, err := l.source.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read the rules: %w", named(err, path))
	}
	defer func() { _ = opened.Close() }()
	content, err := io.ReadAll(io.LimitReader(opened, maxFileSize+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the rules: %w", named(err, path))
	case len(content) > maxFileSize:
		err = &fs.PathError{Op: "read", Path: path, Err: errors.New("is larger than 1 MiB")}
	case !utf8.Valid(content):
		err = &fs.PathError{Op: "read", Path: path, Err: errors.New("is not UTF-8")}
	}
	return content, err
}

// named returns an error about a file with the file's whole path.
func named(err error, path string) error {
	if cause := (*fs.PathError)(nil); errors.As(err, &cause) {
		return &fs.PathError{Op: cause.Op, Path: path, Err: cause.Err}
	}
	return err
}

// typeOf returns the event type of a file. A type with letters that no file name may have is
// escaped as in a URL.
func typeOf(name string) (string, error) {
	return url.PathUnescape(strings.TrimSuffix(name, ".yaml"))
}

// fileOf returns the name of an event type's file.
func fileOf(eventType string) string {
	name := url.PathEscape(eventType) + ".yaml"
	if name == installationFile || strings.HasPrefix(name, ".") {
		name = fmt.Sprintf("%%%02X%s", name[0], name[1:])
	}
	return name
}
