// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait of these tests; it is long because the machine may be busy.
const patience = 20 * time.Second

var binary struct {
	once sync.Once
	path string
	err  error
	dir  string
}

func TestMain(m *testing.M) {
	if os.Getenv(busyEnviron) != "" {
		busy()
	}
	code := m.Run()
	if binary.dir != "" {
		_ = os.RemoveAll(binary.dir)
	}
	os.Exit(code)
}

// goddard builds the binary once and gives its path.
func goddard(t *testing.T) string {
	t.Helper()
	binary.once.Do(func() {
		if binary.dir, binary.err = os.MkdirTemp("", "goddard-cli"); binary.err != nil {
			return
		}
		binary.path = filepath.Join(binary.dir, "goddard")
		out, err := exec.Command("go", "build", "-o", binary.path, "../../cmd/goddard").CombinedOutput()
		if err != nil {
			binary.err = errors.New(string(out))
		}
	})
	if binary.err != nil {
		t.Fatalf("build goddard: %v", binary.err)
	}
	return binary.path
}

// process is a goddard that runs.
type process struct {
	cmd    *exec.Cmd
	says   map[string]string // the lines of its banner
	stderr *lockedBuffer
	exited chan struct{} // closed when it has ended; code is valid then
	code   int
}

// quiet are the flags that let servers of several tests live side by side.
func quiet(t *testing.T, args ...string) []string {
	t.Helper()
	out := []string{args[0], "--http-listen", "127.0.0.1:0"}
	if args[0] != "broker" {
		out = append(out, "--nameserver-listen", "127.0.0.1:0")
	}
	if args[0] != "nameserver" {
		out = append(out, "--broker-listen", "127.0.0.1:0", "--set", "mappedFileSizeCommitLog=16777216")
	}
	if !strings.Contains(strings.Join(args, " "), "--data") {
		out = append(out, "--data", t.TempDir())
	}
	return append(out, args[1:]...)
}

// start runs a server and waits until it says that it serves.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := launch(t, nil, args...)
	select {
	case <-p.exited:
		t.Fatalf("goddard %s ended with code %d: %s", strings.Join(args, " "), p.code, p.stderr)
	default:
	}
	return p
}

var bannerLine = regexp.MustCompile(`^  (\S.*?)  +(\S.*)$`)

// launch runs a server, with variables added to the environment, until its banner is complete or it ends.
func launch(t *testing.T, environ []string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(goddard(t), args...), says: map[string]string{}, stderr: new(lockedBuffer), exited: make(chan struct{})}
	p.cmd.Env = append(cleanEnviron(), environ...)
	p.cmd.Stderr = p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		p.readBanner(out, served)
		_ = p.cmd.Wait()
		p.code = p.cmd.ProcessState.ExitCode()
		close(p.exited)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.exited
	})
	select {
	case <-served:
	case <-p.exited:
	case <-time.After(patience):
		t.Fatalf("goddard %s neither serves nor ends: %s", strings.Join(args, " "), p.stderr)
	}
	return p
}

// readBanner takes the lines of the banner; the one about data or acknowledgement is the last.
func (p *process) readBanner(out io.Reader, served chan struct{}) {
	last := "data"
	if p.cmd.Args[1] != "nameserver" {
		last = "acknowledged"
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		m := bannerLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		p.says[m[1]] = m[2]
		if m[1] == last {
			close(served)
		}
	}
}

// signal sends one and waits for the end. It gives how long that took.
func (p *process) signal(t *testing.T, s syscall.Signal) time.Duration {
	t.Helper()
	began := time.Now()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	p.wait(t)
	return time.Since(began)
}

func (p *process) wait(t *testing.T) {
	t.Helper()
	select {
	case <-p.exited:
	case <-time.After(patience):
		t.Fatalf("goddard does not end: %s", p.stderr)
	}
}

// command runs a command line to its end.
func command(t *testing.T, environ []string, args ...string) (code int, out, errOut string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, goddard(t), args...)
	cmd.Env = append(cleanEnviron(), environ...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if _, exited := errors.AsType[*exec.ExitError](err); !exited {
			t.Fatalf("goddard %s: %v", strings.Join(args, " "), err)
		}
	}
	if ctx.Err() != nil {
		t.Fatalf("goddard %s does not end: %s", strings.Join(args, " "), stderr.String())
	}
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// cleanEnviron is the environment without what would configure the binary.
func cleanEnviron() []string {
	var out []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GODDARD_") && !strings.HasPrefix(v, "NAMESRV_ADDR=") {
			out = append(out, v)
		}
	}
	return out
}

// lockedBuffer is written by a process and read by a test.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
