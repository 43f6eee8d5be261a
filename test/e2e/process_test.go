// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait. It is long because the machine may be busy; nothing needs it when all is well.
const patience = 30 * time.Second

func TestMain(m *testing.M) {
	code := m.Run()
	if buildDir != "" {
		_ = os.RemoveAll(buildDir)
	}
	os.Exit(code)
}

var buildDir string

// binaryPath gives the path of goddard.
var binaryPath = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("E2E_BINARY"); path != "" {
		return filepath.Abs(path)
	}
	dir, err := os.MkdirTemp("", "goddard-e2e")
	if err != nil {
		return "", err
	}
	buildDir = dir
	path := filepath.Join(dir, "goddard")
	if out, err := exec.Command("go", "build", "-o", path, "../../cmd/goddard").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build goddard: %w\n%s", err, out)
	}
	return path, nil
})

func goddard(t testing.TB) string {
	t.Helper()
	path, err := binaryPath()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// environ is the environment without what would configure the binary.
func environ() []string {
	var out []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GODDARD_") && !strings.HasPrefix(v, "NAMESRV_ADDR=") {
			out = append(out, v)
		}
	}
	return out
}

// process is a goddard that serves. It may be ended and started again; log has what all of them printed.
type process struct {
	t    testing.TB
	args []string
	log  lockedBuffer

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has ended
}

// newProcess prepares one, not started yet.
func newProcess(t testing.TB, args ...string) *process {
	t.Helper()
	p := &process{t: t, args: append([]string{goddard(t)}, args...)}
	t.Cleanup(func() {
		p.kill()
		if fault := crashed.FindString(p.log.String()); fault != "" {
			t.Errorf("the process said %q", fault)
		}
		if t.Failed() {
			t.Logf("goddard %s:\n%s", strings.Join(args, " "), tail(p.log.String(), 8000))
		}
	})
	return p
}

// crashed finds what the Go runtime prints when it gives up.
var crashed = regexp.MustCompile(`(?m)^(panic:|fatal error:|unexpected fault address|SIG[A-Z]+:|WARNING: DATA RACE|goroutine \d+ \[).*`)

func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	cmd := exec.Command(p.args[0], p.args[1:]...)
	cmd.Env = environ()
	cmd.Stdout, cmd.Stderr = &p.log, &p.log
	cmd.SysProcAttr = dieWithParent()
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	p.cmd, p.exited = cmd, exited
	return nil
}

func (p *process) running() (*exec.Cmd, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd, p.exited
}

// kill ends it as kill -9 does, if it runs.
func (p *process) kill() {
	if cmd, exited := p.running(); cmd != nil {
		_ = cmd.Process.Kill()
		<-exited
	}
}

// terminate sends SIGTERM, waits for the end and gives how long that took and the exit code.
func (p *process) terminate() (time.Duration, int) {
	p.t.Helper()
	cmd, exited := p.running()
	began := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatalf("SIGTERM: %v", err)
	}
	select {
	case <-exited:
	case <-time.After(patience):
		p.t.Fatal("the process does not end on SIGTERM")
	}
	return time.Since(began), cmd.ProcessState.ExitCode()
}

// stop ends it with SIGTERM, which must go well.
func (p *process) stop() {
	p.t.Helper()
	if _, code := p.terminate(); code != 0 {
		p.t.Fatalf("the process ended on SIGTERM with exit code %d", code)
	}
}

// rss is its resident memory, bytes.
func (p *process) rss() int64 {
	p.t.Helper()
	cmd, _ := p.running()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if errors.Is(err, os.ErrNotExist) {
		p.t.Skip("needs /proc to see the memory of another process")
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err != nil {
				p.t.Fatalf("VmRSS: %v", err)
			}
			return kb << 10
		}
	}
	p.t.Fatal("no VmRSS")
	return 0
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

func (b *lockedBuffer) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Len()
}

func tail(s string, n int) string {
	if len(s) > n {
		return "..." + s[len(s)-n:]
	}
	return s
}

// eventually waits for a state that comes without a signal.
func eventually(t testing.TB, what string, reached func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !reached(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}
